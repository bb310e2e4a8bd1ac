"""Runs the shell snippets of the documents, as a reader would type them, and checks that
docs/inspection.md and the source have the same names.

usage: docs_test.py HOLDFAST
A snippet runs line by line in an empty folder. Commands that need PostgreSQL use a file instead.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent
STAND_INS = {
    "$PWD/build/release/bin": os.path.dirname(HOLDFAST),
    "postgres://localhost/mydb": "sqlite:copy.db",
}
# Lines that a comment in the document marks as failing, with the documented exit code.
DOCUMENTED = re.compile(r"#.*exit code (\d)")
MARK = "== exit code "
VARYING = [(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "RUN"),
           (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "TIME"),
           (r"\d+(?:\.\d)? m?s\b", "DURATION"),
           (r"(?m)[█▒░][█▒░ ]*(?=  )", " ")]


def blocks(document, language):
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for name, block in found if name == language]


def snippets(document):
    return blocks(document, "sh")


def workflows(document):
    """The workflows of a document: name of the file -> text."""
    return {re.match(r"workflow: (\w+)", text)[1] + ".yaml": text
            for text in blocks(document, "yaml")}


def plain(text):
    """The words that do not vary between runs and terminal widths."""
    for pattern, stand_in in VARYING:
        text = re.sub(pattern, stand_in, text)
    return text.split()


def anchors(document):
    """The link targets of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def run_lines(script, folder):
    """Runs the lines in one shell; returns (line, exit code, output) for each."""
    lines = [line for line in script.splitlines() if line.strip() and not line.startswith("#")]
    program = "".join(f"{line}\nprintf '\\n{MARK}%d\\n' $?\n" for line in lines)
    done = subprocess.run(["bash", "-c", program], cwd=folder, check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={name: value for name, value in os.environ.items()
                               if not name.startswith("HOLDFAST_")})
    output = re.split(rf"\n{MARK}(\d+)\n", done.stdout)
    return list(zip(lines, map(int, output[1::2]), output[:-1:2], strict=True))


class Snippets(unittest.TestCase):
    def check(self, script, files):
        """Runs the script in a folder with the files; line -> output."""
        for name, stand_in in STAND_INS.items():
            script = script.replace(name, stand_in)
        output = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            for line, code, text in run_lines(script, folder):
                documented = DOCUMENTED.search(line)
                self.assertEqual(code, int(documented.group(1)) if documented else 0, line)
                output[line.split("   #")[0].strip()] = text
        return output

    def test_readme_commands_work_as_documented(self):
        _, *scripts = snippets("README.md")
        output = self.check("".join(scripts), workflows("README.md"))
        explained, timeline = blocks("README.md", "")[:2]
        self.assertEqual(plain(output["holdfast explain latest"]), plain(explained))
        self.assertEqual(plain(output["holdfast timeline latest"]), plain(timeline))

    def test_readme_shows_the_message_of_run_about_handlers(self):
        (line,) = [line for script in snippets("README.md") for line in script.splitlines()
                   if line.startswith("holdfast run order.yaml")]
        shown = blocks("README.md", "")[2]
        with tempfile.TemporaryDirectory() as folder:
            for name, text in workflows("README.md").items():
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            done = subprocess.run(["bash", "-c", line], cwd=folder, check=False, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  env={"PATH": os.path.dirname(HOLDFAST) + ":/usr/bin:/bin"})
        self.assertEqual((done.returncode, done.stderr), (6, shown))

    def test_scripts_in_the_readme_exist(self):
        scripts, *_ = snippets("README.md")
        for name in re.findall(r"^\./(\S+)", scripts, re.MULTILINE):
            self.assertTrue(os.access(ROOT / name, os.X_OK), name)

    def test_every_linked_document_and_heading_exists(self):
        for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
            links = re.findall(r"\]\(([^)#:]*)#?([^)#:]*)\)", document.read_text(encoding="utf-8"))
            for target, heading in links:
                page = document.parent / target if target else document
                self.assertTrue(page.exists(), f"{document}: {target}")
                if heading:
                    self.assertIn(heading, anchors(page), f"{document}: {target}#{heading}")


# Section of docs/inspection.md -> the sources that write its JSON, and the names in them that are
# read from data or belong elsewhere.
MOMENT = "src/runs/inspect/moment.cc"
VIEWS = {
    "Snapshot": (["src/runs/view/run_snapshot.cc", "src/runs/language/definition/step_policy.h"],
                 {"start_to_close_ms", "schedule_to_start_ms", "circuit_failures",
                  "circuit_probe_after_ms"}),
    "Explanation": (["src/runs/view/explanation.cc", "src/runs/lease_adapter/lease_adapters.cc"],
                    set()),
    "Graph": (["src/runs/view/run_graph.cc"], {"item"}),
    "Timeline": (["src/runs/view/timeline.cc"], set()),
    "List": (["src/runs/view/run_row.cc", "src/runs/inspect/run_list.cc", MOMENT],
             {"attributes", "before", "from", "statuses"}),
    "Status": (["src/runs/inspect/store_status.cc", MOMENT], set()),
    "Doctor": (["src/runs/inspect/doctor.cc", MOMENT], set()),
    "Diff": (["src/runs/inspect/inspector.cc", "src/runs/view/json_diff.cc", MOMENT], set()),
}
# member("a", key("a", optional("a", list("a", payload_member(json_, "a", write_moment(json, "a",
WRITTEN = re.compile(r"(?:member|key|optional|objects?|list|strings|write_\w+)\("
                     r"\s*(?:json_?,\s*)?\"(\w+)\"")
