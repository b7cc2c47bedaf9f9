"""Prints how many kernels each plan of 'hdsc --dump=plan' launches. Usage: count_launches.py < PLANS"""

import re
import sys

count = {}
name = None
for line in sys.stdin:
    if found := re.match(r"plan @(\w+)", line):
        name = found[1]
        count[name] = 0
    elif re.match(r"\s*launch @", line):
        count[name] += 1
for name, launches in count.items():
    print(f"{name}: {launches}")
