"""Every public name of every module of stdlib/ appears in that module's tests: check_coverage.py

They are in tests/stdlib/, those of schedules in tests/schedules/.

The instructions behind hidet.lang.testing, which begin with 'testing_', are what its functions are made of.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402


DEFINITION = re.compile(r"^(?:def|class) (\w+)|^(\w+(?:, \w+)*) = ", re.MULTILINE)


def public_names(path):
    """What a module defines at its top level, imports aside. (Read as text: type parameters need Python 3.12.)"""
    for function, constants in DEFINITION.findall(path.read_text(encoding="utf-8")):
        names = [function] if function else constants.split(", ")
        yield from (name for name in names if not name.startswith(("_", "testing_")))


def check(module):
    tests = TOP / "tests" / "schedules" / module.name
    if not tests.exists():
        tests = TOP / "tests" / "stdlib" / module.name
    if not tests.exists():
        return [f"{module.relative_to(TOP)} has no tests: {tests.relative_to(TOP)} is missing"]
    text = tests.read_text(encoding="utf-8")
    missing = [name for name in public_names(module) if not re.search(rf"\b{name}\b", text)]
    return [f"{tests.relative_to(TOP)} does not mention {name}" for name in missing]


def main():
    modules = sorted((TOP / "stdlib").glob("*/*.hds"))
    found = [check(module) for module in modules]
    sys.exit(finish([problem for problems in found for problem in problems], sum(not problems for problems in found)))


if __name__ == "__main__":
    main()
