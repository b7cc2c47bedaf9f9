"""Checks what `hdsc bench --json` writes, and that Ctrl-C leaves the rows that are done: bench.py rows|product|chain|interrupt …"""

import json
import os
import signal
import subprocess
import sys
import time


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def check_document(document):
    keys = ["format", "version", "compiler", "date", "command", "machine", "kernel", "method", "rows"]
    assert list(document) == keys, list(document)
    assert document["format"] == "hdsc bench" and document["version"] == 2
    assert document["command"][0] == "hdsc bench"
    assert document["machine"]["sm_count"] == 132 and document["machine"]["arch"] == "sm_90a"
    assert document["machine"]["l2_bytes"] == 1 << 20
    for row in document["rows"]:
        seconds, samples = row["seconds"], row["samples"]
        assert samples == sorted(samples) and len(samples) == seconds["count"] >= 25
        assert seconds["min"] <= seconds["q1"] <= seconds["median"] <= seconds["q3"] <= seconds["max"]
        assert abs(row["bytes_per_second"] * seconds["median"] / row["bytes"] - 1) < 1e-6
        for launch in row["launches"]:
            assert launch["block"][1:] == [1, 1] and launch["cluster"] is None and launch["dynamic_shared_bytes"] == 0


def rows(path):
    document = load(path)
    check_document(document)
    assert document["kernel"]["title"] == "scale[T=f32]" and document["kernel"]["peak_type"] == "f32"
    assert document["method"]["flops"] == "n" and document["method"]["bytes"] is None
    small, large = document["rows"]
    assert small["sizes"] == {"s": "2.0", "n": "100000"} and large["sizes"]["n"] == "1000000"
    assert small["bytes"] == 800000 and small["flop"] == 100000.0 and large["launches"][0]["grid"] == [3907, 1, 1]
    assert abs(small["seconds"]["median"] - 10e-6) < 1e-9 and abs(small["copy_seconds"]["median"] - 4e-6) < 1e-8
    assert small["buffer_sets"] == 7 and large["buffer_sets"] == 2 and small["launches_per_sample"] == 121


def product(path):
    document = load(path)
    check_document(document)
    assert [r["sizes"] for r in document["rows"]] == [{"m": m, "n": n} for m in ("100", "200") for n in ("32", "64")]
    for row in document["rows"]:
        m, n = (int(row["sizes"][name]) for name in "mn")
        assert row["bytes"] == 4 * m + 2 * m * n + 2 * 2 * m * n and row["flop"] is None
        assert [(x["grid"], x["block"]) for x in row["launches"]] == [([m, 1, 1], [n, 1, 1])]


def chain(path):
    document = load(path)
    check_document(document)
    assert document["kernel"]["title"] == "chain" and document["kernel"]["symbol"] is None
    small, large = document["rows"]
    assert small["bytes"] == 800 and large["bytes"] == 800000
    assert len(small["launches"]) == 2 and len(large["launches"]) == 3
    assert len({launch["kernel"] for launch in large["launches"]}) == 3
    assert [launch["grid"] for launch in large["launches"]] == 3 * [[391, 1, 1]]


def interrupt(hdsc, log):
    """Once the third of many rows is being measured, two at least are done."""
    if os.path.exists(log):
        os.remove(log)
    sizes = ",".join(str(256 * n) for n in range(1, 501))
    command = [hdsc, "bench", "bench.hds", "--entry", "scale[f32]", "s=2", f"n={sizes}", "--min-time=0.05", "--warm-up=0",
               "--json=-", "--samples=1"]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "FAKE_CUDA_LOG": log})
    while process.poll() is None:
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                if "grid 3 1 1" in file.read():
                    break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, (process.returncode, err)
    document = json.loads(out)
    assert 2 <= len(document["rows"]) < 500, len(document["rows"])


if __name__ == "__main__":
    {"rows": rows, "product": product, "chain": chain, "interrupt": interrupt}[sys.argv[1]](*sys.argv[2:])
