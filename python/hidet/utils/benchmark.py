"""Timing of functions."""

import time

from hidet import cuda


def benchmark_func(run_func, *args, warmup=3, number=None, repeat=5, median=True):
    """Milliseconds of `run_func(*args)`: the median of [repeat] measurements of [number] calls each, or all of them. By default
    the calls of one measurement take about 5 ms."""
    for _ in range(warmup):
        run_func(*args)
    _wait()
    if number is None:
        number = max(1, min(1000, int(5e-3 / max(_seconds(run_func, args, 1), 1e-7))))
    times = sorted(1e3 * _seconds(run_func, args, number) / number for _ in range(repeat))
    if not median:
        return times
    middle = len(times) // 2
    return times[middle] if len(times) % 2 else (times[middle - 1] + times[middle]) / 2


def _wait():
    import sys

    cuda.synchronize()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


def _seconds(run_func, args, number):
    _wait()
    start = time.perf_counter()
    for _ in range(number):
        run_func(*args)
    _wait()
    return time.perf_counter() - start


def do_bench(fn, warmup=25, rep=100, percentiles=(0.2, 0.5, 0.8)):
    """Milliseconds of `fn()` at these percentiles, a list, or their mean, where there are none. [warmup] and [rep] are the
    milliseconds that calls before the measurement and measured calls take in all. Each call is waited for."""
    fn()
    least = max(1e3 * _seconds(fn, (), 1), 1e-4)
    for _ in range(max(1, int(warmup / least))):
        fn()
    times = sorted(1e3 * _seconds(fn, (), 1) for _ in range(max(1, int(rep / least))))
    return [_at(times, p) for p in percentiles] if percentiles else sum(times) / len(times)


def _at(values, part):
    """The value at a percentile of sorted ones, between two of them by weight."""
    place = part * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])
