#!/usr/bin/env python3
"""The output of commands on runs, as text and as JSON, compared with tests/golden/cli.

Run as: python3 tests/runs_golden_test.py path/to/holdfast [--update]
"""

import json
import pathlib

from support import cli, golden

SCHEMA = pathlib.Path(__file__).resolve().parent.parent / "schema/workflow.schema.json"
COMPAT = pathlib.Path(__file__).resolve().parent / "compat"


class GoldenTest(cli.RunsTest):
    def setUp(self):
        super().setUp()
        self.transcript = golden.Transcript()

    def say(self, *args, exit_code=0, **options):
        """Runs a command and records its output."""
        result = self.run_here(*args, **options)
        self.assertEqual(result.returncode, exit_code, (args, result.stdout, result.stderr))
        for line in result.stdout.splitlines():
            self.assertEqual(line, line.rstrip(), args)
        self.assertNotIn("\x1b", result.stdout)
        if "--json" in args:
            for line in result.stdout.splitlines():
                json.loads(line)
        self.transcript.add(args, result)
        return result.stdout

    def both(self, *args, exit_code=0):
        self.say(*args, exit_code=exit_code)
        said = self.say(*args, "--json", exit_code=exit_code)
        return json.loads(said.splitlines()[0])

    def look(self, run):
        for command in ("explain", "show", "graph", "timeline"):
            self.say(command, run)
        self.say("timeline", run, "--events")

    def look_json(self, run):
        for command in (["explain", run], ["show", run], ["graph", run, "--history"],
                        ["timeline", run]):
            self.say(*command, "--json")

    def check(self, name):
        self.transcript.check(self, name)


class States(GoldenTest):
    """A run in each state, shown by each command that inspects one."""

    def test_completed(self):
        self.say("run", "bread.yaml", "--input", '{"flour":2}')
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("diff", run, "--from", "r1")
        self.check("completed")

    def test_completed_json(self):
        self.say("run", "bread.yaml", "--json")
        run = self.runs()[0]["run_id"]
        self.look_json(run)
        self.say("diff", run, "--from", "r1", "--json")
        self.check("completed_json")

    def test_failed(self):
        self.say("run", "glass.yaml", exit_code=1)
        self.look(self.runs()[0]["run_id"])
        self.check("failed")

    def test_failed_json(self):
        self.say("run", "glass.yaml", "--json", exit_code=1)
        self.look_json(self.runs()[0]["run_id"])
        self.check("failed_json")

    def test_retry_later(self):
        self.say("run", "radio.yaml", "--until-blocked", exit_code=6)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("explain", run, "--json")
        self.check("retry_later")

    def test_waiting_for_a_worker(self):
        self.say("run", "craft.yaml", "--until-blocked", exit_code=6)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("explain", run, "--json")
        self.both("status")
        self.both("doctor")
        self.check("worker")

    def test_approval(self):
        self.say("run", "leave.yaml", "--until-blocked", "--input", '{"who":"Ann"}', exit_code=6)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("approve", run, "--actor", "bob", "--comment", "Enjoy.")
        self.say("work", "--drain")
        self.look(run)
        self.say("explain", run, "--at", "r1")
        self.check("approval")

    def test_approval_json(self):
        run = self.drained("leave.yaml", {"who": "Ann"})
        self.look_json(run)
        self.say("approve", run, "--actor", "bob", "--json")
        self.check("approval_json")

    def test_rejection(self):
        run = self.drained("leave.yaml", {"who": "Ann"})
        self.say("reject", run, "--actor", "bob", "--comment", "No.")
        self.look(run)
        other = self.drained("leave.yaml", {"who": "Cem"})
        self.say("reject", other, "--actor", "bob", "--json")
        self.check("rejection")

    def test_pause(self):
        self.say("run", "review.yaml", "--until-blocked", "--input", '{"what":"it"}', exit_code=6)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("explain", run, "--json")
        self.say("resume", run, "--actor", "ann", "--comment", "fine")
        self.say("work", "--drain")
        self.look(run)
        other = self.drained("review.yaml", {"what": "that"})
        self.say("resume", other, "--json")
        self.check("pause")

    def test_event(self):
        self.say("run", "invoice.yaml", "--until-blocked", "--input", '{"number":"n-7"}',
                 exit_code=6)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("explain", run, "--json")
        self.say("signal", run, "paid", "--correlation", "n-8", "--data", '{"amount":1}')
        self.say("signal", run, "paid", "--correlation", "n-7", "--data", '{"amount":2}', "--json")
        self.look(run)
        self.check("event")

    def test_sleeping(self):
        self.say("run", "nap.yaml", "--until-blocked", exit_code=6)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("explain", run, "--json")
        self.check("sleeping")

    def test_for_each(self):
        given = json.dumps({"things": ["tea", "anvil", "cup"]})
        self.say("run", "parcels.yaml", "--input", given)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("graph", run, "--json", "--history")
        self.say("diff", run, "--from", "r4")
        self.check("for_each")

    def test_child(self):
        self.say("run", "whole.yaml", "--with", "part.yaml", "--until-blocked", "--input",
                 '{"number":7}', exit_code=6)
        parent = self.runs("--workflow", "whole")[0]["run_id"]
        child = self.runs("--workflow", "part")[0]["run_id"]
        self.look(parent)
        self.look(child)
        self.say("explain", parent, "--json")
        self.say("doctor")
        self.say("approve", child, "--actor", "ann")
        self.say("work", "--drain")
        self.look(parent)
        self.check("child")

    def test_compensating(self):
        self.say("run", "journey.yaml", "--until-blocked", exit_code=6)
        run = self.runs()[0]["run_id"]
        self.look(run)
        self.say("explain", run, "--json")
        self.say("cancel", run, "--stop", "--actor", "ann")
        self.look(run)
        self.check("compensating")

    def test_replayed(self):
        run = self.drained("bread.yaml", {"flour": 1})
        self.say("replay", run, "--from-step", "bake", "--actor", "ann")
        again = self.runs()[0]["run_id"]
        self.say("work", "--drain")
        self.look(again)
        other = json.loads(self.say("replay", run, "--input", '{"flour":3}', "--json"))["run_id"]
        self.say("explain", other)
        rocket = self.drained("rocket.yaml")
        self.say("replay", rocket, exit_code=4)
        self.say("replay", rocket, "--allow-irreversible", "--json")
        self.check("replayed")

    def test_continued(self):
        self.ok("journal", "import", "sqlite:holdfast.db", str(COMPAT / "engine-2.jsonl"))
        run = self.runs("--status", "continued")[0]["run_id"]
        self.look(run)
        self.look_json(run)
        self.say("status")
        self.say("doctor", exit_code=1)
        self.check("continued")


