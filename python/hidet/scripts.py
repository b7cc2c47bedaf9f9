"""Scripts in Python files: functions under `@hidet.script`.

    def matmul(m, n, k):
        from hidet.lang import attrs, f32
        from hidet.lang.cuda import blockIdx, threadIdx

        with hidet.script_module() as module:

            @hidet.script
            def kernel(a: f32[m, k], b: f32[k, n], c: f32[m, n]): ...

        return module.build()

A script is not run by Python: its source text is compiled, together with the functions that it calls, at the lines where they
are, so that messages show the author's lines. Names of Python around it are values known while compiling.
"""

import ast
import functools
import inspect
import os
import sys
import textwrap
import types

from hidet import _core, _runtime
from hidet.hds import Function, Module
from hidet.lang.values import Source, Value, source_of

_open_modules = []  # of `with script_module()`, innermost last


# ---- the text of a function -----------------------------------------------------------------------------------------------


class _Text:
    """The source of a function: its lines as they are in the file, and the names that it takes from around it."""

    __slots__ = ("file", "first_line", "lines", "indent", "free", "attributes")

    def __init__(self, file, first_line, lines, node):
        self.file, self.first_line, self.lines = file, first_line, lines
        self.indent = len(lines[0]) - len(lines[0].lstrip())
        self.free = _free_names(node)
        self.attributes = _attributes(node)


def _bound_names(node):
    """Names that a function or lambda binds: parameters, type parameters, and what its body assigns."""
    bound = set()
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            bound.add(part.arg)
        elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            bound.add(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            bound.add(part.name)
        elif isinstance(part, ast.alias):
            bound.add((part.asname or part.name).split(".")[0])
        elif type(part).__name__ in ("TypeVar", "TypeVarTuple"):
            bound.add(part.name)
    return bound


def _free_names(node):
    """Names in the order of their occurrence. A name of a parameter may stand for another one in defaults, which is rare."""
    bound = _bound_names(node)
    found = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in bound:
            found.setdefault(part.id)
    return list(found)


def _attributes(node):
    """{name: attributes that are asked of it}; None among them where the name is used by itself."""
    found, inside = {}, set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            found.setdefault(part.value.id, set()).add(part.attr)
            inside.add(id(part.value))
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and id(part) not in inside:
            found.setdefault(part.id, set()).add(None)
    return found


def _without_decorators(lines, node):
    """The lines from the first decorator on; scripts have `@hidet.script` there, whatever it is called in the file."""
    header = node.lineno - 1  # of `def`, from the first line on
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    blanks = ["\n"] * (header - 1)
    return [*blanks, f"{indent}@hidet.script\n", *lines[header:]] if header else lines


@functools.lru_cache(maxsize=4096)
def _text_of(code, is_script):
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as error:
        raise _core.Error(
            f"the source of {code.co_name!r} is not there, and scripts are compiled from it: write the function to a file, or "
            "compile a text by hidet.hds.loads"
        ) from error
    while lines and not lines[-1].strip():
        lines.pop()
    tree = ast.parse(textwrap.dedent("".join(lines)))
    node = tree.body[0]
    if is_script:
        lines = _without_decorators(lines, node)
    if code.co_name == "<lambda>":
        node, lines = _lambda_of(tree, code, lines)
    return _Text(code.co_filename, max(first, 1), lines, node)


def _lambda_of(tree, code, lines):
    """`name = lambda …` is a definition; any other lambda would have to be found among those of its line."""
    node = tree.body[0]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and len(node.targets) == 1:
        return node, lines
    raise _core.Error(
        f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}: a lambda that a script refers to has a line of "
        "its own, `name = lambda …`; write a function with def"
    )


# ---- names around it ------------------------------------------------------------------------------------------------------


