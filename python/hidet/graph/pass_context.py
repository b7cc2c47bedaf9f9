"""What a graph is optimized for."""

_open = []


class PassContext:
    """Options of `hidet.graph.optimize` and of compiling, inside of its `with`:

    with hidet.graph.PassContext() as context:
        context.set_precision("float16")
        hidet.graph.optimize(graph)
    """

    def __init__(self):
        self.precision = None  # "f16", "bf16", "tf32"; None: types as they are written

    def __enter__(self):
        _open.append(self)
        return self

    def __exit__(self, *exception):
        _open.remove(self)

    @staticmethod
    def current():
        """The innermost context, or one with the defaults."""
        return _open[-1] if _open else PassContext()

    def set_precision(self, dtype=None):
        """Products and what reads them compute in this type: "float16", "bfloat16" or "tfloat32"; None: as they are written."""
        names = {
            None: None,
            "float16": "f16",
            "f16": "f16",
            "bfloat16": "bf16",
            "bf16": "bf16",
            "tf32": "tf32",
            "tfloat32": "tf32",
            "float32": None,
            "f32": None,
        }
        if str(dtype) not in map(str, names):
            raise ValueError(f"set_precision takes 'float16', 'bfloat16', 'tf32' or None, not {dtype!r}")
        self.precision = names[None if dtype is None else str(dtype)]
        return self

    def set_mma(self, kind):
        """Hidet's switch of tensor cores. It changes nothing: kernels are chosen by type, and f32 uses none without tf32."""
        if kind not in ("mma", "wmma", "simt"):
            raise ValueError(f"set_mma takes 'mma', 'wmma' or 'simt', not {kind!r}")
        return self

    def compile_options(self):
        """For hidet._runtime.compile."""
        return {"precision": self.precision} if self.precision else {}