class Cancelling(GoldenTest):
    def cancelled(self, *mode):
        self.write("hold.yaml", (cli.WORKFLOWS / "journey.yaml").read_text(encoding="utf-8")
                   .split("  - name: visa")[0] + "  - {name: hold, pause: true, after: flight}\n")
        return self.drained("hold.yaml")

    def test_each_mode(self):
        run = self.cancelled()
        self.say("cancel", run, "--actor", "ann", "--comment", "ordered twice")
        self.look(run)
        run = self.cancelled()
        self.say("cancel", run, "--compensate")
        self.look(run)
        run = self.cancelled()
        self.say("cancel", run, "--stop", "--json")
        self.check("cancelled")


class Lists(GoldenTest):
    def test_empty(self):
        self.ok("journal", "append", "sqlite:holdfast.db", "note:1", "noted")
        for command in (["list"], ["status"], ["doctor"], ["workflow", "list"]):
            self.both(*command)
        self.check("empty")

    def test_filters_pages_and_points(self):
        self.start("bread.yaml", {}, "--attribute", "customer=ann", "--attribute", "total=12")
        self.start("leave.yaml", {"who": "Ann"}, "--attribute", "customer=ann")
        self.start("glass.yaml", {}, "--attribute", "customer=bob")
        before = self.ok_json("status")["as_of"]["position"]
        self.ok("work", "--drain", "--quiet", "--threads", "1")
        self.both("list")
        for options in (["--oldest-first"], ["--workflow", "bread"], ["--status", "failed"],
                        ["--status", "failed", "--status", "paused"], ["--since", "1h"],
                        ["--until", "1h"], ["--since", "2026-01-01", "--until", "9999-01-01"],
                        ["--attribute", "customer=ann"], ["--archived"],
                        ["--attribute", "customer=ann", "--attribute", "total=12"],
                        ["--attribute", 'total="12"'], ["--workflow", "none"]):
            self.say("list", *options)
        self.at_a_point(before)
        page = self.both("list", "--limit", "2")
        page = self.both("list", "--limit", "2", "--cursor", page["next"])
        self.assertIsNone(page["next"])
        self.both("status")
        self.both("doctor")
        self.check("list")

    def at_a_point(self, position):
        """The state before any work; the position itself is not part of the golden file."""
        for command in ("list", "status", "doctor"):
            result = self.run_here(command, "--at", str(position))
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.transcript.add([command, "--at", "position N"], result)


