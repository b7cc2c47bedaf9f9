"""Runs lit over one folder of tests, with the features that this compiler and machine have."""

import argparse
import pathlib
import subprocess
import sys


def features(hdsc):
    version = subprocess.run([hdsc, "version"], capture_output=True, text=True, check=False).stdout
    found = []
    if "NVRTC: error" not in version and "NVRTC: " in version:
        found.append("nvrtc")
    if "ptxas: '" in version:
        found.append("ptxas")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lit", required=True)
    parser.add_argument("--llvm", required=True)
    parser.add_argument("--hdsc", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    tests = [p for p in args.folder.rglob("*") if p.suffix in (".hds", ".hir", ".test") and "inputs" not in p.parts]
    if not tests:
        sys.exit(f"no tests in {args.folder}")
    command = [sys.executable, args.lit, "-v", "--order=lexical", "-j", args.jobs, "--param", f"hdsc={args.hdsc}",
               "--param", f"llvm={args.llvm}", "--param", f"python={sys.executable}", "--param", f"work={args.work}",
               "--param", "features=" + ",".join(features(args.hdsc)), str(args.folder)]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
