"""`hdsc report` of models of one node, those of onnx's node tests with their data: each runs node by node, also in f64.

usage: check_reports.py HDSC [--every=N] [--first=K] [--match=TEXT] [--keep=FOLDER] [-j N]

What is compared is in check_conformance.py and in the tests of hdsc report; here, what counts is that each of the three programs
of a report can be made and run, and that nothing but rounding, and ties of it, is far from f64. Cases are those of passing.txt.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import node_cases
import onnx

HERE = pathlib.Path(__file__).parent


def write_data(case, folder):
    """What the case gives and expects, as hdsc report finds it beside a model."""
    known = {initializer.name for initializer in onnx.load(folder / "model.onnx").graph.initializer}
    inputs, outputs = case.data_sets[0]
    data = folder / "test_data_set_0"
    data.mkdir()
    given = [value for k, value in enumerate(inputs) if value is not None and f"i{k}" not in known]
    for stem, values in (("input", given), ("output", outputs)):
        for k, value in enumerate(values):
            (data / f"{stem}_{k}.pb").write_bytes(node_cases.as_tensor(value).SerializeToString())


def report(hdsc, case, cases, top):
    """(name, what is wrong, the report)."""
    folder = top / case.name
    why = node_cases.write(case, cases, folder)
    if why is not None:
        return case.name, None, None
    write_data(case, folder)
    words = [hdsc, "report", "--json", "-j", "1", "model.onnx"]
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode not in (0, 1) or not ran.stdout.startswith("{"):
        return case.name, f"exit code {ran.returncode}: {ran.stderr.strip()}", None
    made = json.loads(ran.stdout)
    first = None if made["first"] is None else made["nodes"][made["first"]]
    if first is not None and first["ties"] == first["different"]:  # and so is what is computed from these
        return case.name, None, made
    wrong = [f"{x['tensor']}: {x['error']} above {x['bound']}" for x in made["nodes"] + made["outputs"] if not x["passes"]]
    return case.name, "; ".join(wrong) if wrong else None, made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hdsc")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--match", default="")
    parser.add_argument("--keep", default="")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    cases = node_cases.collect()
    passing = (HERE / "passing.txt").read_text(encoding="utf-8").split()
    names = [name for name in passing if name in cases and options.match in name][options.first :: options.every]
    with tempfile.TemporaryDirectory() as temporary:
        top = pathlib.Path(options.keep or temporary)
        hdsc = str(pathlib.Path(options.hdsc).resolve())
        with ThreadPoolExecutor(options.j) as pool:
            results = list(pool.map(lambda name: report(hdsc, cases[name], cases, top), names))
    wrong = [(name, why) for name, why, _ in results if why is not None]
    for name, why in wrong:
        print(f"{name}: {why}")
    print(f"{len(names)} models, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
