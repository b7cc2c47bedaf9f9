#!/usr/bin/env python3
"""Draws docs/images/speed_*.svg from the results in docs/results.

Usage: charts.py    (needs matplotlib)
"""

import csv
import math
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent
RESULTS, IMAGES = TOP / "docs" / "results", TOP / "docs" / "images"
OURS, PEER, GRID = "#2f6fab", "#8a8f98", "#d9dde3"
GROUPS = {"tn": "f16, bf16, A·Bᵀ", "nn": "f16, bf16, A·B", "decode": "decode, m ≤ 64", "batched": "batched", "fp8": "fp8",
          "f32": "f32, exact", "tf32": "f32 as tf32"}


def rows_of(name):
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def axes_of(count, label):
    figure, axes = plt.subplots(figsize=(7.5, 0.6 + 0.24 * count))
    axes.set_xlabel(label)
    axes.axvline(1.0, color=PEER, linewidth=1.2)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def save(figure, name):
    figure.tight_layout()
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def spread(groups, label, name, limits):
    """A row for each group: a dot for each case, a bar at the geometric mean."""
    figure, axes = axes_of(len(groups), label)
    for y, (title, values) in enumerate(reversed(list(groups.items()))):
        axes.plot(values, [y] * len(values), "o", color=OURS, alpha=0.35, markersize=4, markeredgewidth=0)
        mean = geomean(values)
        axes.plot([mean, mean], [y - 0.32, y + 0.32], color=OURS, linewidth=2.2)
        axes.annotate(f"{mean:.2f}", (limits[1], y), va="center", ha="right", fontsize=8, color="#333333")
    axes.set_yticks(range(len(groups)), list(reversed(list(groups))), fontsize=8)
    axes.set_xlim(*limits)
    save(figure, name)


def by(rows, key, value):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(float(row[value]))
    return groups


def main():
    plt.rcParams.update({"font.family": "sans-serif", "svg.hashsalt": "hdsc", "svg.fonttype": "none"})
    products = [row for row in rows_of("2026-11-22-h200-matmul") if row["group"] in GROUPS]
    spread(by(products, lambda row: GROUPS[row["group"]], "speedup"), "times as fast as cuBLAS", "speed_matmul", (0.9, 1.5))
    memory = [row for row in rows_of("2026-11-23-h200-memory") if row["operator"] not in ("sort", "topk")]
    spread(by(memory, lambda row: row["operator"], "rotate_speedup"),
           "times as fast as the better of PyTorch eager and torch.compile", "speed_memory", (0.9, 2.5))
    spread(by(memory, lambda row: row["operator"], "rotate_of_copy"), "speed, as a fraction of a copy of the same bytes",
           "bandwidth_memory", (0.3, 1.15))


if __name__ == "__main__":
    main()