CODE = re.compile(r"`([a-z_]+)`")
# A table row about members: names and type.
MEMBER = re.compile(r"^\| (`[^|]*) \| (?:text|number|bool|list|object|time|id|JSON) \|",
                    re.MULTILINE)


def source(name):
    return (ROOT / name).read_text(encoding="utf-8")


def causes():
    return "".join(source(f"src/runs/view/{name}.cc")
                   for name in ("causes", "circuit_cause", "dead_letter_cause"))


def enum_names(header, enum):
    """Of HOLDFAST_ENUM(enum, a, b), or of a list of its own: kEnumNames<enum>[] = {"a", "b"}."""
    return set(re.findall(r"\w+", re.search(
        rf"(?:HOLDFAST_ENUM\({enum},|kEnumNames<{enum}>\[\] = \{{)(.*?)[)}}]",
        re.sub("//.*", "", source(header)), re.DOTALL)[1]))


class Inspection(unittest.TestCase):
    """What programs rely on: names of members, and the values of enumerations."""

    def section(self, heading, level="##"):
        page = source("docs/inspection.md")
        found = re.search(rf"^{level} {heading}\n(.*?)(?=^#{{2,{len(level)}}} |\Z)", page,
                          re.DOTALL | re.MULTILINE)
        self.assertIsNotNone(found, heading)
        return found[1]

    def words(self, heading):
        """The first column of the table of a sub-section."""
        rows = re.findall(r"^\| (`.*?) \|", self.section(heading, "###"), re.MULTILINE)
        return {word for row in rows for word in CODE.findall(row)} - {"waits_for"}

    def test_members_in_the_document_and_in_the_source_are_the_same(self):
        for heading, (files, read) in VIEWS.items():
            written = {name for file in files for name in WRITTEN.findall(source(file))} - read
            text = self.section(heading)
            named = set(CODE.findall(text))
            self.assertEqual(written - named, set(), f"{heading}: not in docs/inspection.md")
            columns = {name for row in MEMBER.findall(text) for name in CODE.findall(row)}
            self.assertEqual(columns - written, set(), f"{heading}: not in the source")

    def test_reasons(self):
        reasons = enum_names("src/runs/view/explanation.h", "Reason")
        self.assertEqual(self.words("Reasons"), reasons)
        listed = re.findall(r"^\| `(\w+)`", self.section("Reasons", "###"), re.MULTILINE)
        counted = re.search(r"HOLDFAST_ENUM\(Reason,(.*?)\)",
                            source("src/runs/view/explanation.h"),
                            re.DOTALL)[1]
        self.assertEqual(listed, re.findall(r"\w+", counted), "the order is the precedence")

    def test_next_actions(self):
        # Every string with an underscore is an action, except these.
        others = {"event_wait", "circuit_breaker"}
        actions = set(re.findall(r'"([a-z]+(?:_[a-z]+)+)"', causes())) - others
        self.assertEqual(self.words("Next actions"), actions)

    def test_what_causes_wait_for(self):
        output = re.findall(r"waits_for =(.*?);", causes(), re.DOTALL)
        words = {word for text in output for word in re.findall(r'"(\w+)"', text)}
        words |= enum_names("src/runs/run/run_facts.h", "ManualKind")
        self.assertEqual(self.words("What a cause waits for"), words)

    def test_event_types(self):
        text = source("src/runs/view/timeline_events.cc")
        types = set(re.findall(r'\badd(?:_of|_at)?\(\s*"(\w+)"', text))
        for first, second in re.findall(r'\badd_of\([^"]*\? "(\w+)" : "(\w+)"', text):
            types |= {first, second}
        self.assertEqual(self.words("Event types"), types)

    def test_doctor_checks(self):
        text = source("src/runs/inspect/doctor.cc")
        checks = dict(re.findall(r'check\("(\w+)",.*?Verdict::(\w+)\)', text, re.DOTALL))
        rows = re.findall(r"^\| `(\w+)` \| .* \| (\w+) \|$", self.section("Checks", "###"),
                          re.MULTILINE)
        self.assertEqual(dict(rows), checks)

    def test_status_values(self):
        for section, header, enum in [
                ("Snapshot", "src/runs/run/run_projection.h", "RunStatus"),
                ("Snapshot", "src/runs/dispatch/attempt.h", "AttemptStatus"),
                ("Snapshot", "src/runs/run/run_facts.h", "SignalType"),
                ("Snapshot", "src/runs/view/step_state.h", "StepStatus"),
                ("Snapshot", "src/runs/view/deadline.h", "Urgency"),
                ("Graph", "src/runs/language/definition/definition.h", "StepKind"),
                ("Doctor", "src/runs/inspect/doctor.h", "Check::Verdict"),
                ("Diff", "src/runs/view/json_diff.h", "JsonChange::Kind")]:
            missing = enum_names(header, enum) - set(CODE.findall(self.section(section)))
            self.assertEqual(missing, set(), f"{section}: {enum}")

    def test_secret_keys(self):
        keys = re.search(r"kSecretKeys\{(.*?)\}", source("src/runs/run/redact.cc"), re.DOTALL)[1]
        missing = set(re.findall(r'"(\w+)"', keys)) - set(
            CODE.findall(self.section("What is not shown")))
        self.assertEqual(missing, set())


if __name__ == "__main__":
    unittest.main()
