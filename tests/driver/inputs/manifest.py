"""Holds a manifest against the files that it tells of: manifest.py FILE"""

import json
import pathlib
import sys


def check_file(row):
    assert pathlib.Path(row["path"]).stat().st_size == row["bytes"], row
    assert len(row["hash"]) == 32, row


def main():
    document = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    assert document["compiler"].startswith("hdsc "), document
    assert document["options"]["emit"] == "cu" and document["options"]["archs"] == ["sm_80"], document["options"]
    assert document["options"]["prefix"] == "p_", document["options"]
    (source,) = document["inputs"]
    assert [row["path"] for row in source["imports"]] and source["kernels"] and source["entries"], source
    assert all(row["name"].startswith("p_") for row in source["entries"]), source
    for row in [source, *source["imports"], *document["outputs"]]:
        check_file(row)
    kinds = [(row["path"], row["kind"]) for row in document["outputs"]]
    assert kinds == [("k.cu", "cu"), ("k.h", "header"), ("k.d", "depfile")], kinds


if __name__ == "__main__":
    main()
