"""Devices: cpu and cuda:N. Without a GPU, cuda is the simulator, whose memory is the host's."""

from hidet import _core, _runtime

HOST, CUDA, PINNED, MANAGED = 1, 2, 3, 13  # DLPack's types


class Device:
    """A place of tensors: its kind is cpu or cuda."""

    __slots__ = ("id", "kind")

    def __init__(self, kind, index=0):
        self.kind, self.id = kind, index

    @property
    def type(self):
        """The kind, as PyTorch calls it."""
        return self.kind

    def is_cuda(self):
        """Whether it is a GPU, or the simulator in its place."""
        return self.kind == "cuda"

    def is_cpu(self):
        """Whether it is the host."""
        return self.kind == "cpu"

    def __eq__(self, other):
        other = device(other) if isinstance(other, str) else other
        return isinstance(other, Device) and (self.kind, self.id) == (other.kind, other.id)

    def __hash__(self):
        return hash((self.kind, self.id))

    def __repr__(self):
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.id}"

    __str__ = __repr__


_cpu = Device("cpu")
_cuda = {}


def device(value, index=None):
    """The device that [value] names: "cpu", "cuda", "cuda:1", a Device, or a device of PyTorch."""
    if isinstance(value, Device):
        return value
    kind, _, number = str(value).partition(":")
    number = int(number) if number else index
    if kind == "cpu":
        return _cpu
    if kind != "cuda":
        raise ValueError(f"unknown device {value!r}; devices are 'cpu', 'cuda' and 'cuda:1'")
    if number is None:
        number = _core.current_device() if not _runtime.simulates() else 0
    if number >= max(_runtime.gpu_count(), 1):
        raise ValueError(f"there is no GPU {number}: {_runtime.gpu_count()} are there")
    return _cuda.setdefault(number, Device("cuda", number))


def is_simulated(place):
    """Whether tensors of this device are in host memory in place of a GPU's."""
    return place.kind == "cuda" and _runtime.simulates()


def of_code(kind, number):
    """The device that DLPack says."""
    return device("cuda", number) if kind in (CUDA, MANAGED) else _cpu
