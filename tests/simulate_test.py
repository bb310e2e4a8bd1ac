#!/usr/bin/env python3
"""`holdfast simulate FILE`: planted bugs are found, printed and reproduced, corrected workflows
pass, invalid world files are refused with line numbers, --real executes programs.

Run as: python3 tests/simulate_test.py path/to/holdfast
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from support.deadline import DEADLINE_S

HOLDFAST = ""
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples/simulate"
SEEDS = "300"
BROKEN = re.compile(r"broken at event (\d+), trace ([0-9a-f]{16})")

TWO_STEPS = """workflow: two
steps:
  - name: ask
    approval: true
  - name: work
    after: ask
"""


class SimulateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast_simulate_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def simulate(self, *args, cwd=None):
        return subprocess.run([HOLDFAST, "simulate", *map(str, args)], cwd=cwd or self.folder,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE_S, check=False)

    def json(self, *args, cwd=None):
        done = self.simulate(*args, "--json", cwd=cwd)
        return done.returncode, json.loads(done.stdout)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def world(self, text, workflow=TWO_STEPS):
        """Simulates a workflow in a world with this text; returns the exit code and the report."""
        self.write("flow.yaml", workflow)
        self.write("flow.sim.yaml", text)
        return self.json("flow.yaml", "--seeds", 40)

    # Planted bugs

    def repeats(self, failed, cwd=None):
        """The printed command repeats the same simulation."""
        words = shlex.split(failed["again"])
        self.assertEqual(words[:2], ["holdfast", "simulate"])
        again = self.simulate(*words[2:], cwd=cwd)
        self.assertEqual(again.returncode, 1, again.stdout)
        event, trace = BROKEN.search(again.stdout).groups()
        self.assertEqual((int(event), trace), (failed["event"], failed["trace"]))
        self.assertIn(failed["invariant"], again.stdout)

    def found_and_repeated(self, name, invariant, words):
        code, report = self.json(f"{name}.yaml", "--seeds", SEEDS, cwd=EXAMPLES)
        self.assertEqual(code, 1, report)
        failed = report["failed"]
        self.assertEqual(failed["invariant"], invariant)
        story = "\n".join(line["what"] for line in failed["story"])
        for word in words:
            self.assertIn(word, story)
        for _ in range(2):
            self.repeats(failed, EXAMPLES)

    def test_a_payment_without_a_refund_is_found(self):
        self.found_and_repeated("order", "no money is kept for nothing",
                                ["no_answer", "but the effect happened", "tell_customer is done",
                                 "ends as failed"])

    def test_a_confirmation_without_payment_is_found(self):
        self.found_and_repeated("booking", "confirm only after payment",
                                ["event paid did not arrive in time", "confirm is done"])

    def test_corrected_workflows_pass(self):
        for name in ("order", "booking"):
            done = self.simulate(f"{name}_fixed.yaml", "--world", f"{name}.sim.yaml", "--seeds",
                                 SEEDS, cwd=EXAMPLES)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("no invariant and no guarantee was broken", done.stdout)
            self.assertNotIn("not covered", done.stdout)

    def test_text_and_json_have_the_same_content(self):
        done = self.simulate("booking.yaml", "--seeds", SEEDS, cwd=EXAMPLES)
        code, report = self.json("booking.yaml", "--seeds", SEEDS, cwd=EXAMPLES)
        self.assertEqual((done.returncode, code), (1, 1))
        self.assertIn(f"repeat: {report['failed']['again']}\n", done.stdout)
        self.assertIn(f"simulations  {report['simulations']}\n", done.stdout)
        self.assertIn(f"trace        {report['trace']}\n", done.stdout)
        for line in report["failed"]["story"]:
            self.assertIn(line["what"], done.stdout)

    # Invariants

    def broken(self, world, workflow=TWO_STEPS):
        code, report = self.world(world, workflow)
        self.assertEqual(code, 1, report)
        return report["failed"]

    def test_each_invariant_can_be_broken(self):
        fails = "handlers: {work: {error: no}}\n"
        for world, said in [
                ("invariants: [{never: work}]", "work was done"),
                ("invariants: [{never: work, as: executed}]", "work was executed"),
                ("invariants: [{step: work, at_most: 0}]", "work was done 1 time"),
                ("invariants: [{step: work, at_least: 2}]",
                 "work was done 1 time (the run ended as"),
                ("invariants: [{step: ask, needs: work}]", "without work before it"),
                ("invariants: [{step: work, followed_by: ask}]", "without ask after it"),
                ("invariants: [{never_both: [ask, work]}]", "work was done, and ask was done too"),
                (fails + "invariants: [{ends: completed}]", "the run ended as failed"),
                ("invariants: [{ends_within: 1ms}]", "the run ended after"),
                (fails + "invariants: [{at_end: {path: run.status, equals: completed}}]",
                 '"status":"failed"')]:
            with self.subTest(world):
                self.assertIn(said, self.broken(world)["what"])

    def test_invariants_hold_where_they_should(self):
        code, report = self.world(
            "handlers: {work: [{error: no}, {ok: {n: 1}}]}\n"
            "invariants:\n"
            "  - {step: work, needs: ask}\n"
            "  - {step: ask, followed_by: work, if_run: completed}\n"
            "  - {step: work, at_most: 1}\n"
            "  - {never: work, if_run: failed}\n"
            "  - {at_end: {path: n, equals: 1}, when: {path: run.status, equals: completed}}\n"
            "  - {ends: [completed, failed]}\n")
        self.assertEqual(code, 0, report)
        self.assertEqual([met for met in report["never_met"] if met["kind"] != "decision"], [])

    def test_retries_count_once_if_the_handler_is_idempotent(self):
        workflow = TWO_STEPS + "    retry: {max_attempts: 3, delay: 1s}\n"
        world = ("handlers: {work: {outcomes: [{error: no_answer, done: true, retryable: true},"
                 " {ok: {}}]%s}}\ninvariants: [{step: work, at_most: 1, as: executed}]\n")
        failed = self.broken(world % "", workflow)
        self.assertIn("work was executed 2 times", failed["what"])
        code, report = self.world(world % ", idempotent: true", workflow)
        self.assertEqual(code, 0, report)

    def test_a_handler_can_be_executed_twice_and_counts_once_if_it_is_idempotent(self):
        world = "invariants: [{step: work, at_most: 1, as: executed}]\n"
        failed = self.broken("handlers: {work: {ok: {}}}\n" + world)
        self.assertIn("work was executed 2 times", failed["what"])
        self.assertTrue(any("for the 2nd time" in line["what"] for line in failed["story"]))
        # It takes faults, here of several kinds.
        kinds = set()
        for seed in range(1, 200, 20):
            code, report = self.json("flow.yaml", "--seed", seed, "--seeds", 40)
            self.assertEqual(code, 1, report)
            self.repeats(report["failed"])
            kinds |= set(re.search(r"--faults (\S+)", report["failed"]["again"])[1].split(","))
        self.assertGreaterEqual(len(kinds - {"none"}), 2, kinds)
        code, report = self.world("handlers: {work: {ok: {}, idempotent: true}}\n" + world)
        self.assertEqual(code, 0, report)

    def test_compensation_that_fails_is_found(self):
        workflow = ("workflow: back\nsteps:\n  - {name: take, compensate: give}\n"
                    "  - {name: use, after: take}\n")
        use = "handlers: {use: {error: no}, take: {ok: {}, idempotent: true}, give: %s}\n"
        rule = "invariants: [{compensated: true}]"
        failed = self.broken(use % "{error: no}" + rule, workflow)
        self.assertIn("take was done without compensate:take after it", failed["what"])
        code, report = self.world(use % "{ok: {}}" + rule, workflow)
        self.assertEqual(code, 0, report)

    # Runs that cannot end

    def test_a_run_without_a_decision_is_reported_and_may_be_allowed(self):
        failed = self.broken("decisions: {ask: never}")
        self.assertEqual(failed["invariant"], "every run ends")
        self.assertIn("waits for approval ask", failed["what"])
        code, report = self.world("decisions: {ask: never}\nmay_wait: true")
        self.assertEqual(code, 0, report)
        self.assertIn({"kind": "step", "name": "work"}, report["never_met"])

    def test_a_handler_that_hangs_needs_a_timeout(self):
        failed = self.broken("handlers: {work: {never: true}}")
        self.assertIn("its handler never returns", failed["what"])
        timeout = TWO_STEPS + "    timeout: 30s\n"
        code, report = self.world("handlers: {work: {never: true}}", timeout)
        self.assertEqual(code, 0, report)
        self.assertIn({"kind": "end", "name": "completed"}, report["never_met"])

    # Coverage

    def test_uncovered_parts_are_listed(self):
        workflow = ("workflow: ways\nsteps: [{name: a}, {name: b}, {name: c}]\ntransitions:\n"
                    "  - {from: a, to: b, when: {path: n, greater: 1}}\n"
                    "  - {from: a, to: complete}\n"
                    "  - {from: a, on: error, to: c}\n")
        code, report = self.world("handlers: {a: [{ok: {n: 1}}, {ok: {n: 2}, weight: 0}]}",
                                  workflow)
        self.assertEqual(code, 0, report)
        never = {(met["kind"], met["name"]) for met in report["never_met"]}
        self.assertEqual(never, {
            ("step", "b"), ("step", "c"), ("end", "failed"),
            ("transition", 'a -> b when {"greater":1,"path":"n"}'),
            ("transition", "a -> c on error"), ("outcome", "handlers.a[1] ok")})
        done = self.simulate("flow.yaml", "--seeds", 40)
        self.assertIn("not covered  transition a -> c on error\n", done.stdout)
        met = {(met["kind"], met["name"]): met["times"] for met in report["met"]}
        self.assertGreaterEqual(met["transition", "a -> complete"], 40)

    # Children, events, programs

    def test_children_come_from_other_files(self):
        self.write("parent.yaml", "workflow: parent\nsteps: [{name: go, child: inner}]\n")
        self.write("inner.yaml", "workflow: inner\nsteps: [{name: wait, await_event: ready}]\n")
        done = self.simulate("parent.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("starts workflow inner: name its file with --with", done.stderr)
        code, report = self.json("parent.yaml", "--with", "inner.yaml", "--seeds", 30)
        self.assertEqual(code, 0, report)
        self.assertIn("inner: wait receives ready",
                      {met["name"] for met in report["met"] if met["kind"] == "event"})

    def test_programs_are_executed_only_when_requested(self):
        self.write("real.yaml", "workflow: real\nsteps:\n  - name: note\n    exec: [sh, -c, "
                   "'echo \"$HOLDFAST_STEP\" >> log; echo \"{\\\"said\\\":\\\"hello\\\"}\"']\n")
        self.write("real.sim.yaml", "steps: {note: {ok: {said: no}, takes: 1s}}\n"
                   "invariants: [{at_end: {path: said, equals: hello}}]\n")
        code, _ = self.json("real.yaml", "--seeds", 5)
        self.assertEqual((code, (self.folder / "log").exists()), (1, False))
        code, report = self.json("real.yaml", "--seeds", 5, "--real")
        self.assertEqual(code, 0, report)
        lines = (self.folder / "log").read_text(encoding="utf-8").splitlines()
        self.assertGreaterEqual(len(lines), 5)
        self.assertEqual(set(lines), {"note"})

    def test_without_a_world_file_every_step_succeeds(self):
        self.write("flow.yaml", TWO_STEPS)
        code, report = self.json("flow.yaml", "--seeds", 30, "--faults", "none")
        self.assertEqual((code, report["simulations"]), (0, 30))
        self.assertIn({"kind": "decision", "name": "ask rejected"}, report["never_met"])

    # Documents

    def test_the_commands_of_the_documents_exit_as_documented(self):
        root = EXAMPLES.parent.parent
        lines = []
        for document in (root / "docs/simulate.md", EXAMPLES / "README.md"):
            for block in re.findall(r"^```sh\n(.*?)^```$", document.read_text(encoding="utf-8"),
                                    re.DOTALL | re.MULTILINE):
                lines += block.splitlines()
        self.assertGreater(len(lines), 6)
        for line in lines:
            with self.subTest(line):
                promised = re.search(r"# exit code (\d)", line)
                words = shlex.split(line, comments=True)
                self.assertEqual(words[:2], ["holdfast", "simulate"])
                done = self.simulate(*words[2:], cwd=EXAMPLES)
                self.assertEqual(done.returncode, int(promised[1]) if promised else 0, done.stdout)

    def test_the_world_file_of_the_guide_is_the_one_of_the_example(self):
        guide = (EXAMPLES.parent.parent / "docs/simulate.md").read_text(encoding="utf-8")
        shown = re.search(r"^```yaml\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)[1]
        there = (EXAMPLES / "booking.sim.yaml").read_text(encoding="utf-8")
        self.assertEqual(there.split("\n", 1)[1], shown)

    # Refusals

    def test_every_fault_of_a_world_file_is_reported_with_its_line(self):
        self.write("flow.yaml", TWO_STEPS)
        self.write("flow.sim.yaml", "runs: {count: 0}\n"
                   "handlers:\n"
                   "  wrok: {ok: {}}\n"
                   "decisions: {ask: perhaps}\n"
                   "events: [{event: paid}]\n"
                   "invariants:\n"
                   "  - {never: wok}\n"
                   "  - {step: work, at_most: 1, at_least: 1}\n"
                   "may_wat: true\n")
        done = self.simulate("flow.yaml")
        self.assertEqual(done.returncode, 2)
        places = re.findall(r"^flow.sim.yaml:(\d+):(\d+): ", done.stdout, re.MULTILINE)
        self.assertEqual([int(line) for line, _ in places], [1, 3, 4, 5, 7, 8, 9])
        self.assertIn('did you mean "work"?', done.stdout)
        self.assertIn('did you mean "may_wait"?', done.stdout)
        self.assertIn("flow.sim.yaml is not valid: 7 faults", done.stderr)
        code, report = self.json("flow.yaml")
        self.assertEqual(code, 2)
        errors = json.loads(report["error"]["fields"]["errors"])
        self.assertEqual([error["line"] for error in errors], [1, 3, 4, 5, 7, 8, 9])

    def test_invalid_input_is_reported_before_anything_happens(self):
        workflow = ("workflow: strict\ntriggers: [{name: by_hand, payload: {n: integer}}]\n"
                    "steps: [{name: a}]\n")
        self.write("flow.yaml", workflow)
        self.write("flow.sim.yaml", "runs:\n  inputs:\n    - {n: 1}\n    - {n: one}\n")
        done = self.simulate("flow.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stdout, r"^flow.sim.yaml:4:\d+: runs.inputs\[1\]: .*must be integer")

    def test_without_inputs_valid_ones_are_generated(self):
        workflow = ("workflow: strict\ntriggers: [{name: by_hand, payload: {n: integer, s: string, "
                    "m: map, l: list, b: boolean, f: float, a: atom, x: any}}]\n"
                    "steps: [{name: s}]\n")
        code, report = self.world("{}", workflow)
        self.assertEqual(code, 0, report)

    def test_bad_files_and_options_are_refused(self):
        self.write("flow.yaml", TWO_STEPS)
        self.write("bad.yaml", "workflow: bad\n")
        self.write("torn.sim.yaml", "runs: {count\n")
        for args in (["nowhere.yaml"], ["bad.yaml"], ["flow.yaml", "--world", "nowhere.yaml"],
                     ["flow.yaml", "--world", "torn.sim.yaml"], ["flow.yaml", "--faults", "rain"],
                     ["flow.yaml", "--faults", "crash,foreign"],
                     ["flow.yaml", "--faults", "backend"],
                     ["flow.yaml", "--story"], ["flow.yaml", "--only", "x"], ["--real"]):
            with self.subTest(args):
                done = self.simulate(*args)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    HOLDFAST = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
