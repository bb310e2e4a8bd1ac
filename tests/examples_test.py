"""Runs the examples by the commands of their READMEs, and the guide by the commands of its pages.

usage: examples_test.py HOLDFAST
The ```sh blocks of a document are run line by line, in one shell, with holdfast on the PATH. A
comment "exit code N" documents the exit code of a line. The program in examples/order-fulfilment
is built against the package of the build folder that contains HOLDFAST.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from support.deadline import DEADLINE_S

HOLDFAST = pathlib.Path(sys.argv.pop(1)).resolve()
BUILD = HOLDFAST.parent.parent
ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
GUIDE = ROOT / "docs/guide"

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"[Ss]ave this as `([\w.-]+)`:\n\n$")
DOCUMENTED = re.compile(r"#.*exit code (\d+)")
MARK = "== exit code "
RUN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def environment():
    values = {name: value for name, value in os.environ.items()
              if not name.startswith("HOLDFAST_")}
    return {**values, "PATH": f"{HOLDFAST.parent}:{os.environ['PATH']}", "TZ": "UTC"}


def call(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True,
                          env=environment(), stdin=subprocess.DEVNULL, timeout=DEADLINE_S,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def blocks(document):
    """(language, text, name of the file to save it as) of each block."""
    text = document.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        name = FILE.search(text, 0, found.start())
        yield found[1], found[2], name[1] if name else None


def run_lines(script, folder):
    """Runs the lines in one shell; (line, exit code, output) of each."""
    lines = [line for line in script.splitlines() if line.strip() and not line.startswith("#")]
    program = "".join(f"{line}\nprintf '\\n{MARK}%d\\n' $?\n" for line in lines)
    done = subprocess.run(["bash", "-c", f"exec 2>&1\n{program}"], cwd=folder, env=environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          timeout=DEADLINE_S, check=True)
    output = re.split(rf"\n{MARK}(\d+)\n", done.stdout)
    return list(zip(lines, map(int, output[1::2]), output[:-1:2], strict=True))


class Documented(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def follow(self, document):
        """Saves the files and runs the commands of a document; line -> its last output."""
        self.assertTrue(document.exists(), document)
        script = ""
        for language, text, name in blocks(document):
            if name is not None:
                (self.folder / name).write_text(text, encoding="utf-8")
            elif language == "sh":
                script += text
            else:
                self.assertNotEqual(language, "yaml", f"{document}: a block without a file name")
        self.assertNotEqual(script, "")
        output = {}
        self.outputs = {}  # line -> output of each time it was run
        for line, code, text in run_lines(script, self.folder):
            documented = DOCUMENTED.search(line)
            self.assertEqual(code, int(documented[1]) if documented else 0,
                             f"{document}: {line}\n{text}")
            output[line.split("   #")[0]] = text
            self.outputs.setdefault(line.split("   #")[0], []).append(text)
        return output

    def holdfast(self, *arguments):
        return call(HOLDFAST, *arguments, cwd=self.folder)

    def json(self, *arguments):
        return json.loads(self.holdfast(*arguments, "--json"))

    def runs(self, *filters):
        return self.json("list", *filters)["runs"]

    def shown(self, run="latest"):
        return self.json("show", run)


class Example(Documented):
    def copy(self, name):
        shutil.copytree(EXAMPLES / name, self.folder, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.db*", "build"))
        return self.folder / "README.md"

    def attempts(self, run="latest"):
        """Step -> the status of its attempts, in order."""
        found = {}
        bars = self.json("timeline", run)["bars"]
        for bar in sorted(bars, key=lambda bar: bar["attempt"]):
            found.setdefault(bar["step"], []).append(bar["status"])
        return found


class Definitions(Documented):
    def test_every_workflow_of_the_examples_is_valid(self):
        # .sim.yaml: world files for holdfast simulate.
        files = sorted(file for file in EXAMPLES.glob("*/*.yaml")
                       if not file.name.endswith(".sim.yaml"))
        self.assertGreaterEqual(len(files), 5)
        output = self.holdfast("workflow", "check", *files)
        self.assertIn(f"all {len(files)} files are valid", output)

    def test_every_workflow_of_the_guide_is_valid(self):
        for page in GUIDE.glob("*.md"):
            for language, text, name in blocks(page):
                if language == "yaml":
                    (self.folder / name).write_text(text, encoding="utf-8")
                    self.holdfast("workflow", "check", name)

    def test_every_example_has_a_row_and_every_link_resolves(self):
        index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        for folder in EXAMPLES.iterdir():
            if folder.is_dir():
                self.assertIn(f"({folder.name}/README.md)", index)
        for document in [*EXAMPLES.glob("**/*.md"), *GUIDE.glob("*.md")]:
            for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
                self.assertTrue((document.parent / target).exists(), f"{document}: {target}")


class NewVersion(Example):
    def test_a_run_in_progress_migrates_and_a_replay_uses_the_newest_version(self):
        output = self.follow(self.copy("new-version"))
        refused = output["holdfast workflow register order_3.yaml --dry-run"]
        self.assertIn("[step_removed]", refused)
        self.assertIn("0 of 1 run in progress could migrate", refused)
        safe = output["holdfast workflow register order_2.yaml --dry-run"]
        self.assertIn("1 of 1 run in progress could migrate", safe)
        self.assertEqual([run["status"] for run in self.runs()], ["completed", "completed"])
        for run in self.runs():
            shown = self.shown(run["run_id"])
            self.assertEqual(shown["definition"]["version"], "2")
            self.assertIn("insure", [step["name"] for step in shown["steps"]])


class NightlyReport(Example):
    def test_the_report_is_started_manually_and_a_failed_shop_is_retried(self):
        output = self.follow(self.copy("nightly-report"))
        report = (self.folder / "reports/2026-11-16.txt").read_text(encoding="utf-8")
        self.assertEqual(output["cat reports/2026-11-16.txt"].strip(), report.strip())
        lines = report.splitlines()
        self.assertEqual((len(lines), lines[1].split(), lines[-1].split()),
                         (14, ["kettles", "west", "465"], ["total", "1695"]))
        run = self.shown()
        self.assertEqual(run["status"], "completed")
        self.assertEqual(run["result"],
                         {"file": "reports/2026-11-16.txt", "lines": 12, "total": 1695})
        attempts = self.attempts()
        self.assertEqual(attempts["collect[0]"], ["completed"])
        self.assertEqual(attempts["collect[1]"], ["failed", "failed", "completed"])

    def test_the_schedule_is_in_berlin_and_the_day_has_a_default(self):
        self.copy("nightly-report")
        self.holdfast("start", "report.yaml", "--trigger", "nightly")
        definition = self.holdfast("workflow", "show", "nightly-report", "--json")
        self.assertIn("30 2 * * *", definition)
        self.assertIn("Europe/Berlin", definition)
        self.holdfast("run", "report.yaml")
        self.assertRegex(self.shown()["context"]["day"], r"^\d{4}-\d\d-\d\d$")


class DocumentReview(Example):
    def test_a_document_is_rejected_resubmitted_and_approved(self):
        output = self.follow(self.copy("document-review"))
        self.assertIn("review", output["holdfast explain latest"])
        self.assertIn("holdfast approve", output["holdfast explain latest"])
        published = (self.folder / "published/handbook.json").read_text(encoding="utf-8")
        self.assertEqual(json.loads(published), {"approved_by": "bob", "document": "handbook",
                                                 "text": "How we work, and why"})
        self.assertTrue((self.folder / "published/lease.json").exists())
        self.assertFalse((self.folder / "published/letter.json").exists())

        ann = output["holdfast list --status paused --attribute author=ann"]
        cem = self.runs("--status", "paused", "--attribute", "author=cem")
        self.assertEqual(len(cem), 1)
        self.assertNotIn(cem[0]["run_id"][-8:], ann)
        states = [run["status"] for run in self.runs("--workflow", "document-review")]
        self.assertEqual(sorted(states), ["completed", "completed", "paused"])

        # The first run of the README.
        handbook = self.runs("--oldest-first", "--limit", "1")[0]["run_id"]
        run = self.shown(handbook)
        self.assertEqual(run["result"], {"approved_by": "bob", "file": "published/handbook.json"})
        steps = {step["name"]: step["status"] for step in run["steps"]}
        self.assertEqual((steps["review"], steps["review@2"]), ("failed", "completed"))

    def test_an_event_for_another_document_is_ignored_and_the_author_is_reminded(self):
        self.copy("document-review")
        file = self.folder / "review.yaml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("timeout: 3d", "timeout: 50ms"), encoding="utf-8")
        given = {"document": "note", "author": "ann", "text": "Hello"}
        run = self.holdfast("start", "review.yaml", "--input", json.dumps(given)).strip()
        self.holdfast("work", "--drain")
        self.holdfast("signal", run, "new_version", "--correlation", "other", "--data", "{}")
        self.holdfast("reject", run, "--actor", "bob")
        until = time.monotonic() + DEADLINE_S
        steps = {}
        while steps.get("remind") != "completed":
            self.assertLess(time.monotonic(), until)
            self.holdfast("work", "--drain")
            steps = {step["name"]: step["status"] for step in self.shown(run)["steps"]}
        self.assertNotIn("check@2", steps)


class ParkedPayment(Example):
    def test_a_parked_payment_is_retried_with_another_card_or_discarded(self):
        output = self.follow(self.copy("parked-payment"))
        explained = " ".join(output["holdfast explain latest"].split())
        self.assertIn("has parked step charge", explained)
        self.assertIn("holdfast retry", explained)
        self.assertIn("parked", output["holdfast list --status parked"])
        self.assertEqual(json.loads(output["cat receipt.json"])["payment"], {"charged": True})
        (key,) = output["cat charged.txt"].split()
        first, second = sorted(self.runs(), key=lambda run: run["listed_at"])
        self.assertEqual(key, first["run_id"] + ":charge:1", "one key for all attempts")
        self.assertEqual(self.attempts(first["run_id"])["charge"],
                         ["failed", "failed", "retried", "completed"])
        self.assertEqual((first["status"], second["status"]), ("completed", "completed"))
        steps = {step["name"]: step["status"] for step in self.shown()["steps"]}
        self.assertEqual((steps["charge"], steps["apologise"]), ("failed", "completed"))


class MediaPipeline(Example):
    def test_fifty_clips_are_created_and_lost_ones_are_retried(self):
        self.follow(self.copy("media-pipeline"))
        manifest = (self.folder / "out/manifest.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual([line.split()[0] for line in manifest],
                         [f"clip-{number:02}" for number in range(50)])
        readme = (EXAMPLES / "media-pipeline/README.md").read_text(encoding="utf-8")
        self.assertIn("\n".join(manifest[-2:]), readme)
        for line in manifest:
            clip, checksum, size, *_ = line.split()
            made = (self.folder / f"out/{clip}.sum").read_text(encoding="utf-8").split()
            self.assertEqual(made, [checksum, size])
        self.assertEqual(self.shown()["result"],
                         {"clips": 50, "file": "out/manifest.txt", "posters": 49})
        attempts = self.attempts()
        for number in range(50):
            expected = ["failed", "completed"] if number % 10 in (0, 7) else ["completed"]
            self.assertEqual(attempts[f"transcode[{number}]"], expected, number)
        self.assertEqual(attempts["poster[49]"], ["failed"])


class AgentLoop(Example):
    def test_the_agent_uses_tools_waits_for_the_user_and_answers(self):
        output = self.follow(self.copy("agent-loop"))
        self.assertIn("ask", output["holdfast explain $run"])
        bergen, rome = self.runs("--workflow", "agent", "--oldest-first")
        run = self.shown(bergen["run_id"])
        self.assertEqual(run["status"], "completed")
        self.assertEqual(run["result"]["answer"], "Bergen: rain. Take the new umbrella.")
        self.assertEqual([entry["wanted"] for entry in run["result"]["memory"]],
                         ["weather", "umbrella", "buy", "bought"])
        self.assertEqual(len(run["children"]), 3)
        self.assertEqual(len(list((self.folder / "bought").iterdir())), 1)
        weather = next(child["run_id"] for child in run["children"]
                       if child["step"] == "use_tool")
        self.assertEqual(self.attempts(weather)["use"], ["failed", "completed"])
        self.assertEqual(self.shown(rome["run_id"])["result"]["answer"],
                         "Rome: sun. Go as you are.")

    def test_without_an_answer_the_run_fails(self):
        self.copy("agent-loop")
        file = self.folder / "agent.yaml"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("timeout: 15m", "timeout: 1ms"), encoding="utf-8")
        done = subprocess.run(
            [HOLDFAST, "run", "agent.yaml", "--with", "tool.yaml", "--input",
             '{"city":"Bergen"}'], cwd=self.folder, env=environment(), capture_output=True,
            text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        (run,) = self.runs("--workflow", "agent")
        self.assertEqual(self.shown(run["run_id"])["error"]["code"], "failed_by_transition")


class Embedded(Example):
    """The programs: built once, against the installed package."""

    @classmethod
    def setUpClass(cls):
        built = tempfile.TemporaryDirectory()
        cls.addClassCleanup(built.cleanup)
        cls.built = pathlib.Path(built.name)
        call("cmake", "--install", BUILD, "--prefix", cls.built / "prefix", "--component", "embed")
        cls.build(EXAMPLES / "order-fulfilment")

    @classmethod
    def build(cls, source):
        cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
        compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)[1]
        folder = cls.built / source.name
        call("cmake", "-S", source, "-B", folder, "-G", "Ninja",
             f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={cls.built / 'prefix'}")
        call("cmake", "--build", folder)
        return folder

    def order(self, *arguments):
        return call(self.built / "order-fulfilment/order", *arguments, cwd=self.folder)

    def ledger(self):
        return (self.folder / "ledger.txt").read_text(encoding="utf-8").splitlines()

    def copy_to_folder(self):
        readme = self.copy("order-fulfilment")
        (self.folder / "build").mkdir()
        shutil.copy(self.built / "order-fulfilment/order", self.folder / "build/order")
        return readme

    def test_the_readme_of_the_order_example_works(self):
        readme = self.copy_to_folder()
        output = self.follow(readme)
        printed = readme.read_text(encoding="utf-8").split("The first command prints")[1]
        expected = FENCE.search(printed)[2]
        # The same line occurs twice; the output of the second is kept.
        self.assertEqual(output["build/order place 17 120 tea cups kettle"].strip(),
                         expected.strip().replace("new", "known"))
        self.assertIn("manager", output["holdfast explain latest"])
        words = [line.split()[0] for line in output["cat ledger.txt"].strip().splitlines()]
        self.assertEqual(sorted(words), ["charge", "ship", "ship", "ship"])
        self.assertEqual(output["grep -c recall ledger.txt"].strip(), "2")
        self.check_ledger(parcels=3 + 2 + 2 + 16)

    def check_ledger(self, parcels):
        """Every effect happened once; at most two were repeated, because of the kill."""
        lines = self.ledger()
        once = [line for line in lines if not line.endswith(" again")]
        self.assertEqual(len(once), len(set(once)))
        self.assertEqual(sum(line.startswith("ship ") for line in once), parcels)
        self.assertLessEqual(len(lines) - len(once), 2)

    def test_a_killed_order_resumes_and_repeats_no_effect(self):
        parcels = [f"p{number}" for number in range(12)]
        command = [self.built / "order-fulfilment/order", "place", "20", "99", *parcels]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL,
                              env={**environment(), "CARRIER_MS": "100"}) as program:
            until = time.monotonic() + DEADLINE_S
            file = self.folder / "ledger.txt"
            while not file.exists() or file.read_text(encoding="utf-8").count("ship") < 4:
                self.assertLess(time.monotonic(), until)
                self.assertIsNone(program.poll())
            program.kill()
        before = self.ledger()
        self.assertLess(len(before), 1 + len(parcels))
        output = self.order("place", "20", "99", *parcels)
        self.assertIn("known order 20", output)
        self.assertIn("order: completed", output)
        self.assertEqual(self.ledger()[:len(before)], before)
        self.check_ledger(parcels=len(parcels))
        self.assertEqual(sum(line.startswith("charge") for line in self.ledger()), 1)

    def test_large_orders_wait_and_a_failure_compensates_everything(self):
        output = self.order("place", "1", "5000", "tea", "cups")
        self.assertIn("manager: Order 1 costs 5000. Do we trust them?", output)
        self.assertIn("order: paused", output)
        self.assertIn("order: completed", self.order("approve", RUN_ID.search(output)[0], "ann"))

        run = RUN_ID.search(self.order("place", "2", "2000", "tea"))[0]
        program = self.built / "order-fulfilment/order"
        for arguments, error in [(["reject", run, "ann"], "failed_by_transition"),
                                 (["place", "3", "50", "tea", "anvil"], "too_heavy")]:
            done = subprocess.run([program, *arguments], cwd=self.folder, env=environment(),
                                  capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(f"error: {error}", done.stdout)
        words = [line.split()[0] for line in self.ledger()]
        self.assertEqual((words.count("charge"), words.count("refund")), (3, 2))
        self.assertEqual((words.count("ship"), words.count("recall")), (3, 1))

    def test_the_program_of_the_guide_runs(self):
        source = self.folder / "guide"
        source.mkdir()
        text = {language: text for language, text, _ in blocks(GUIDE / "embedding.md")}
        (source / "main.cc").write_text(text["cpp"], encoding="utf-8")
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n" + text["cmake"],
            encoding="utf-8")
        output = call(self.build(source) / "app", cwd=self.folder)
        self.assertIn(f"`{output.strip()}`", (GUIDE / "embedding.md").read_text(encoding="utf-8"))

    def test_the_unit_test_of_the_guide_passes(self):
        source = self.folder / "testing"
        source.mkdir()
        text = {language: text for language, text, _ in blocks(GUIDE / "testing.md")}
        (source / "main.cc").write_text(text["cpp"], encoding="utf-8")
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n" + text["cmake"],
            encoding="utf-8")
        output = call(self.build(source) / "app", cwd=self.folder)
        self.assertIn(f"`{output.strip()}`", (GUIDE / "testing.md").read_text(encoding="utf-8"))


class Guide(Documented):
    def test_a_first_workflow_retries_and_a_killed_run(self):
        output = self.follow(GUIDE / "README.md")
        hello = next(text for line, text in output.items() if line.startswith("holdfast run hello"))
        self.assertIn("good morning, Ann", hello)
        self.assertEqual(output["cat dough.txt"].split(), ["made"])
        counted = [json.loads(line)["item"]
                   for line in output["cat counted.txt"].splitlines() if line]
        self.assertEqual(sorted(set(counted)),
                         sorted(["one", "two", "three", "four", "five", "six"]))
        self.assertLessEqual(len(counted), 7)

    def test_people_and_events(self):
        output = self.follow(GUIDE / "people-and-events.md")
        self.assertEqual(json.loads(output["cat booked.json"])["decision"]["actor"], "bob")
        leave, parked, held = (" ".join(text.split())
                               for text in self.outputs["holdfast explain latest"])
        self.assertIn("holdfast circuit close bill charge --queue default", held)
        self.assertIn("May Ann be away for 5 days?", leave)
        self.assertIn("has parked step deliver", parked)
        (invoice,) = self.runs("--workflow", "invoice")
        self.assertEqual(self.shown(invoice["run_id"])["context"]["payment"], {"amount": 250})
        self.assertEqual(len(self.runs("--workflow", "deliver")), 3)
        (status,) = self.outputs["holdfast status"]
        self.assertRegex(status, "circuit open: step charge of bill, 1 failure, .*probe in")
        self.assertEqual([run["status"] for run in self.runs("--workflow", "bill")],
                         ["completed"] * 2)
        self.assertEqual({run["status"] for run in self.runs()}, {"completed"})

    def test_many_at_once(self):
        self.follow(GUIDE / "many-at-once.md")
        (parcels,) = self.runs("--workflow", "parcels")
        shipped = self.shown(parcels["run_id"])["result"]["shipped"]
        self.assertEqual([item["sent"]["parcel"] for item in shipped], ["tea", "cups", "kettle"])
        steps = {step["name"]: step["status"] for step in self.shown()["steps"]}
        self.assertEqual((steps["assess"], steps["sort_out"]), ("failed", "completed"))

    def test_inspecting(self):
        output = self.follow(GUIDE / "inspecting.md")
        for line, text in output.items():
            if line.endswith("--json"):
                json.loads(text)
        self.assertEqual(self.shown()["context"]["bread"], 1)

    def test_schedulers(self):
        page = GUIDE / "schedulers.md"
        self.follow(page)
        (answers,) = [texts for line, texts in self.outputs.items() if "schedules deliver" in line]
        (run, started), (same, existing) = [answer.split() for answer in answers]
        self.assertEqual((started, existing, same), ("started", "existing", run))
        self.assertEqual(self.shown(run)["context"]["report"], "written")
        crontab = re.search(r"^5 0 \* \* \* (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        typed = (crontab[1].replace("\\%", "%") + "\n") * 2
        (_, _, first), (_, _, second) = run_lines(typed, self.folder)
        self.assertEqual(first.split()[1], "started")
        # At midnight the two are of different windows.
        self.assertEqual(second.split()[1] == "existing", second.split()[0] == first.split()[0])

    def test_messages(self):
        output = self.follow(GUIDE / "messages.md")
        accepted = [text for line, text in output.items() if "--json @message.json" in line]
        self.assertTrue(json.loads(accepted[0])["duplicate"], accepted)  # of the second request
        (pushed,) = [text for line, text in output.items() if "message receive" in line]
        self.assertEqual(pushed.strip(), "ann topic:alerts disk-2: disk is empty")
        (received,) = [text for line, text in output.items() if "inbox tail" in line]
        self.assertEqual(received.strip(), "1 host-1 #alerts: the disk is empty")
        (history,) = [text for line, text in output.items() if "/v1/history" in line]
        self.assertEqual(history.count('"disk-1"'), 1, history)

    def test_every_page_is_tested(self):
        pages = {page.name for page in GUIDE.glob("*.md")}
        # servers.md by runs_server_test.py, backends.md by backend_test.py, growing-runs.md by the
        # example new-version
        self.assertEqual(pages, {"README.md", "people-and-events.md", "many-at-once.md",
                                 "inspecting.md", "embedding.md", "testing.md", "servers.md",
                                 "backends.md", "growing-runs.md", "messages.md",
                                 "schedulers.md"})


if __name__ == "__main__":
    unittest.main()
