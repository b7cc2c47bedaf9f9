"""Each C function of libhdsops' operators against its definition: every part compiles as far as its header, and each parameter of a
definition is an argument in C, or docs/ops.md says what it is fixed to. Usage: check_catalogue.py HDSC [--write]"""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, each, finish  # noqa: E402

BEGIN, END = "<!-- fixed: made by tests/ops/check_catalogue.py HDSC --write -->\n", "<!-- end -->\n"
TYPE = r"[fiu]\d+|bf16|bool|complex64"
FUNCTION = re.compile(r"^hdsrt_status (\w+)\(([^;]*)\);", re.MULTILINE)


def catalogue():
    """(part, file, prefix, options, entries) of all parts."""
    script = TOP / "src/ops/print_catalogue.cmake"
    printed = subprocess.run(["cmake", "-P", script], capture_output=True, check=True, text=True)
    rows = [line.split("|") for line in (printed.stdout + printed.stderr).splitlines() if line]
    return [(part, file, prefix, options.split("\t"), entries.split("\t")) for part, file, prefix, options, entries in rows]


def words(list_of_options):
    return [word for word in list_of_options if word]


def defines(options):
    pairs = [word.removeprefix("-D").split("=", 1) for word in words(options)]
    return {name: value for name, value in pairs}


def definitions(hdsc, file):
    command = [hdsc, "ops", "-I", TOP / "ops", TOP / f"ops/{file}.hds", "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return {o["name"]: o for o in found}


def functions(header, prefix):
    """The functions over all types: (operator, names of arguments)."""
    found = {}
    for name, arguments in FUNCTION.findall(header):
        names = [re.findall(r"\w+", argument)[-1] for argument in arguments.split(",")]
        if name.startswith(prefix) and not re.search(rf"_({TYPE})(_dlpack|_call)?$", name):
            found[name.removeprefix(prefix)] = names
    return found


def check_given(part, known, asked, given):
    """What the catalogue gives has a meaning for an operator of the part."""
    operators = [o for name, o in known.items() if not asked or any(e.startswith(name + "_") for e in asked)]
    names = {row["name"] for o in operators for row in o["attributes"] + o["operands"] + o["symbols"]}
    problems = [f"{part}: no operator has {name}, which is given\n" for name in given if name not in names]
    missing = [e for e in asked if not any(e.startswith(o["name"] + "_") for o in operators)]
    return problems + [f"{part}: {e} is an entry of no operator\n" for e in missing]


def look_at(hdsc, row):
    """(problems, number of functions, what is fixed: {(operator, parameter): value})."""
    part, file, prefix, options, entries = row
    command = [hdsc, TOP / f"ops/{file}.hds", "-I", TOP / "ops", "-h", "-", f"--prefix={prefix}", *words(options), *words(entries)]
    made = subprocess.run(command, capture_output=True, check=False, text=True, timeout=600)
    if made.returncode:
        return [f"{part}: {made.stderr}"], 0, {}
    problems, fixed, given = [], {}, defines(options)
    known, present = definitions(hdsc, file), functions(made.stdout, prefix)
    asked = {re.sub(r"^--entry=", "", e) for e in words(entries)}
    problems += check_given(part, known, asked, given)
    for name in present:
        if name not in known:
            problems.append(f"{part}: the header has {prefix}{name}, and the file no operator of that name\n")
    for name, operator in known.items():
        if asked and not any(re.fullmatch(rf"{name}(_without(_\w+?)?)?(_({TYPE}))+", e) for e in asked):
            continue
        if name not in present and not (operator["why_no_entry"] or not asked):
            problems.append(f"{part}: there is no function {prefix}{name}\n")
        for parameter in operator["attributes"] + operator["operands"] if name in present else []:
            own = parameter["name"]
            if own in present[name] or own in ("S", "seed"):
                continue
            fixed[(name, own)] = given.get(own, parameter["default"])
    return problems, len(present), fixed


def table(rows):
    """The list of docs/ops.md: what is fixed, by header."""
    lines = []
    for part, fixed in rows:
        by_choice = {}
        for (operator, name), value in fixed.items():
            by_choice.setdefault(f"`{name}={value}`", []).append(operator)
        texts = [f"{choice} of `{'`, `'.join(sorted(operators))}`" for choice, operators in sorted(by_choice.items())]
        if texts:
            lines.append(textwrap.fill(f"* `{part}`: {'; '.join(texts)}", 128, subsequent_indent="  ", break_long_words=False) + "\n")
    return "".join(lines)


def main():
    hdsc = sys.argv[1]
    rows = catalogue()
    results = each(lambda row: look_at(hdsc, row), rows)
    problems = [problem for found, _, _ in results for problem in found]
    page = TOP / "docs/ops.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    made = table([(row[0], fixed) for row, (_, _, fixed) in zip(rows, results)])
    if "--write" in sys.argv:
        page.write_text(before + BEGIN + made + END + rest.split(END, 1)[1], encoding="utf-8")
    elif rest.split(END, 1)[0] != made:
        problems.append("docs/ops.md does not say what the functions' parameters are fixed to; --write makes the table anew\n")
    sys.exit(finish(problems, max(sum(count for _, count, _ in results) - len(problems), 0)))


if __name__ == "__main__":
    main()
