"""Magics of IPython and Jupyter: `%load_ext hidet`, then

%%hds -D BM=64 --run x=randn:f32[1000] y=ones --profile
…a file of Hidet Script…

compiles the cell, makes its functions variables of the notebook, and runs one on the simulator as `hdsc run` does.
`%hds_mapping spatial(4, 8)` draws a task mapping, as `hdsc mapping` does."""

import os
import shlex
import sys
import tempfile

from hidet import _core, hds

_USAGE = "%%hds [-D NAME=VALUE] [--arch=NAME] [-I DIR] [--run [OPTION…] NAME=SPEC…], options of 'hdsc run'"


class _Usage(Exception):
    """What is wrong with the line of a magic."""


def _words(line):
    try:
        return shlex.split(line)
    except ValueError as error:
        raise _Usage(f"{error}: {_USAGE}") from None


def _read(line):
    """(defines, folders, arch, arguments of hdsc run; None: nothing is run)"""
    words, defines, folders, arch = _words(line), {}, [], None
    while words:
        word = words.pop(0)
        if word == "--run":
            return defines, folders, arch, words
        if word[:2] in ("-D", "-I"):
            value = word[2:] or (words.pop(0) if words else "")
            if word[:2] == "-I":
                folders.append(value)
                continue
            name, equals, text = value.partition("=")
            if not name or not equals:
                raise _Usage(f"-D takes NAME=VALUE, not {value!r}: {_USAGE}")
            defines[name] = text
        elif word.startswith("--arch="):
            arch = word.partition("=")[2]
        else:
            raise _Usage(f"unknown option {word!r}: {_USAGE}")
    return defines, folders, arch, None


def _define_options(defines, folders, arch):
    options = [f"-D{name}={text}" for name, text in defines.items()] + [f"-I{folder}" for folder in folders]
    return options + ([f"--arch={arch}"] if arch else [])


def _hdsc(*arguments):
    from hidet.graph.flow_graph import hdsc

    return hdsc(*arguments)


def _run_cell(cell, defines, folders, arch, arguments):
    with tempfile.TemporaryDirectory(prefix="hidet-") as folder:
        path = os.path.join(folder, "cell.hds")
        with open(path, "w", encoding="utf-8") as file:
            file.write(cell)
        done = _hdsc("run", path, "-I", os.getcwd(), *_define_options(defines, folders, arch), *arguments)
    print(done.stdout.replace(path, "cell.hds"), end="")
    print(done.stderr.replace(path, "cell.hds"), end="", file=sys.stderr)


def _compiled(cell, defines, folders, arch):
    import warnings

    from hidet.lang.values import Value

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        module = hds.loads(
            cell,
            name="cell.hds",
            defines={name: Value(text, frozenset()) for name, text in defines.items()},
            include_dirs=[os.getcwd(), *folders],
            arch=arch,
        )
    for warning in found:
        print(f"{warning.filename}:{warning.lineno}: {warning.message}", file=sys.stderr)
    return module


def load_ipython_extension(shell):
    """Adds the magics to a shell: what `%load_ext hidet` calls."""

    def cell_magic(line, cell):
        """Compiles a cell of Hidet Script: see help(hidet._magic)."""
        try:
            defines, folders, arch, arguments = _read(line)
            module = _compiled(cell, defines, folders, arch)
        except (_Usage, _core.Error) as error:
            print(str(error).strip(), file=sys.stderr)
            return
        shell.push({f.__name__.partition("[")[0]: f for f in module.functions.values()})
        if arguments is not None:
            _run_cell(cell, defines, folders, arch, arguments)

    def mapping_magic(line):
        """Draws a task mapping or a layout."""
        with tempfile.TemporaryDirectory(prefix="hidet-") as folder:
            path = os.path.join(folder, "mapping.svg")
            done = _hdsc("mapping", line.strip(), "-o", path)
            if done.returncode:
                print(done.stderr, end="", file=sys.stderr)
                return None
            with open(path, encoding="utf-8") as file:
                return _Picture(file.read(), done.stdout)

    shell.register_magic_function(cell_magic, "cell", "hds")
    shell.register_magic_function(mapping_magic, "line", "hds_mapping")


class _Picture:
    """A drawing that notebooks show; elsewhere it is the text about it."""

    def __init__(self, svg, text):
        self.svg, self.text = svg, text

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return self.text
