"""Writes the inputs that fuzz_compile starts from: seeds.py FOLDER.

They are the files and the code blocks that the repository has anyway: examples, library, tests of the language, the
reference, the pages of the diagnostics, and tests/fuzz/corpus/compile. Only that last folder, which has what the fuzzer
found to be worth keeping, is stored for its sake.
"""

import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compiler import TOP, blocks  # noqa: E402

FILES = ["examples/*.hds", "stdlib/*/*.hds", "tests/lang/elab/*.hds", "tests/diag/*.hds", "tests/emit/**/*.hds",
         "tests/fuzz/corpus/compile/*"]
PAGES = ["lang/reference.md", "lang/diagnostics/*.md", "README.md"]


def texts():
    for pattern in FILES:
        for path in sorted(TOP.glob(pattern)):
            yield path.read_bytes()
    for pattern in PAGES:
        for path in sorted(TOP.glob(pattern)):
            for block in blocks(path.read_text(encoding="utf-8")):
                if block.info.split()[:1] == ["python"]:
                    yield block.text.encode()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for text in texts():
        (folder / hashlib.sha1(text).hexdigest()).write_bytes(text)
    print(f"{len(list(folder.iterdir()))} inputs")


if __name__ == "__main__":
    main()
