"""The loop of tests of random graphs: their arguments after HDSC are N, the number of graphs, and SEED, the first one."""

import pathlib
import sys
import tempfile


def run(check, text="model.hds"):
    """Calls check(folder, seed) for each seed, in an empty folder, and prints what a RuntimeError says, with the file [text] there.
    Returns what the calls that passed returned, and the number of those that failed."""
    count, first = (int(word) for word in (sys.argv[2:] + ["8", "1"][len(sys.argv) - 2 :])[:2])
    results, failed = [], 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                results.append(check(pathlib.Path(folder), seed))
            except RuntimeError as problem:
                failed += 1
                print(f"seed {seed}: {problem}\n{(pathlib.Path(folder) / text).read_text()}", flush=True)
    return results, failed