class Drawings(GoldenTest):
    def test_graphs(self):
        self.say("graph", "parcels.yaml")
        self.both("graph", "journey.yaml")
        for file in ("journey.yaml", "parcels.yaml"):
            self.say("graph", file, "--dot")
            self.say("graph", file, "--mermaid")
        for workflow, given in (("journey.yaml", {}), ("parcels.yaml", {"things": ["anvil"]})):
            run = self.drained(workflow, given)
            self.say("graph", run, "--dot")
            self.say("graph", run, "--mermaid")
            self.say("graph", run, "--at", "r1")
        self.check("graphs")


class Executing(GoldenTest):
    def test_start_work_and_keys(self):
        self.say("start", "bread.yaml", "--input", '{"flour":1}', "--key", "monday")
        self.say("start", "bread", "--input", '{"flour":1}', "--key", "monday", "--json")
        self.say("run", "bread.yaml", "--input", '{"flour":1}', "--key", "monday")
        self.say("run", "bread.yaml", "--quiet")
        self.say("start", "glass.yaml", "--json")
        self.say("work", "--drain", "--json")
        self.say("start", "glass")
        self.say("work", "--drain", "--quiet")
        self.say("work", "--drain")
        self.check("executing")

    def test_a_message_is_printed_once(self):
        self.write("say.yaml", "workflow: say\nsteps:\n  - {name: say, log: 'hello {who}'}\n")
        said = self.ok("run", "say.yaml", "--input", '{"who":"Ann"}')
        self.assertEqual(said.count("hello Ann\n"), 1, said)
        # The worker prints the message of the log step that follows its step.
        self.write("late.yaml", "workflow: late\nsteps:\n  - {name: work, exec: ['true']}\n"
                   "  - {name: say, log: 'hello {who}', after: work}\n")
        self.start("late.yaml", {"who": "Bob"})
        said = self.ok("work", "--drain")
        self.assertRegex(said, r"(?m)^\S+Z  [0-9a-f]{12}  say: hello Bob$")


class Definitions(GoldenTest):
    def test_workflow(self):
        self.both("workflow", "check", "bread.yaml")
        self.write("bad.yaml", "workflow: bad\nsteps:\n  - {name: a, after: b}\n")
        self.both("workflow", "check", "bread.yaml", "bad.yaml", exit_code=2)
        self.start("bread.yaml")
        self.start("bread2.yaml")
        self.both("workflow", "list")
        for name in ("bread", "bread@1", "parcels.yaml"):
            self.both("workflow", "show", name)
        self.both("workflow", "diff", "bread@1", "bread@2")
        self.both("workflow", "diff", "bread", "bread2.yaml")
        self.check("workflow")

    def test_schema(self):
        self.assertEqual(self.ok("workflow", "schema"), SCHEMA.read_text(encoding="utf-8"))
        self.assertEqual(self.ok_json("workflow", "schema"), json.loads(SCHEMA.read_bytes()))


class Help(GoldenTest):
    def test_completion(self):
        self.say("completion", "bash")
        self.say("completion", "zsh")
        self.check("completion")

    def test_help(self):
        runs = ("run", "work", "start", "list", "show", "explain", "graph", "timeline", "diff",
                "status", "doctor", "cancel", "signal", "resume", "approve", "reject", "replay",
                "server", "worker", "backup", "restore", "queues", "workers", "schedules",
                "approvals", "completion")
        families = [["workflow"], *(["workflow", name] for name in
                                    ("check", "schema", "list", "show", "diff")),
                    ["token"], *(["token", name] for name in ("create", "list", "revoke"))]
        self.say("--help")
        for command in [*([name] for name in runs), *families]:
            self.say(*command, "--help")
        self.check("help")


if __name__ == "__main__":
    cli.main(__doc__)
