#!/usr/bin/env python3
"""The package as a wheel has it. Usage: check_installed.py CMAKE BUILD

Installs the component "python" into an empty folder and adds the sources, which is what a wheel consists of. Makes one of them,
installs it into an environment that has no other package, and uses it from there: libraries, operators and the program are found by
where they lie. Checks what is loaded by importing it, and what its libraries need of the system, as auditwheel does."""

import base64
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAZY = {"numpy", "torch", "json", "ast", "inspect", "typing", "dataclasses", "ctypes", "hidet._core"}
MOST_MODULES = 4  # that "import hidet" loads
# Of the system: those that manylinux has.
SYSTEM = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
# What macros and functions of the limited API are behind, of Python 3.10.
PRIVATE = {
    "_PyArg_ParseTupleAndKeywords_SizeT",
    "_PyArg_ParseTuple_SizeT",
    "_PyObject_CallMethod_SizeT",
    "_Py_BuildValue_SizeT",
    "_Py_Dealloc",
    "_Py_FalseStruct",
    "_Py_NoneStruct",
    "_Py_TrueStruct",
}
USE = """
import sys
before = set(sys.modules)
import hidet
loaded = {LAZY!r} & set(sys.modules)
assert not loaded, f"import hidet loads {{loaded}}"
loaded = set(sys.modules) - before
assert len(loaded) <= {MOST_MODULES}, f"import hidet loads {{loaded}}"
import importlib.metadata, importlib.util
others = [d.name for d in importlib.metadata.distributions() if d.name != "hidet"]
assert not others, f"the environment has {{others}}"
assert importlib.metadata.entry_points(group="torch_dynamo_backends")["hidet"].value == "hidet.torch:hidet_backend"
for absent in ("numpy", "torch"):
    assert not importlib.util.find_spec(absent), absent
text = open({saxpy!r}).read()
module = hidet.hds.loads(text)
x, y = hidet._core.Tensor((4,), 2, 32, 1, 0), hidet._core.Tensor((4,), 2, 32, 1, 0)
module.saxpy(2.0, x, y)
module = hidet.hds.loads("from activation import relu\\n")
assert hidet.__file__.startswith({folder!r}), hidet.__file__
maps = open("/proc/self/maps").read()
assert {folder!r} + "/hidet/lib/libhds.so.1" in maps, "libhds is another one"
"""


def run(*command, **kwargs):
    result = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stdout}{result.stderr}")
    return result.stdout


def install(cmake, build, folder):
    run(cmake, "--install", build, "--component", "python", "--prefix", folder)
    shutil.copytree(
        TOP / "python" / "hidet",
        os.path.join(folder, "hidet"),
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )


def versions():
    """The package, its project file and the compiler have one version."""
    found = {
        re.search(r"project\(hdsc VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text(encoding="utf-8"))[1],
        re.search(r'^version = "([\d.]+)"', (TOP / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1],
        re.search(r'__version__ = "([\d.]+)"', (TOP / "python/hidet/__init__.py").read_text(encoding="utf-8"))[1],
    }
    if len(found) != 1:
        sys.exit(f"versions differ: {found}")


# ---- the wheel --------------------------------------------------------------------------------------------------------------


def table(text, name):
    """The entries of a table of pyproject.toml: texts by keys. (Python 3.10 has no parser of TOML.)"""
    body = re.search(rf"^\[{re.escape(name)}\]\n((?:.+\n)+)", text, re.MULTILINE)[1]
    return dict(re.findall(r'^([\w-]+) = "(.*)"$', body, re.MULTILINE))


def described(folder, tag):
    """The files that describe a wheel, as the project's file has them."""
    text = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    project = table(text, "project")
    groups = {"console_scripts": "project.scripts", "torch_dynamo_backends": "project.entry-points.torch_dynamo_backends"}
    points = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in table(text, at).items()) for group, at in groups.items()]
    name = f"{project['name']}-{project['version']}"
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    return name, {
        f"{name}.dist-info/METADATA": f"{head}Requires-Python: {project['requires-python']}\n",
        f"{name}.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{name}.dist-info/entry_points.txt": "\n".join(points),
    }


