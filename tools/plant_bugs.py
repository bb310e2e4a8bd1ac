#!/usr/bin/env python3
"""Plants the bugs of planted_bugs.py, planted_broker_bugs.py and planted_mesh_bugs.py into a copy
of the sources.

usage: plant_bugs.py SOURCES   SOURCES is the src/ of the copy; it is changed in place
       plant_bugs.py --list    name and sentence of each bug, with a tab between them
"""

import pathlib
import sys

from planted_broker_bugs import BROKER_BUGS
from planted_bugs import BUGS
from planted_mesh_bugs import MESH_BUGS

HEADER = """// Bugs that are there on purpose: these sources are only for scripts/mutants.sh.
#pragma once

#include <cstdlib>
#include <string_view>

namespace holdfast {

inline bool planted_bug(std::string_view name) {
  static const char* const chosen = std::getenv("HOLDFAST_PLANTED");
  return chosen != nullptr && name == chosen;
}

}  // namespace holdfast
"""

INCLUDE = '#include "base/planted.h"\n'


def with_call(text: str, name: str) -> str:
    return text.replace("planted", f'planted_bug("{name}")')


# What stands at one place may be changed by several bugs: the first of them keeps the original
# text alive as the other side of a choice.
def edit(text: str, old: str, new: str) -> str | None:
    return text.replace(old, new) if text.count(old) == 1 else None


def plant(sources: pathlib.Path) -> list[str]:
    (sources / "base" / "planted.h").write_text(HEADER)
    faults = []
    texts = {}
    by_place = {}
    for name, _, edits in BUGS + BROKER_BUGS + MESH_BUGS:
        for file, old, new in edits:
            by_place.setdefault((file, old), []).append((name, new))
    for (file, old), changes in by_place.items():
        path = sources / file
        text = texts.get(file) or path.read_text()
        merged = combine(old, changes)
        changed = edit(text, old, merged) if merged is not None else None
        if changed is None:
            names = ", ".join(name for name, _ in changes)
            faults.append(f"{names}: {file} does not have this text exactly once:\n{old}")
            continue
        texts[file] = changed
    for file, text in texts.items():
        first = text.index('#include "')
        (sources / file).write_text(text[:first] + INCLUDE + text[first:])
    return faults


# Several bugs at one place: the expressions differ only where `planted` stands, so they can be
# put behind each other by replacing the original once for each.
def combine(old: str, changes: list[tuple[str, str]]) -> str | None:
    if len(changes) == 1:
        name, new = changes[0]
        return with_call(new, name)
    start, end = old.find("if ("), old.rfind(") {")
    conditions = []
    for name, new in changes:
        begin = new.find("if (")
        condition = new[begin + 4 : new.rfind(") {")]
        if old[: start] != new[: begin] or old[end:] != new[new.rfind(") {") :]:
            return None
        conditions.append((name, with_call(condition, name)))
    chosen = old[start + 4 : end]
    for name, condition in conditions:
        chosen = f'(planted_bug("{name}") ? ({condition}) : ({chosen}))'
    return old[: start + 4] + chosen + old[end:]


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if len(sys.argv) == 2 else 2
    if sys.argv[1] == "--list":
        for name, sentence, _ in BUGS + BROKER_BUGS + MESH_BUGS:
            print(f"{name}\t{sentence}")
        return 0
    faults = plant(pathlib.Path(sys.argv[1]))
    for fault in faults:
        print(f"plant_bugs.py: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
