"""Says what a JUnit file holds: counts, and each case that did not pass. Usage: check_junit.py FILE"""

import sys
import xml.etree.ElementTree as xml


def main():
    root = xml.parse(sys.argv[1]).getroot()
    cases = list(root.iter("testcase"))
    failures = [c for c in cases if c.find("failure") is not None]
    skipped = [c for c in cases if c.find("skipped") is not None]
    assert int(root.get("tests")) == len(cases) == sum(int(s.get("tests")) for s in root)
    assert int(root.get("failures")) == len(failures) == sum(int(s.get("failures")) for s in root)
    assert int(root.get("skipped")) == len(skipped)
    assert float(root.get("time")) >= 0
    print(f"{len(cases)} tests, {len(failures)} failures, {len(skipped)} skipped")
    for case in failures:
        print(f"{case.get('name')} at {case.get('line')}: {case.find('failure').get('message')}")
        assert case.find("failure").text.strip()
    for case in skipped:
        print(f"{case.get('name')}: {case.find('skipped').get('message')}")
    for case in cases:
        if case.find("system-out") is not None:
            print(f"{case.get('name')} printed {case.find('system-out').text.split()}")


if __name__ == "__main__":
    main()
