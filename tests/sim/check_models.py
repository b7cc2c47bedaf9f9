"""Every @instruction of the standard library has a model in the simulator, and every model an instruction."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, finish  # noqa: E402

INSTRUCTION = re.compile(r"^@instruction\b.*?^def (\w+)", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^const sim_model (sim_models_\w+)\[\] = \{(.*?)^\};", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r'\{"(hidet\.lang\.\w+)", (sim_models_\w+)\}')


def declared():
    found = set()
    for path in sorted((TOP / "stdlib").glob("*/*.hds")):
        found |= {(f"hidet.lang.{path.stem}", name) for name in INSTRUCTION.findall(path.read_text(encoding="utf-8"))}
    return found


def modelled():
    folder = TOP / "src" / "sim" / "models"
    tables = {}
    for path in sorted(folder.glob("*.c")):
        for name, body in TABLE.findall(path.read_text(encoding="utf-8")):
            tables[name] = re.findall(r'"(\w+)"', body)
    rows = LISTED.findall((folder / "models.c").read_text(encoding="utf-8"))
    return {(module, name) for module, table in rows for name in tables[table]}


def main():
    instructions, models = declared(), modelled()
    problems = [f"{module}.{name} has no model" for module, name in sorted(instructions - models)]
    problems += [f"there is no instruction {module}.{name}" for module, name in sorted(models - instructions)]
    sys.exit(finish(problems, len(instructions & models)))


if __name__ == "__main__":
    main()
