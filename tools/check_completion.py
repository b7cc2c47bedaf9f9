#!/usr/bin/env python3
"""The shell completions and the man page name every option that 'hdsc --help' names, and the completions of a command those
that 'hdsc COMMAND --help' names. Usage: check_completion.py HDSC
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
FILES = ("completions/hdsc.bash", "completions/hdsc.zsh", "completions/hdsc.fish", "docs/man/hdsc.1")


# Of all commands; the completions of the shells need not say them.
EVERYWHERE = {"help", "usage", "version"}


def options_of(hdsc, *command):
    """{option: its short form, or ""}"""
    text = subprocess.run([hdsc, *command, "--help"], capture_output=True, text=True, check=True).stdout
    return {name: short for short, name in re.findall(r"^  (?:-(\w), |    )--([a-z][a-z-]+)", text, re.MULTILINE)}


def parts_of(file, content, command):
    """The lines of a completion that are for a command."""
    if file.endswith("fish"):
        lines = content.splitlines()
        return "\n".join(
            x for x in lines if "-n " not in x or re.search(rf"__fish_seen_subcommand_from [a-z ]*\b{command}\b", x)
        )
    found = re.search(rf"^\s*{command}\)(.*?);;", content, re.MULTILINE | re.DOTALL)
    part = found.group(1) if found else ""
    lists = dict(re.findall(r"^([a-z_]+)=\((.*?)^\)", content, re.MULTILINE | re.DOTALL))
    return part + "".join(lists.get(name, "") for name in re.findall(r"\$([a-z_]+)", part))


def mentions(part, file, option, short):
    long = "-l " if file.endswith("fish") else "--"
    one = rf"|-s {short}\b" if file.endswith("fish") else rf"|-{short}\b"
    return re.search(rf"(?<![\w-])({long}{option}(?![a-z-]){one if short else ''})", part)


def main():
    hdsc = sys.argv[1]
    options = options_of(hdsc)
    commands = ("check", "run", "test", "prove", "bench", "tune", "mapping", "ops", "graph", "report", "onnx", "cache", "explain")
    commands += ("version", "help")
    problems, passed = [], 0
    for file in FILES:
        content = (TOP / file).read_text(encoding="utf-8").replace("\\-", "-")
        for word in (*options, *commands):
            if word in content:
                passed += 1
            else:
                problems.append(f"{file} does not mention '{word}'")
    for command in ("run", "test", "prove", "bench", "tune", "mapping", "ops", "graph", "report", "onnx"):
        wanted = {o: short for o, short in options_of(hdsc, command).items() if o not in EVERYWHERE}
        for file in FILES[:3]:
            part = parts_of(file, (TOP / file).read_text(encoding="utf-8"), command)
            missing = [o for o in sorted(wanted) if not mentions(part, file, o, wanted[o])]
            passed += len(wanted) - len(missing)
            problems += [f"{file} does not complete '--{o}' of '{command}'" for o in missing]
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    sys.exit(1 if problems or not options else 0)


if __name__ == "__main__":
    main()
