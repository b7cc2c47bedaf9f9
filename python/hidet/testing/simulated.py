"""For tests: PyTorch programs for a GPU where there is none."""

import contextlib
import time


class _Event:
    """What torch.cuda.Event is for: the moments between which a program measures."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self.at = None

    def record(self, stream=None):
        """Kernels of the simulator are done when their call returns."""
        self.at = time.perf_counter()

    def synchronize(self):
        """Nothing is ever under way."""

    wait = synchronize

    def query(self):
        """Whether it was reached."""
        return True

    def elapsed_time(self, end):
        """Milliseconds from this event to [end]."""
        if self.at is None or end.at is None:
            raise RuntimeError("both events must be recorded before the time between them is asked for")
        return 1e3 * (end.at - self.at)


@contextlib.contextmanager
def cuda_on_host():
    """Inside, PyTorch's `device="cuda"`, `.cuda()` and events are the host's: programs for a GPU run on the simulator."""
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

    replacements = [
        (torch.nn.Module, "cuda", lambda module, device=None: module),
        (torch.cuda, "Event", _Event),
        (torch.cuda, "synchronize", lambda device=None: None),
    ]
    saved = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]
    try:
        for owner, name, value in replacements:
            setattr(owner, name, value)
        with OnHost():
            yield
    finally:
        for owner, name, value in saved:
            setattr(owner, name, value)
