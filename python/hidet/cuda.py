"""GPUs and streams."""

from hidet import _core, _runtime


def available():
    """Whether there is a GPU."""
    return _runtime.gpu_count() > 0


def device_count():
    """The number of GPUs."""
    return _runtime.gpu_count()


def compute_capability(device=0):
    """(major, minor) of a GPU."""
    _core.use_device(device)
    return _core.capability()


def set_device(device):
    """Makes a GPU the thread's current one."""
    _core.use_device(device)


def current_device():
    """The number of the thread's current GPU."""
    return _core.current_device()


def synchronize():
    """Waits for the work of the default stream. On the simulator nothing is ever under way."""
    if available():
        _core.synchronize(0)
