"""hdsc tune is killed while it measures, and the same command goes on: kill.py HDSC TABLE OPTIONS..."""

import json
import os
import subprocess
import sys
import time


def times(journal):
    """Of the journal, which is whole whenever somebody looks; it is gone in the end."""
    try:
        with open(journal, encoding="utf-8") as file:
            return {(t["sizes"], t["candidate"]) for t in json.load(file)["measured"]}
    except FileNotFoundError:
        return set()


def main(hdsc, table, *options):
    command, journal, before, kills = [hdsc, "tune", *options, "-o", table], f"{table}.journal.json", set(), 0
    while kills < 2:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(times(journal)) <= len(before):
            time.sleep(0.002)
        process.kill()
        if process.wait() == 0:  # this machine was so busy that it has come to its end
            break
        kills += 1
        assert before < times(journal), (before, times(journal))
        before = times(journal)
    assert kills, "it ended before it was killed"
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert kills < 2 or f"{len(before)} times are in '{journal}' already" in out, out
    assert not os.path.exists(journal)


if __name__ == "__main__":
    main(*sys.argv[1:])
