"""What a graph is optimized for."""

from hidet.graph import rewriting

_open = []


class PassContext:
    """Options of `hidet.graph.optimize` and of compiling, inside of its `with`:

    with hidet.graph.PassContext() as context:
        context.set_precision("float16")
        hidet.graph.optimize(graph)
    """

    def __init__(self):
        self.precision = None  # "f16", "bf16", "tf32", "winograd"; None: types as they are written
        self.layout = None  # "auto", "keep", "last"
        self.rules, self.switches = [], []

    def __enter__(self):
        _open.append(self)
        return self

    def __exit__(self, *exception):
        _open.remove(self)

    def copy(self):
        """Another one with the same settings."""
        made = PassContext()
        made.precision, made.layout = self.precision, self.layout
        made.rules, made.switches = list(self.rules), list(self.switches)
        return made

    @staticmethod
    def current():
        """The innermost context, or one with the defaults."""
        return _open[-1] if _open else PassContext()

    def set_precision(self, dtype=None):
        """Products and what reads them compute in this type: "float16", "bfloat16" or "tfloat32"; "winograd": 3 × 3 convolutions of
        float32 by Winograd's algorithm where that is faster; None: as they are written."""
        names = {
            None: None,
            "float16": "f16",
            "f16": "f16",
            "bfloat16": "bf16",
            "bf16": "bf16",
            "tf32": "tf32",
            "tfloat32": "tf32",
            "winograd": "winograd",
            "float32": None,
            "f32": None,
        }
        if str(dtype) not in map(str, names):
            raise ValueError(f"set_precision takes 'float16', 'bfloat16', 'tf32', 'winograd' or None, not {dtype!r}")
        self.precision = names[None if dtype is None else str(dtype)]
        return self

    def set_mma(self, kind):
        """Hidet's switch of tensor cores. It changes nothing: kernels are chosen by type, and f32 uses none without tf32."""
        if kind not in ("mma", "wmma", "simt"):
            raise ValueError(f"set_mma takes 'mma', 'wmma' or 'simt', not {kind!r}")
        return self

    def set_layout(self, order):
        """Of images: "auto": channels last where that pays; "keep": as they are; "last": wherever operators take that."""
        if order not in ("auto", "keep", "last"):
            raise ValueError(f"set_layout takes 'auto', 'keep' or 'last', not {order!r}")
        self.layout = order
        return self

    def add_rewrite_rules(self, *rules):
        """Applies these rules, too: each a SubgraphRewriteRule, or a .hds file of rewrites."""
        self.rules += map(rewriting.check_rule, rules)
        return self

    def enable_rewrites(self, *names):
        """Applies rewrites of the library by name, also approximate ones."""
        self.switches += [_rewrite_name(name) for name in names]
        return self

    def disable_rewrites(self, *names):
        """Leaves out rewrites of the library by name; without a name, all of them."""
        self.switches += [f"-{_rewrite_name(name)}" for name in names] or ["none"]
        return self

    def _rules(self):
        return [*rewriting.registered_rewrite_rules(), *self.rules]

    def python_rules(self):
        """Those that are applied before the compiler sees a graph."""
        return [r for r in self._rules() if isinstance(r, rewriting.SubgraphRewriteRule)]

    def _rewrites(self):
        return [*(r for r in self._rules() if isinstance(r, str)), *self.switches]

    def compile_options(self):
        """For hidet._runtime.compile."""
        options = {"precision": self.precision, "layout": self.layout, "rewrites": self._rewrites()}
        return {k: v for k, v in options.items() if v}

    def command_options(self):
        """The same for the program hdsc."""
        options = [f"--precision={self.precision}"] if self.precision else []
        options += [f"--layout={self.layout}"] if self.layout else []
        return options + [
            f"--rewrites={r}" if r == "none" or r.endswith(".hds") else f"--rewrite={r}" for r in self._rewrites()
        ]


def _rewrite_name(name):
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{name!r} is no name of a rewrite: 'hdsc graph --list-rewrites' lists them")
    return name
