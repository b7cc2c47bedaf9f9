"""Interpreters, processes and threads: the package works in them, or refuses with a sentence."""

import contextlib
import io
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np
from support import Case

import hidet
from hidet import _core, _progress

FOLDER = str(pathlib.Path(hidet.__file__).resolve().parent.parent)
DOUBLED = """from hidet.lang import attrs, f32
from hidet.lang.cuda import threadIdx


@hidet.script
def doubled(x: f32[8], y: f32[8]):
    attrs.cuda.grid_dim = 1
    attrs.cuda.block_dim = 8
    y[threadIdx.x] = x[threadIdx.x] * FACTOR
"""


def product(factor):
    """A kernel, compiled and run."""
    x, y = np.arange(8, dtype="f"), np.zeros(8, "f")
    hidet.hds.loads(f"FACTOR = {factor}.0\n{DOUBLED}", name="doubled.hds").doubled(x, y)
    return y.tolist()


def expected(factor):
    return [float(factor * i) for i in range(8)]


def ends(group):
    """Whether a group of processes has none any more, now or soon."""
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


class Processes(Case):
    def run_python(self, text, **kwargs):
        """(exit status, output) of a program in a new process."""
        text = f"import sys\nsys.path.insert(0, {FOLDER!r})\n{text}"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False, **kwargs)
        return done.returncode, done.stdout + done.stderr

    def test_other_interpreters_are_refused(self):
        names = [n for n in ("_interpreters", "_xxsubinterpreters") if n in sys.builtin_module_names or _is_there(n)]
        if not names:
            self.skipTest("this Python makes no interpreters")
        inner = f"import sys\nsys.path.insert(0, {FOLDER!r})\nimport hidet._core"
        for before in ("", "import hidet._core"):
            text = f"import {names[0]} as interpreters\n{before}\nmade = interpreters.create()\n"
            text += f"try:\n    print(interpreters.run_string(made, {inner!r}))\nexcept Exception as error:\n    print(error)\n"
            status, output = self.run_python(text)
            self.assertEqual(status, 0, output)
            self.assertRegex(output, "hidet is for the main interpreter|does not support loading in subinterpreters")

    def test_a_second_import(self):
        """It has the same types."""
        again = "import hidet._core as a\ndel sys.modules['hidet._core']\nimport hidet._core as b\n"
        self.assertEqual(self.run_python(again + "print(a is b, a.Tensor is b.Tensor)")[1].split(), ["False", "True"])

    def test_free_threads_are_refused(self):
        status, output = self.run_python("sys.abiflags = 't'\nimport hidet")
        self.assertEqual(status, 1)
        self.assertIn("ImportError: hidet is for Python with the GIL", output)

    def test_fork_after_use(self):
        before = hidet.hds.loads(f"FACTOR = 2.0\n{DOUBLED}", name="doubled.hds")
        x, y = np.ones(8, "f"), np.zeros(8, "f")
        before.doubled(x, y)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                before.doubled(3 * x, y)
                status = 0 if y.tolist() == [6] * 8 and product(2) == expected(2) and product(3) == expected(3) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(product(5), expected(5))

    def test_spawn_after_use(self):
        self.assertEqual(product(2), expected(2))
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            self.assertEqual(pool.apply(product, (4,)), expected(4))

    def test_threads_that_compile(self):
        results = {}

        def work(factor):
            results[factor] = product(factor)

        threads = [threading.Thread(target=work, args=(factor,)) for factor in (6, 7, 6, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, {6: expected(6), 7: expected(7)})

    def test_interrupts_while_compiling(self):
        """Ctrl-C leaves no process, and a cache that serves."""
        here = str(pathlib.Path(__file__).resolve().parent)
        with tempfile.TemporaryDirectory() as folder:
            head = f"import sys\nsys.path[:0] = [{FOLDER!r}, {here!r}]\nimport hidet, test_processes\n"
            head += f"hidet.option.cache_dir({folder!r})\nhidet.option.num_local_workers(2)\n"
            loop = "for i in range(1, 100000):\n    test_processes.product(i)\n    print(i, flush=True)\n"
            child = subprocess.Popen(
                [sys.executable, "-c", head + loop], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
            with child:
                child.stdout.readline()
                child.send_signal(signal.SIGINT)
                errors = child.communicate(timeout=60)[1].decode()
            self.assertIn("KeyboardInterrupt", errors)
            self.assertTrue(ends(child.pid))
            status, output = self.run_python(head + "print(test_processes.product(1) == test_processes.expected(1))\n")
            self.assertEqual((status, output.split()), (0, ["True"]), output)


# Compiles with the stand-in for NVRTC, which takes very long for a kernel, and says when that begins.
SLOW = """
import test_processes
from hidet import _core
compiler = _core.Compiler("", {nvrtc!r}, 2)
text = f"FACTOR = 3.0\\n{{test_processes.DOUBLED}}"
def watch(stage, done, count):
    if stage == "machine code":
        print(stage, done, count, flush=True)
compiler.compile("doubled.hds", text, arch="sm_80", progress=watch)
"""


class Progress(Case):
    def test_interrupts_of_nvrtc(self):
        """Ctrl-C does not wait for NVRTC, and ends its processes."""
        build = pathlib.Path(FOLDER).parent
        nvrtc = build / "tests/unit/toolchain/fake/whole/libnvrtc.so"
        if not nvrtc.exists():
            self.skipTest("the build has no stand-in for NVRTC")
        here = str(pathlib.Path(__file__).resolve().parent)
        text = f"import sys\nsys.path[:0] = [{FOLDER!r}, {here!r}]\n{SLOW.format(nvrtc=str(nvrtc))}"
        child = subprocess.Popen(
            [sys.executable, "-c", text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "FAKE_NVRTC_MS": "20000", "HDS_WORKER": str(build / "libexec/hds/hds-worker")},
        )
        with child:
            self.assertEqual(child.stdout.readline().split(), [b"machine", b"code", b"0", b"1"])
            child.send_signal(signal.SIGINT)
            errors = child.communicate(timeout=60)[1].decode()
        self.assertIn("KeyboardInterrupt", errors)
        self.assertTrue(ends(child.pid))

    def compiled(self, watch):
        """A program, compiled with a function that is told how far it is."""
        compiler = _core.Compiler("", None, 2)
        return compiler.compile("doubled.hds", f"FACTOR = 11.0\n{DOUBLED}", arch="sm_80", no_code=True, progress=watch)

    def test_stages(self):
        calls = []
        self.compiled(lambda *call: calls.append(call))
        self.assertEqual({stage for stage, _, _ in calls}, {"kernels"})
        x = hidet.symbol([2, 8])
        calls.clear()
        with mock.patch.object(_progress, "line", lambda title: contextlib.nullcontext(lambda *call: calls.append(call))):
            hidet.trace_from(hidet.ops.softmax(hidet.ops.matmul(x, hidet.randn([8, 3])))).build()
        stage, done, count = calls[-1]
        self.assertEqual((stage, done), ("kernels", count))
        self.assertGreater(count, 0)

    def test_what_is_raised_there(self):
        def watch(stage, done, count):
            raise LookupError(stage)

        with self.assertRaisesRegex(LookupError, "kernels"):
            self.compiled(watch)
        self.assertEqual(self.compiled(None).status, 0)

    def test_who_shows_it(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        is_shown = _progress.is_shown
        with hidet.option.context(), mock.patch.dict(os.environ, clear=False):
            os.environ.pop("HIDET_PROGRESS", None)
            for stream, expected in ((io.StringIO(), False), (Terminal(), True), (None, False)):
                with mock.patch.object(sys, "stderr", stream):
                    self.assertEqual(is_shown(), expected)
            with mock.patch.object(sys, "stderr", Terminal()):
                for value in ("0", "off"):
                    os.environ["HIDET_PROGRESS"] = value
                    self.assertFalse(is_shown())
                hidet.option.progress(True)
                self.assertTrue(is_shown())
                hidet.option.progress(False)
                os.environ["HIDET_PROGRESS"] = "1"
                self.assertFalse(is_shown())

    def test_the_line(self):
        stream = io.StringIO()
        with mock.patch.object(sys, "stderr", stream), hidet.option.context():
            hidet.option.progress(True)
            with _progress.line("a model") as line:
                line("kernels", 1, 4)  # not yet
                self.assertEqual(stream.getvalue(), "")
                line.start -= 1
                line("graph", 0, 0)
                line("kernels", 3, 8)
        self.assertRegex(
            stream.getvalue(),
            "^\rhidet: a model: reading the graph, 1.. s\x1b.K"
            "\rhidet: a model:  37%.███████▌            . 3 of 8 kernels, 1.. s\x1b.K\r\x1b.K$",
        )


def _is_there(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


if __name__ == "__main__":
    unittest.main()
