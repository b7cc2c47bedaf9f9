"""Checks "model" of `hdsc bench --json`: check.py gpu|sim|joined FILE. Bytes and operations are counted by hand here."""

import json
import sys

F16, K, H, N = 2, 64, 128, 32


def expected(B):
    """(operator, nodes, bytes, operations) of each launch."""
    first = F16 * (B * K + H * K + H + B * H), 2 * B * H * K + 3 * B * H - 2 * B * H
    return [
        ("fused_linear_relu", ["linear", "relu"], first[0], first[1]),
        ("fused_linear", ["linear"], F16 * (B * H + N * H + B * N), 2 * B * N * H),
        ("fused_softmax", ["softmax"], F16 * 2 * B * N, B * N),
    ]


def check_joined(run):
    """The products of Q, K and V are one launch, which is counted at the first."""
    launches = run["launches"]
    first = next(i for i, launch in enumerate(launches) if launch["operator"] == "fused_linear")
    assert [launch["joined"] for launch in launches[first : first + 3]] == [None, first, first]
    assert [len(launch["kernels"]) for launch in launches[first : first + 3]] == [1, 0, 0]
    assert all(launch["bytes"] > 0 and launch["operations"] > 0 for launch in launches)
    for key in ("bytes", "operations"):
        assert run["total"][key] == sum(launch[key] for launch in launches)


def main(device, path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    model = document["model"]
    if device == "joined":
        check_joined(model["runs"][0])
        return
    assert model["name"] == "net" and [run["sizes"] for run in model["runs"]] == ["B=4", "B=16"], model["runs"]
    for run, B in zip(model["runs"], (4, 16)):
        wanted = expected(B)
        assert len(run["launches"]) == len(wanted)
        for launch, (operator, nodes, bytes_, operations) in zip(run["launches"], wanted):
            assert launch["operator"] == operator and [n["operator"] for n in launch["nodes"]] == nodes, launch
            assert (launch["bytes"], launch["operations"]) == (bytes_, operations), (launch, bytes_, operations)
            assert {n["line"] for n in launch["nodes"]} <= {14, 15} and len(launch["kernels"]) == 1
            if device == "sim":
                counts = launch["counts"]
                assert launch["seconds"] is None and counts["bytes_moved"] >= bytes_ // 2 and counts["warp_instructions"] > 100
                assert counts["thread_instructions"] <= 32 * counts["warp_instructions"]
            else:
                assert launch["counts"] is None and launch["seconds"] > 0
                least = max(bytes_ / document["machine"]["peak_bytes_per_second"], 0)
                assert launch["limit_seconds"] >= least * (1 - 1e-6), launch
        assert [launch["reads"] for launch in run["launches"]] == [["x", "first", "prepared0"], ["t2", "second"], ["t3"]], run
        assert [launch["writes"] for launch in run["launches"]] == [["t2"], ["t3"], ["out"]], run
        total = run["total"]
        for key in ("bytes", "operations"):
            assert total[key] == sum(launch[key] for launch in run["launches"])
        if device == "sim":
            for key, value in total["counts"].items():
                assert value == sum(launch["counts"][key] for launch in run["launches"]), key
        else:
            microseconds = [round(launch["seconds"] * 1e6, 3) for launch in run["launches"]]
            assert microseconds == [7, 7, 5], microseconds  # by the threads of a block
            assert round(run["graph_seconds"] * 1e6, 3) == round(run["launch_seconds"] * 1e6, 3) == 19
    assert device == "sim" or [row["sizes"] for row in document["rows"]] == [{"B": "4"}, {"B": "16"}]


if __name__ == "__main__":
    main(*sys.argv[1:])
