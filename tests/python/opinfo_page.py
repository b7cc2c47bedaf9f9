"""The table of docs/aten.md that check_opinfo.py writes: what ran takes the place of its rows, and reasons that somebody has
written stay as long as what they explain is wrong."""

import re
import textwrap

MARK = "<!-- by tests/python/check_opinfo.py -->\n"
TYPES = {"float32": "f32", "float16": "f16", "int64": "i64", "bool": "bool"}
HEAD = "What is not right:"


def name_of(target):
    """The operator of an overload: `gather.default` is of gather."""
    return target.partition(".")[0].lstrip("_")


def counts_of(text):
    """{(operator, type): (right, all)} of the table's rows."""
    found = {}
    for name, cells in re.findall(r"^\| `(\w+)` \|(.*)\|$", text, re.MULTILINE):
        for kind, cell in zip(TYPES, cells.split("|"), strict=True):
            if cell.strip():
                found[name, kind] = tuple(map(int, cell.split("/")))
    return found


def reasons_of(text):
    """{(overload, type): (how many, why)} of the list behind the table."""
    found = {}
    for entry in re.split(r"^- ", text.partition(HEAD)[2], flags=re.MULTILINE)[1:]:
        what, why = " ".join(entry.split()).split(": ", 1)
        target, kinds, count = re.fullmatch(r"`([\w.]+)`, (.+), (\d+) of (?:them|each)", what).groups()
        found.update({(target, kind): (int(count), why) for kind in kinds.split(" and ")})
    return found


def entries(wrong):
    """The list: overloads that are wrong for the same reason as often are one entry."""
    groups = {}
    for (target, kind), (count, why) in sorted(wrong.items(), key=lambda x: (x[0][0], [*TYPES].index(x[0][1]))):
        groups.setdefault((target, count, why), []).append(kind)
    for (target, count, why), kinds in groups.items():
        each = "each" if len(kinds) > 1 else "them"
        text = f"- `{target}`, {' and '.join(kinds)}, {count} of {each}: {why}"
        yield textwrap.fill(text, 128, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def page(old, counts, wrong, when):
    """The text for [old], after these calls ran: counts as of counts_of, and wrong ones as of reasons_of. [when]: "on 2026-11-28
    with PyTorch 2.15.0"."""
    head, _, behind = old.partition(MARK)
    reasons, kept = reasons_of(behind), {k: v for k, v in counts_of(behind).items() if k not in counts}
    wrong = {key: (count, reasons[key][1] if key in reasons else why) for key, (count, why) in wrong.items()}
    wrong.update({key: value for key, value in reasons.items() if (name_of(key[0]), key[1]) in kept})
    ran = sorted({name for name, _ in counts})
    counts = {**kept, **counts}
    names = sorted({name for name, _ in counts})
    right, total = (sum(c[i] for c in counts.values()) for i in (0, 1))
    whole = f"{right} of {total} calls of {len(names)} operators are right ({100 * right / total:.1f} %)"
    first = re.search(r"are right \(.*?\), (on [^.]*?\d+\.\d+\.\d+)\.", behind)
    if kept and first and first[1] != when:
        which = ", ".join(f"`{name}`" for name in ran) if len(ran) < 9 else f"{len(ran)} operators"
        lines = [f"{whole}, {first[1]}. Those of {which} ran later, {when}."]
    else:
        lines = [f"{whole}, {when}."]
    lines = [textwrap.fill(lines[0], 128, break_long_words=False, break_on_hyphens=False)]
    lines += ["", f"| operator | {' | '.join(TYPES.values())} |", "|---|---|---|---|---|"]
    for name in names:
        cells = [counts.get((name, kind)) for kind in TYPES]
        lines.append(f"| `{name}` | " + " | ".join(f"{c[0]}/{c[1]}" if c else "" for c in cells) + " |")
    listed = list(entries(wrong))
    lines += ["", HEAD, "", *listed] if listed else []
    return head + MARK + "\n" + "\n".join(lines) + "\n"
