"""How many kernels each host function of an IR dump launches: choice.py FILE. All that are there are launched."""

import pathlib
import re
import sys

text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
kernels = set(re.findall(r"^public kernel @(\w+)", text, re.MULTILINE))
hosts = {name: set(re.findall(r"launch @(\w+)", body)) for name, body in
         re.findall(r"^public host @(\w+)(.*?)^}", text, re.MULTILINE | re.DOTALL)}
for name in sorted(hosts):
    if len(hosts[name]) != 1:
        print(f"{name}: {len(hosts[name])}")
print(f"{sum(len(launched) == 1 for launched in hosts.values())} with one kernel")
for name in sorted(kernels - set().union(*hosts.values())):
    print(f"{name} is not launched")
