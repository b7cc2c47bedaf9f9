"""What the checks share: calling hdsc, and code blocks of Markdown pages."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass

TOP = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(.*)$")


@dataclass
class Block:
    """A fenced block: the words after the fence, its text, its line in the page, the heading above it."""

    info: str
    text: str
    line: int
    heading: str

    @property
    def flags(self):
        found = re.match(r"#\s*flags:\s*(.*)", self.text)
        return shlex.split(found.group(1)) if found else []


def blocks(page):
    """All fenced blocks of a Markdown text."""
    found, heading, opened = [], "", None
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = Block(fence.group(1).strip(), "", number, heading)
        elif opened is not None and line.rstrip() == "```":
            found.append(opened)
            opened = None
        elif opened is not None:
            opened.text += line + "\n"
        elif line.startswith("#"):
            heading = line.lstrip("#").strip()
    return found


@dataclass
class Result:
    status: int
    diagnostics: list
    text: str

    def codes(self, severity=None):
        return sorted({d["code"] for d in self.diagnostics if severity in (None, d["severity"])})


def run(hdsc, source, flags=()):
    """Compiles a text as kernel.hds in a folder of its own. Flags that ask for output make it a whole compilation; those
    that begin with a command (test, run, prove) are for that command."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "kernel.hds")
        path.write_bytes(source.encode("utf-8", "surrogateescape"))
        whole = any(re.match(r"-o|--emit|--nvrtc|--resource-usage|--passes|-h", flag) for flag in flags)
        given = flags and flags[0] in ("test", "run", "prove")
        head = [flags[0]] if given else [] if whole else ["check"]
        command = [os.path.abspath(hdsc), *head, "--diagnostics=json", *flags[1 if given else 0:], "kernel.hds"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300)
    errors = done.stderr.decode("utf-8", "replace")
    try:
        start = errors.index('{"diagnostics"') if '{"diagnostics"' in errors else errors.index("{")
        diagnostics = json.JSONDecoder().raw_decode(errors[start:])[0]["diagnostics"]
    except ValueError:
        diagnostics = []
    return Result(done.returncode, diagnostics, errors)


def each(function, items):
    """The results of function(item), in order; several at a time."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def finish(problems, passed):
    """Prints the problems and the closing line; the exit status."""
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    return 1 if problems or not passed else 0