class _Environment:
    """Where a function's names are looked up: its closure, the names that were there when it was defined, its module."""

    __slots__ = ("function", "locals")

    def __init__(self, function, local_names=None):
        self.function, self.locals = function, local_names or {}

    def find(self, name):
        """(True, value), or (False, None)."""
        closure = self.function.__closure__ or ()
        cells = dict(zip(self.function.__code__.co_freevars, closure))
        if name in cells:
            try:
                return True, cells[name].cell_contents
            except ValueError:  # not assigned yet
                return False, None
        for names in (self.locals, self.function.__globals__):
            if name in names:
                return True, names[name]
        return False, None


def _record_source(name, value, attributes):
    """An object or a module of which only attributes are asked is a record of these."""
    if None in attributes:
        return None
    fields, imports = [], frozenset()
    for attribute in sorted(attributes):
        if not hasattr(value, attribute):
            continue
        try:
            source = source_of(getattr(value, attribute))
        except TypeError:
            return None
        fields.append(f"{attribute}: object = {source.text}")
        imports |= source.imports
    if not fields:
        return None
    return Source(f"class {name}_attributes: {'; '.join(fields)}\n{name} = {name}_attributes()", imports)


def _is_function(value):
    return isinstance(value, (Script, types.FunctionType))


class _Assembly:
    """The text that is compiled: definitions at the lines of the file where they are, and imports and values in its first
    lines."""

    def __init__(self):
        self.texts, self.names, self.imports, self.records = {}, {}, set(), {}
        self.file = None

    def add(self, function, name):
        """A function with all that it refers to; [name]: what it is called there."""
        environment = function._environment if isinstance(function, Script) else _Environment(function)
        text = _text_of(environment.function.__code__, isinstance(function, Script))
        own = environment.function.__name__
        if name != own and own != "<lambda>":
            self._set(name, own)
        if text.first_line in self.texts and self.file == text.file:
            return
        if self.file is not None and self.file != text.file:
            raise _core.Error(
                f"{name!r} is in {text.file}, and the script that refers to it in {self.file}: functions of one script "
                "are in one file, or in a .hds file that it imports"
            )
        self.file = text.file
        self.texts[text.first_line] = text
        for free in text.free:
            found, value = environment.find(free)
            if found:
                self._add_value(free, value, text)

    def _set(self, name, text):
        if self.names.setdefault(name, text) != text:
            raise _core.Error(f"{self.file}: {name!r} has two values in one module: {self.names[name]} and {text}")

    def _add_value(self, name, value, text):
        if isinstance(value, types.ModuleType):
            return self._add_module(name, value, text)
        if _is_function(value):
            return self.add(value, name)
        if isinstance(value, type) and value.__module__ == "builtins":
            return None
        try:
            source = source_of(value)
        except TypeError:
            return self._add_record(name, value, text)
        return self._add_source(name, source)

    def _add_source(self, name, source):
        single = next(iter(source.imports)) if len(source.imports) == 1 else None
        if single and single[1] == source.text and (single[1] == name or single[2] == single[1]):
            self.imports.add((single[0], single[1], name))
            return
        self.imports |= source.imports
        self._set(name, source.text)

    def _add_module(self, name, value, text):
        if value.__name__ == "hidet":
            return
        if value.__name__.startswith("hidet.lang"):
            self.imports.add((None, value.__name__, name))
            return
        self._add_record(name, value, text)

    def _add_record(self, name, value, text):
        source = _record_source(name, value, text.attributes.get(name, {None}))
        if source is None:
            line = next((i for i, s in enumerate(text.lines, text.first_line) if name in s), text.first_line)
            raise _core.Error(
                f"{text.file}:{line}: {name!r} is of Python's type {type(value).__name__}, which Hidet Script does "
                "not have: scripts refer to numbers, texts, tuples, lists, dicts, types, mappings and functions"
            )
        self.imports |= source.imports
        self.records[name] = source.text

    # ---- as a text

    def _prelude(self):
        """Statements for one line, and those that need a line each."""
        lines = [
            f"import {name} as {alias}"
            if module is None
            else f"from {module} import {name}" + (f" as {alias}" if alias != name else "")
            for module, name, alias in sorted(self.imports, key=str)
        ]
        lines += [f"{name} = {text}" for name, text in self.names.items()]
        own = [line for text in self.records.values() for line in text.split("\n")]
        return "; ".join(lines), own

    def text(self):
        """The text, with each definition at its line."""
        head, own = self._prelude()
        out = [*own, head]
        for first in sorted(self.texts):
            self._place(out, self.texts[first])
        return "".join(line.rstrip("\n") + "\n" for line in out)

    def _place(self, out, text):
        needed = text.first_line - 1 - (text.indent > 0)
        if len(out) > needed:  # no room above it: columns of a nested function are then those of the text
            out += [""] * (text.first_line - 1 - len(out))
            out += textwrap.dedent("".join(text.lines)).splitlines()
            return
        out += [""] * (needed - len(out))
        if text.indent:
            out.append("if True:")
        out += [line.rstrip("\n") for line in text.lines]


