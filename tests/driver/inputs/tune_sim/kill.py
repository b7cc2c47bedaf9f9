"""hdsc tune is killed while it measures, and the same command goes on: kill.py HDSC TABLE OPTIONS..."""

import json
import os
import subprocess
import sys
import time


def times(journal):
    """Of the journal, which is whole whenever somebody looks."""
    if not os.path.exists(journal):
        return set()
    with open(journal, encoding="utf-8") as file:
        return {(t["sizes"], t["candidate"]) for t in json.load(file)["measured"]}


def main(hdsc, table, *options):
    command, journal, before = [hdsc, "tune", *options, "-o", table], f"{table}.journal.json", set()
    for _ in range(2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(times(journal)) <= len(before):
            time.sleep(0.002)
        process.kill()
        assert process.wait() == -9, "it ended before it was killed"
        assert before < times(journal), (before, times(journal))
        before = times(journal)
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert f"{len(before)} times are in '{journal}' already" in out, out
    assert not os.path.exists(journal)


if __name__ == "__main__":
    main(*sys.argv[1:])
