"""Stubs for type checkers: they name what is there, with the same parameters."""

import ast
import inspect
import json
import pathlib
import unittest

from support import Case

import hidet
from hidet import _names, ops

PACKAGE = pathlib.Path(hidet.__file__).parent


class Stubs(Case):
    def test_operators(self):
        tree = ast.parse((PACKAGE / "ops.pyi").read_text(encoding="utf-8"))
        found = {f.name: f.args for f in tree.body if isinstance(f, ast.FunctionDef) and f.name != "operation"}
        self.assertEqual(sorted(found), sorted(n for n in dir(ops) if n in ops._rows))
        for name, args in found.items():
            expected = inspect.signature(getattr(ops, name))
            names = [a.arg for a in [*args.args, *([args.vararg] if args.vararg else []), *args.kwonlyargs]]
            self.assertEqual(names, list(expected.parameters), name)
            optional = len(args.defaults) + sum(d is not None for d in args.kw_defaults)
            self.assertEqual(optional, sum(p.default is not p.empty for p in expected.parameters.values()), name)

    def test_names(self):
        tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
        found = {a.asname for part in tree.body if isinstance(part, ast.ImportFrom) for a in part.names}
        found |= {part.target.id for part in tree.body if isinstance(part, ast.AnnAssign) and part.target.id != "__version__"}
        self.assertEqual(found, {*_names.MODULES, *_names.FUNCTIONS})
        for name in found - {"torch"}:
            getattr(hidet, name)
        self.assertTrue((PACKAGE / "py.typed").exists())

    def test_language(self):
        """`from hidet.lang.cuda import threadIdx`: each module has a stub with its names."""
        names = json.loads((PACKAGE / "lang.json").read_text(encoding="utf-8"))
        names.pop("hidet.lang")  # has a file of its own
        stubs = {f"hidet.lang.{path.stem}": path for path in (PACKAGE / "lang").glob("*.pyi")}
        self.assertEqual(set(stubs), set(names))
        for module, path in stubs.items():
            found = [part.target.id for part in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(part, ast.AnnAssign)]
            self.assertEqual(found, names[module])

    def test_types(self):
        tree = ast.parse((PACKAGE / "dtypes.py").read_text(encoding="utf-8"))
        found = {part.target.id for part in tree.body if isinstance(part, ast.AnnAssign)}
        self.assertEqual(found, {t.name for t in hidet.dtypes._all})

    def test_core(self):
        tree = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
        for part in tree.body:
            if isinstance(part, ast.ClassDef):
                kind = getattr(hidet._core, part.name)
                methods = [f.name for f in part.body if isinstance(f, ast.FunctionDef)]
                kind = hidet.Tensor if part.name == "Tensor" else kind
                self.assertEqual([m for m in methods if not hasattr(kind, m)], [])


if __name__ == "__main__":
    unittest.main()
