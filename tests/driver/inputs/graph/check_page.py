"""Checks pages and drawings that `hdsc graph` writes.

check_page.py PAGE [PROGRAM]        nothing is loaded from elsewhere, tags are closed, the program is there letter by letter
check_page.py --strange IN OUT      a graph in JSON whose names are markup
check_page.py --labels DOT          labels of a drawing are well-formed, and have the strange names
"""

import html.parser
import json
import re
import sys
import xml.etree.ElementTree

STRANGE = "<script>alert('\"&')</script>\\"
VOID = {"meta", "input", "br"}
OPEN_ENDED = {"tr", "td", "th", "thead", "tbody"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.program, self.scripts, self.texts = [], [], 0, []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert name not in ("src", "href", "xlink:href", "action") and not name.startswith("on"), (tag, name, value)
        self.scripts += tag == "script"
        if tag not in VOID | OPEN_ENDED:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in OPEN_ENDED:
            assert self.open.pop()[0] == tag, tag

    def handle_data(self, data):
        self.texts.append(data)
        if any(attrs.get("id") == "program" for _, attrs in self.open):
            self.program.append(data)


def check_page(path, program=None):
    page = Page()
    with open(path, encoding="utf-8") as file:
        page.feed(file.read())
    page.close()
    assert not page.open, page.open
    assert page.scripts == 1, page.scripts
    text = "".join(page.program)
    assert "@hidet.script" in text, text
    if program:
        with open(program, encoding="utf-8") as file:
            assert text == file.read()
    else:
        assert STRANGE in "".join(page.texts)


def make_strange(source, target):
    with open(source, encoding="utf-8") as file:
        graph = json.load(file)
    last = graph["inputs"][-1]
    graph["inputs"][-1] = {"weight": STRANGE, "file": STRANGE, "tensor": last["tensor"]}
    with open(target, "w", encoding="utf-8") as file:
        json.dump(graph, file)


def check_labels(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    matches = [re.search(r"label=<(.*?)>(?:, tooltip|, style|, color|];$)", line) for line in lines]
    labels = [match.group(1) for match in matches if match]
    texts = ["".join(xml.etree.ElementTree.fromstring(f"<label>{label}</label>").itertext()) for label in labels]
    assert len(labels) > 10, labels
    assert any(STRANGE in text for text in texts), texts


if sys.argv[1] == "--strange":
    make_strange(*sys.argv[2:])
elif sys.argv[1] == "--labels":
    check_labels(sys.argv[2])
else:
    check_page(*sys.argv[1:])
