"""The line about long work of the compiler: on a terminal, while it lasts."""

import contextlib
import os
import sys
import time

from hidet import option

_QUIET = 0.4  # seconds: when a line is worth its flicker
_BLOCKS = " ▏▎▍▌▋▊▉█"
_WIDTH = 20
_STAGES = {"graph": "reading the graph", "kernels": "kernels", "machine code": "kernels compiled"}


def is_shown():
    """The option `progress`, else HIDET_PROGRESS in the environment, else whether standard error is a terminal."""
    wanted = option.get_option("progress")
    if wanted is None:
        wanted = {"0": False, "off": False, "1": True, "on": True}.get(os.environ.get("HIDET_PROGRESS", "").lower())
    if wanted is None:
        try:
            wanted = sys.stderr is not None and sys.stderr.isatty()
        except (AttributeError, ValueError):  # replaced, or closed
            wanted = False
    return bool(wanted)


def bar(done, count):
    """The part that is done, in eighths of a character."""
    eighths = _WIDTH * 8 * done // count
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[rest] if rest else "")).ljust(_WIDTH)


def text_of(stage, done, count, seconds):
    """What the line says: `40%|████████            | 4 of 10 kernels, 1.2 s`."""
    if not count:
        return f"{_STAGES[stage]}, {seconds:.1f} s"
    return f"{100 * done // count:3d}%|{bar(done, count)}| {done} of {count} {_STAGES[stage]}, {seconds:.1f} s"


class Line:
    """What the compiler calls with (stage, done, count), on a thread of its own. `with` removes the line at the end."""

    def __init__(self, title):
        self.title, self.start, self.is_there = title, time.monotonic(), False

    def __call__(self, stage, done, count):
        seconds = time.monotonic() - self.start
        if seconds >= _QUIET:
            self._write(f"\rhidet: {self.title}: {text_of(stage, done, count, seconds)}\x1b[K")
            self.is_there = True

    def _write(self, text):
        """Compiling goes on where nothing can be written."""
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except UnicodeEncodeError:
            sys.stderr.write(text.encode("ascii", "replace").decode())
        except (OSError, ValueError, AttributeError):
            return

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.is_there:
            self._write("\r\x1b[K")


def line(title):
    """For `with`: what to give to the compiler, or None."""
    return Line(title) if is_shown() else contextlib.nullcontext()
