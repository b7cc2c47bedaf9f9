"""How long each step to a first result takes, for who asks: `with measured() as times: …`."""

import contextlib
import time

_asked = []  # of those that ask now
_STAGES = {"graph": "front end: the graph", "kernels": "front end: kernels", "machine code": "machine code by NVRTC"}


class Times:
    """Steps in the order in which they began: [(name, seconds)], without the steps inside of them."""

    def __init__(self):
        self._steps = []  # [name, begin, end, seconds of the steps inside, the step outside]
        self._open = None

    def begin(self, name):
        """A step, inside of the one that is open."""
        step = [name, time.perf_counter(), None, 0.0, self._open]
        self._steps.append(step)
        self._open = step

    def end(self):
        """Ends the step that is open."""
        step = self._open
        step[2] = time.perf_counter()
        self._open = step[4]
        if self._open:
            self._open[3] += step[2] - step[1]

    def rename(self, name):
        """The step that is open has another name."""
        self._open[0] = name

    @property
    def steps(self):
        """[(name, seconds)], those of one name once."""
        found = {}
        for name, begin, end, inside, _ in self._steps:
            found[name] = found.get(name, 0.0) + (end or time.perf_counter()) - begin - inside
        return list(found.items())


@contextlib.contextmanager
def measured():
    """What happens inside is measured."""
    times = Times()
    _asked.append(times)
    try:
        yield times
    finally:
        _asked.remove(times)


@contextlib.contextmanager
def step(name):
    """What happens inside is a step."""
    asked = list(_asked)
    for times in asked:
        times.begin(name)
    try:
        yield
    finally:
        for times in asked:
            times.end()


class _Stages:
    """What the compiler calls with (stage, done, count): each stage is a step. [line]: what is called as well; None: nothing."""

    def __init__(self, line):
        self.line, self.stage, self.begun, self.late = line, None, 0.0, None

    def __call__(self, stage, done, count):
        if self.line is not None:
            self.line(stage, done, count)
        now = time.perf_counter()
        if stage != self.stage:
            self.close()
            self.stage, self.begun, self.late = stage, now, None
            for times in _asked:
                times.begin(_STAGES[stage])
        if stage == "machine code" and count:
            self.late = now - self.begun if self.late is None and done >= 0.9 * count else self.late
            for times in _asked:
                times.rename(self.text(count))

    def text(self, count):
        """The step with how many kernels there are, and when nine of ten were there: what follows is a wait for few."""
        late = "" if self.late is None else f", 90 % of them after {self.late:.1f} s"
        return f"{_STAGES['machine code']}: {count} kernels{late}"

    def close(self):
        """Ends the last stage."""
        if self.stage is not None:
            for times in _asked:
                times.end()
        self.stage = None


@contextlib.contextmanager
def stages(line):
    """What to give to the compiler instead of [line]."""
    if not _asked:
        yield line
        return
    watch = _Stages(line)
    try:
        yield watch
    finally:
        watch.close()
