"""For tests: PyTorch programs for a GPU where there is none."""

import contextlib


@contextlib.contextmanager
def cuda_on_host():
    """Inside, PyTorch's `device="cuda"` and `.cuda()` are host memory, so that programs for a GPU run on the simulator."""
    import torch

    def replaced(value):
        is_device = isinstance(value, torch.device) and value.type == "cuda"
        is_name = isinstance(value, str) and value.partition(":")[0] == "cuda"
        return torch.device("cpu") if is_device or is_name else value

    class OnHost(torch.overrides.TorchFunctionMode):
        """Devices in arguments are the host."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            names = {k: replaced(v) if k == "device" else v for k, v in (kwargs or {}).items()}
            if getattr(function, "__name__", "") == "cuda":
                return args[0]
            return function(*map(replaced, args), **names)

    saved = torch.nn.Module.cuda
    torch.nn.Module.cuda = lambda module, device=None: module
    try:
        with OnHost():
            yield
    finally:
        torch.nn.Module.cuda = saved
