"""The grammar, without its actions, is what golden/grammar.txt says: each change of the language shows in review.

After a change that is meant: check_grammar.py --lemon lemon --update
"""

import argparse
import difflib
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lemon", required=True)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    source = HERE.parent.parent / "lang" / "grammar" / "hds.y"
    done = subprocess.run([args.lemon, "-g", str(source)], capture_output=True, text=True, check=True)
    now = [line.rstrip() for line in done.stdout.splitlines()[1:]]  # the first line has the path of the file
    golden = HERE / "grammar.txt"
    if args.update:
        golden.write_text("\n".join(now) + "\n", encoding="utf-8")
    then = golden.read_text(encoding="utf-8").splitlines()
    difference = list(difflib.unified_diff(then, now, "grammar.txt", "lang/grammar/hds.y", lineterm=""))
    print("\n".join(difference) if difference else f"{len(now)} lines, unchanged")
    sys.exit(bool(difference))


if __name__ == "__main__":
    main()