def make_wheel(folder, target, platform):
    """The files of [folder], and what pip wants to know of them."""
    tag = f"cp310-abi3-{platform}"
    name, more = described(folder, tag)
    path, records = target / f"{name}-{tag}.whl", []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        for inside, data in {**files, **{k: v.encode() for k, v in more.items()}}.items():
            info = zipfile.ZipInfo(inside)
            is_binary = data[:4] == b"\x7fELF"
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (0o100755 if is_binary else 0o100644) << 16
            archive.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{inside},sha256={digest},{len(data)}\n")
        record = f"{name}.dist-info/RECORD"
        archive.writestr(record, "".join(records) + f"{record},,\n")
    return path


def platform_of(folder):
    """The tag of systems that the libraries run on: by the newest symbols of the C library that they need."""
    versions = [(2, 17)]
    own = {p.name for p in folder.rglob("*.so*")}
    for file in folder.rglob("*"):
        if not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
            continue
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", file)))
        if needed - SYSTEM - own:
            sys.exit(f"{file.name} needs {sorted(needed - SYSTEM - own)}")
        versions += [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+\.\d+)", run("readelf", "-VW", file))]
    return "manylinux_{}_{}_{}".format(*max(versions), os.uname().machine)


def check_symbols(module):
    """Of Python, the module takes what the limited API has, so that one wheel is for all versions. Names of functions are checked
    by the headers; this is about what macros bring along."""
    names = set(re.findall(r" UND +(_Py\w+)", run("readelf", "--dyn-syms", "-W", module)))
    if names - PRIVATE:
        sys.exit(f"{module.name} takes {sorted(names - PRIVATE)} of Python")


def audit(wheel):
    """What auditwheel says, where it is installed."""
    if importlib.util.find_spec("auditwheel"):
        said = run(sys.executable, "-m", "auditwheel", "show", wheel)
        if "manylinux" not in said:
            sys.exit(said)
        print(said)


def environment(scratch, wheel):
    """An environment with this wheel alone; the path of its programs."""
    import venv

    venv.create(scratch / "env", with_pip=False, symlinks=True)
    python = scratch / "env/bin/python3"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", wheel)
    return python.parent


def use(programs, scratch):
    """The wheel at work."""
    folder = run(programs / "python3", "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HDS_", "HIDET"))} | {"HDS_CACHE": "off"}
    text = USE.format(
        LAZY=LAZY, MOST_MODULES=MOST_MODULES, saxpy=str(TOP / "examples/saxpy.hds"), folder=os.path.realpath(folder)
    )
    run(programs / "python3", "-c", text, env=clean, cwd=scratch)
    for command in ((programs / "python3", "-m", "hidet"), (programs / "hdsc",)):
        if "hdsc" not in run(*command, "--version", env=clean, cwd=scratch):
            sys.exit(f"{command} is not hdsc")
        if "relu" not in run(*command, "ops", "relu", env=clean, cwd=scratch):
            sys.exit(f"{command} finds no operators")


def main():
    cmake, build = sys.argv[1:]
    versions()
    if not importlib.util.find_spec("pip"):
        print("skipped: this Python has no pip")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(os.path.realpath(name))
        folder = scratch / "first"
        install(cmake, build, folder)
        platform = platform_of(folder)
        check_symbols(folder / "hidet/_core.abi3.so")
        wheel = make_wheel(folder, scratch, platform)
        if wheel.stat().st_size > 15e6:
            sys.exit(f"the wheel takes {wheel.stat().st_size / 1e6:.1f} MB")
        audit(wheel)
        shutil.rmtree(folder)
        use(environment(scratch, wheel), scratch)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    print("5 passed, 0 failed")


if __name__ == "__main__":
    main()
