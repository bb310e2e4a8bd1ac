"""Golden files of the command line: the output of commands, with varying parts replaced by names.

A golden file is a transcript: `$ holdfast ...`, the output, and `[exit N]` if the exit code is not
0. RULES, applied in order, replace what varies, and ids are numbered in the order of their
appearance, so that equal ids stay equal. JSON is laid out with one value per line.

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
    # a time: 2026-11-16T14:02:00.000Z; 14:02:00.000 or 14:02:00; 11-16 14:02 of another day
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
    (r"\b\d\d:\d\d:\d\d(?:\.\d{3})?\b|\b\d\d-\d\d \d\d:\d\d\b", "CLOCK"),
    # durations
    (rf"^ +(?=\+{DURATION})", ""),
    (DURATION, "DURATION"),
    (r'("duration_ms": ?)\d+', r"\1MS"),
    # workers: HOST-PROCESS-RANDOM
    (r"\b[\w.]+(?:-[\w.]+)*-\d+-[\w-]{8}(?![\w-])", "OWNER"),
    # the contents of a truncated JSON text
    (r'"claim_id":"[\w-]{22}"', '"claim_id":"CLAIM"'),
    (r'"owner_id":"[^"\s]*\.\.$', '"owner_id":"OWNER..'),
    (r"\b1\d{12}\b", "TIME"),
    # several commands may share a commit, so positions vary
    (r"\b(position) \d+\b", r"\1 N"),
    (r"(log_position: )\d+ -> \d+", r"\1N -> N"),
    # bars of a timeline, whose length is time, and the scale above them
    (r"(?<=\S)  +[█▒░][█▒░ ]*  (?=\S)", "  BAR  "),
    # line breaks of a sentence depend on the length of a duration
    (r"^(run RUN-\d+ \(.*)\n  (?=\S)", r"\1 "),
    (r"^(It .*[^.\n])\n(?=\S)", r"\1 "),
    (r"(?<=\S)\n {50}(?=\S)", " "),
    # the width of columns depends on their contents
    (r"(?<=\S)   +(?=\S)", "  "),
]
RULES = [(re.compile(pattern, re.MULTILINE), replacement) for pattern, replacement in RULES]

# Members of JSON whose values vary.
VARYING = {"claim_id": "CLAIM", "owner_id": "OWNER", "owner": "OWNER", "duration_ms": "MS",
           "position": "N", "log_position": "N", "took_ms": "MS", "start": "N", "head": "N"}
FIRST_TIME_MS = 10**12


class Names:
    """Replaces ids by RUN-1, RUN-2 and so on, and the end of an id alone by END-1."""

    def __init__(self):
        self.known = {}

    def number(self, end):
        return self.known.setdefault(end, len(self.known) + 1)

    def text(self, text):
        text = re.sub(UUID, lambda found: f"RUN-{self.number(found[1])}", text)
        # `work` names the run of a line by the end of its id
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
    """JSON with one value per line, except where several values fit on a line."""
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
    """The output of commands, to be compared with a golden file."""

    def __init__(self):
        self.names = Names()
        self.parts = []

    def add(self, args, result):
        """args: as typed; result: of subprocess.run."""
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
        """Fails with the differences, or writes the file with --update."""
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
            test.fail(f"{file} differs; if the new output is right, run with --update\n{different}")


def quoted(word):
    word = str(word)
    return word if re.fullmatch(r"[\w./:=@+-]+", word) else f"'{word}'"
