"""Stubs for type checkers: they name what is there, with the same parameters."""

import ast
import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
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

    def test_core_by_mypy(self):
        """Operators are on the class that derives from the module's Tensor."""
        if not importlib.util.find_spec("mypy"):
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as folder:
            allowed = pathlib.Path(folder, "allowed")
            allowed.write_text(r"hidet\._core\.Tensor\.__r?[a-z]+__" + "\n", encoding="utf-8")
            command = [sys.executable, "-m", "mypy.stubtest", "hidet._core", "--concise", f"--allowlist={allowed}"]
            there = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
            done = subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
