"""Golden files of the command line: what commands print, with what differs each time named.

A golden file is a transcript: `$ holdfast ...`, what it printed, `[exit N]` when that is not 0.
What differs each time is replaced by RULES, in their order, and ids are numbered in the order of
their appearance, so that equal ids stay equal. JSON is laid out one value per line.

    python3 tests/runs_golden_test.py build/release/bin/holdfast --update     rewrites them
"""

import difflib
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden/cli"
UPDATE = "--update" in sys.argv
if UPDATE:
    sys.argv.remove("--update")

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-([0-9a-f]{12})"
DURATION = r"\d+(?:\.\d)? (?:ms|s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?"

RULES = [
    # a moment: 2026-11-16T14:02:00.000Z; 14:02:00.000 or 14:02:00; 11-16 14:02 of another day
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (r"\b\d\d:\d\d:\d\d(?:\.\d{3})?\b|\b\d\d-\d\d \d\d:\d\d\b", "CLOCK"),
    # how long something takes
    (rf"^ +(?=\+{DURATION})", ""),
    (DURATION, "DURATION"),
    (r'("duration_ms": ?)\d+', r"\1MS"),
    # who works: HOST-PROCESS-RANDOM
    (r"\b[\w.]+(?:-[\w.]+)*-\d+-[\w-]{8}(?![\w-])", "OWNER"),
    # what is inside of a JSON text that is cut off
    (r'"claim_id":"[\w-]{22}"', '"claim_id":"CLAIM"'),
    (r'"owner_id":"[^"\s]*\.\.$', '"owner_id":"OWNER..'),
    (r"\b1\d{12}\b", "TIME"),
    # several commands may share a commit, so positions differ
    (r"\b(position) \d+\b", r"\1 N"),
    (r"(log_position: )\d+ -> \d+", r"\1N -> N"),
    # bars of a timeline, whose length is time, and the scale above them
    (r"(?<=\S)  +[█▒░][█▒░ ]*  (?=\S)", "  BAR  "),
    # where a sentence is broken depends on how long a duration is
    (r"^(run RUN-\d+ \(.*)\n  (?=\S)", r"\1 "),
    (r"^(It .*[^.\n])\n(?=\S)", r"\1 "),
    (r"(?<=\S)\n {50}(?=\S)", " "),
    # columns are as wide as what is in them
    (r"(?<=\S)   +(?=\S)", "  "),
]
RULES = [(re.compile(pattern, re.MULTILINE), replacement) for pattern, replacement in RULES]

# Members of JSON whose values differ each time.
VARYING = {"claim_id": "CLAIM", "owner_id": "OWNER", "owner": "OWNER", "duration_ms": "MS",
           "position": "N", "log_position": "N", "took_ms": "MS", "start": "N", "head": "N"}
FIRST_TIME_MS = 10**12


class Names:
    """Ids to RUN-1, RUN-2 and so on; the end of an id alone to END-1."""

    def __init__(self):
        self.known = {}

    def number(self, end):
        return self.known.setdefault(end, len(self.known) + 1)

    def text(self, text):
        text = re.sub(UUID, lambda found: f"RUN-{self.number(found[1])}", text)
        # `work` says which run a line is about by the end of its id
        text = re.sub(r"(?m)^(\S+Z  )([0-9a-f]{12})(?=  )",
                      lambda found: f"{found[1]}END-{self.number(found[2])}", text)
        for pattern, replacement in RULES:
            text = pattern.sub(replacement, text)
        return text

    def value(self, value, name=""):
        if name in VARYING and not isinstance(value, (dict, list, type(None))):
            return VARYING[name]
        if isinstance(value, dict):
            return {self.text(key): self.value(member, key) for key, member in value.items()}
        if isinstance(value, list):
            return [self.value(member) for member in value]
        if isinstance(value, str):
            return self.text(value)
        return "TIME" if type(value) is int and value >= FIRST_TIME_MS else value


def laid_out(value, indent="", width=96):
    """JSON with a line for each value, but what fits on a line stays on it."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(flat) <= width or not isinstance(value, (dict, list)) or not value:
        return flat
    deeper = indent + " "
    if isinstance(value, list):
        lines = [deeper + laid_out(member, deeper, width) for member in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    lines = [f"{deeper}{json.dumps(key, ensure_ascii=False)}: {laid_out(member, deeper, width)}"
             for key, member in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


class Transcript:
    """What commands printed, to be compared with a golden file."""

    def __init__(self):
        self.names = Names()
        self.parts = []

    def add(self, args, result):
        """args: as they were typed; result: of subprocess.run."""
        if "--json" in args:
            lines = [laid_out(self.names.value(json.loads(line)))
                     for line in result.stdout.splitlines()]
            printed = "".join(line + "\n" for line in lines)
        else:
            printed = self.names.text(result.stdout)
        command = self.names.text(" ".join(["holdfast", *map(quoted, args)]))
        ending = f"[exit {result.returncode}]\n" if result.returncode != 0 else ""
        self.parts.append(f"$ {command}\n{printed}{self.names.text(result.stderr)}{ending}")

    def text(self):
        return "\n".join(self.parts)

    def check(self, test, name):
        """Fails with what is different, or writes the file on request."""
        file = FOLDER / f"{name}.txt"
        if UPDATE:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text(), encoding="utf-8")
            return
        expected = file.read_text(encoding="utf-8") if file.exists() else ""
        different = "".join(difflib.unified_diff(
            expected.splitlines(keepends=True), self.text().splitlines(keepends=True),
            f"{file.name} (golden)", "what was printed"))
        if different:
            test.fail(f"{file} differs; if it is right now, run with --update\n{different}")


def quoted(word):
    word = str(word)
    return word if re.fullmatch(r"[\w./:=@+-]+", word) else f"'{word}'"