# ---- scripts --------------------------------------------------------------------------------------------------------------


class Script:
    """A function under `@hidet.script`. Calling it compiles it and runs it."""

    def __init__(self, function, local_names):
        functools.update_wrapper(self, function)
        self._environment = _Environment(function, local_names)
        self._built = None

    def build(self, **options):
        """The compiled script, as `script_module().build()`."""
        return IRModule([self]).build(**options)

    def __call__(self, *args, **kwargs):
        if self._built is None:
            self._built = self.build()
        return self._built[self.__name__](*args, **kwargs)

    def __getitem__(self, parameters):
        parameters = parameters if isinstance(parameters, tuple) else (parameters,)
        entry = f"{self.__name__}[{', '.join(source_of(p).text for p in parameters)}]"
        return IRModule([self], (entry,)).build()

    def __repr__(self):
        return (
            f"<script {self.__name__} at {self._environment.function.__code__.co_filename}:"
            f"{self._environment.function.__code__.co_firstlineno}>"
        )


def script(function):
    """Declares a function as one of Hidet Script."""
    frame = sys._getframe(1)
    # Class bodies and functions have names that the function's closure may lack, since annotations use them.
    names = {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
    made = Script(function, names)
    if _open_modules:
        _open_modules[-1].scripts.append(made)
    return made


class script_module:
    """A module of the scripts that are defined inside of its `with`."""

    def __init__(self):
        self.scripts = []

    def __enter__(self):
        _open_modules.append(self)
        return self

    def __exit__(self, *exception):
        _open_modules.remove(self)

    def ir_module(self):
        """The module's text, for hidet.driver.build_ir_module."""
        return IRModule(self.scripts)

    def build(self, **options):
        """The compiled module: call it, or its functions, which are attributes."""
        return self.ir_module().build(**options)


class IRModule:
    """The text of scripts and of what they refer to."""

    def __init__(self, scripts, entries=()):
        assembly = _Assembly()
        for one in scripts:
            assembly.add(one, one.__name__)
        self.name, self.text, self.entries = assembly.file or "<scripts>", assembly.text(), entries

    def build(self, **options):
        """Compiles it. A text that was compiled before is found in memory."""
        program = _runtime.compile(self.name, self.text, entries=self.entries, **options)
        _runtime.show_warnings(program)
        return CompiledModule(program)

    def __str__(self):
        return self.text


class CompiledModule(Module):
    """Compiled scripts. Calling it calls its function `launch`, or its only one."""

    def __init__(self, program):
        super().__init__(program)
        entries = [f for f in self._functions.values() if f.parameters is not None]
        self._entry = self._functions.get("launch") or (_only(entries))

    def __call__(self, *args, **kwargs):
        if self._entry is None:
            raise TypeError(f"the module has several functions: {', '.join(self._functions)}; call one of them")
        return self._entry(*args, **kwargs)


def _only(functions):
    """The function that is called from outside: the only one, or the only one that launches others."""
    hosts = [f for f in functions if f.plan is not None]
    if len(hosts) == 1:
        return hosts[0]
    return functions[0] if len(functions) == 1 else None


__all__ = ["CompiledModule", "Function", "IRModule", "Script", "Value", "script", "script_module"]
