#!/usr/bin/env python3
"""What prefetching weights into L2 and running branches beside each other could gain at most.

    hdsc bench MODEL --json=warm.json                      runs follow each other: what fits stays in L2
    hdsc bench MODEL --method=flush --json=cold.json       L2 is overwritten before each run
    bench/model_limits.py warm.json cold.json

A prefetch is worth at most what a run with a cold L2 takes more than one with a warm L2. It is worth nothing where kernels with a
cold L2 are at the limit of the memory already: the bytes have to come, sooner or later. Branches beside each other are worth at most
the sum of all kernels less the longest chain of those that read each other's results.
"""

import argparse
import json


def run_of(path):
    with open(path, encoding="utf-8") as file:
        model = json.load(file)["model"]
    return model["name"], model["runs"][0]


def longest_chain(launches):
    """Seconds of the longest chain of launches that read what one before wrote."""
    ends, longest = {}, 0.0
    for launch in launches:
        begin = max([ends.get(name, 0.0) for name in launch["reads"]], default=0.0)
        end = begin + launch["seconds"]
        longest = max(longest, end)
        for name in launch["writes"]:
            ends[name] = max(ends.get(name, 0.0), end)
    return longest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warm")
    parser.add_argument("cold")
    options = parser.parse_args()
    name, warm = run_of(options.warm)
    _, cold = run_of(options.cold)
    gain = 1 - warm["graph_seconds"] / cold["graph_seconds"]
    print(f"{name}: a run {warm['graph_seconds'] * 1e6:.2f} µs with a warm L2, {cold['graph_seconds'] * 1e6:.2f} µs with a cold one")
    print(f"prefetch: at most {100 * gain:.1f} % of a run with a cold L2")
    for a, b in zip(warm["launches"], cold["launches"]):
        share = 100 * b["limit_seconds"] / b["seconds"]
        print(f"  {b['operator']:32} warm {a['seconds'] * 1e6:8.2f} µs, cold {b['seconds'] * 1e6:8.2f} µs, {share:5.1f} % of the limit")
    total, chain = warm["total"]["seconds"], longest_chain(warm["launches"])
    print(f"branches: kernels {total * 1e6:.2f} µs, longest chain {chain * 1e6:.2f} µs: at most {100 * (1 - chain / total):.1f} %")


if __name__ == "__main__":
    main()
