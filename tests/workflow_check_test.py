#!/usr/bin/env python3
"""`holdfast workflow check`: its lines, its JSON, its exit codes, hostile files.

Run as: python3 tests/workflow_check_test.py path/to/holdfast
"""

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest

from support.deadline import DEADLINE_S

HOLDFAST = ""
QUICK_CPU_S = 10

GOOD = """workflow: orders
version: "2"
steps:
  - name: charge
    retry: {max_attempts: 3, delay: 1s}
  - name: ship
    after: charge
"""

BAD = """workflow: orders
version: 2
steps:
  - name: charge
    retyr: 3
  - name: ship
    after: chrge
"""

BAD_LINES = [
    "2:1: version: the workflow: version is a number, not a string [invalid_definition_version]",
    '5:5: steps[0].retyr: step "charge": unknown field "retyr"; did you mean "retry"? '
    '[invalid_step_opts]',
    '7:5: steps[1].after[0]: step "ship": after[0] names unknown step "chrge"; did you mean '
    '"charge"? [unknown_step_dependency]',
]


class WorkflowCheckTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="holdfast_workflow_")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def write(self, name, text):
        data = text if isinstance(text, bytes) else text.encode()
        with open(os.path.join(self.directory, name), "wb") as file:
            file.write(data)
        return name

    def check(self, *args, stdin=""):
        result = subprocess.run([HOLDFAST, "workflow", "check", *args], input=stdin, text=True,
                                cwd=self.directory, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=DEADLINE_S)
        return result.returncode, result.stdout.splitlines(), result.stderr

    def only_fault(self, text):
        """(line, column, message) of the only fault of a text."""
        exit_code, lines, _ = self.check("--json", self.write("one.yaml", text))
        self.assertEqual((exit_code, len(lines)), (2, 1), lines)
        errors = json.loads(lines[0])["errors"]
        self.assertEqual([error["code"] for error in errors], ["invalid_spec"], errors)
        return errors[0]["line"], errors[0]["column"], errors[0]["message"]

    def fingerprint(self, name):
        _, lines, _ = self.check("--json", name)
        return json.loads(lines[0])["files"][0]["fingerprint"]

    def test_a_valid_file(self):
        self.write("good.yaml", GOOD)
        fingerprint = self.fingerprint("good.yaml")
        self.assertRegex(fingerprint, r"\A[0-9a-f]{64}\Z")
        self.assertEqual(self.check("good.yaml"), (0, [
            "good.yaml: workflow orders version 2 is valid (2 steps, fingerprint "
            f"{fingerprint[:12]}...)"], ""))

    def test_a_workflow_without_version_and_with_one_step(self):
        self.write("a.yaml", "workflow: w\nsteps: [{name: a}]\n")
        self.assertEqual(self.check("a.yaml"), (0, [
            "a.yaml: workflow w is valid (1 step, fingerprint "
            f"{self.fingerprint('a.yaml')[:12]}...)"], ""))

    def test_faults_in_the_order_of_their_lines(self):
        self.write("bad.yaml", BAD)
        self.assertEqual(self.check("bad.yaml"), (
            2, [f"bad.yaml:{line}" for line in BAD_LINES],
            "holdfast: found 3 faults in 1 of 1 file\n"))

    def test_several_files(self):
        self.write("good.yaml", GOOD)
        self.write("bad.yaml", BAD)
        exit_code, lines, error = self.check("good.yaml", "bad.yaml", "good.yaml")
        self.assertEqual(exit_code, 2)
        self.assertEqual([line.split(":")[0] for line in lines],
                         ["good.yaml", "bad.yaml", "bad.yaml", "bad.yaml", "good.yaml"])
        self.assertEqual(error, "holdfast: found 3 faults in 1 of 3 files\n")
        exit_code, lines, error = self.check("good.yaml", "good.yaml")
        self.assertEqual((exit_code, lines[2:], error), (0, ["all 2 files are valid"], ""))

    def test_standard_input(self):
        exit_code, lines, _ = self.check("-", stdin=GOOD)
        self.assertEqual(exit_code, 0)
        self.assertTrue(lines[0].startswith("-: workflow orders version 2 is valid"))
        exit_code, lines, _ = self.check("-", stdin=BAD)
        self.assertEqual((exit_code, lines), (2, [f"-:{line}" for line in BAD_LINES]))

    def test_equal_yaml_and_json_have_the_same_fingerprint(self):
        self.write("good.yaml", GOOD)
        self.write("good.json", json.dumps({
            "steps": [{"name": "charge", "retry": {"delay_ms": 1000, "max_attempts": 3}},
                      {"name": "ship", "after": ["charge"]}],
            "version": "2", "workflow": "orders"}, indent=4))
        self.assertEqual(self.fingerprint("good.json"), self.fingerprint("good.yaml"))

    def test_files_that_cannot_be_read(self):
        self.assertEqual(self.check("missing.yaml"), (
            2, ["missing.yaml: cannot be read: No such file or directory [not_found]"],
            "holdfast: found 1 fault in 1 of 1 file\n"))
        exit_code, lines, _ = self.check(".")
        self.assertEqual((exit_code, lines),
                         (2, [".: cannot be read: Is a directory [invalid_argument]"]))
        exit_code, lines, _ = self.check("--json", "missing.yaml")
        self.assertEqual(exit_code, 2)
        self.assertEqual(json.loads("\n".join(lines)), {
            "valid": False, "files": [{"file": "missing.yaml", "valid": False}],
            "errors": [{"file": "missing.yaml", "path": [], "code": "not_found",
                        "message": "cannot be read: No such file or directory",
                        "line": None, "column": None}],
            "warnings": []})

    def test_json(self):
        self.write("good.yaml", GOOD)
        self.write("bad.yaml", BAD)
        exit_code, lines, error = self.check("--json", "good.yaml", "bad.yaml")
        self.assertEqual((exit_code, error),
                         (2, "holdfast: found 3 faults in 1 of 2 files\n"))
        answer = json.loads("\n".join(lines))
        good, bad = answer["files"]
        self.assertEqual({**good, "fingerprint": ""}, {
            "file": "good.yaml", "valid": True, "workflow": "orders", "version": "2",
            "fingerprint": "", "steps": 2})
        self.assertEqual(bad, {"file": "bad.yaml", "valid": False})
        self.assertEqual((answer["valid"], len(answer["errors"]), answer["warnings"]),
                         (False, 3, []))
        self.assertEqual(answer["errors"][1], {
            "file": "bad.yaml", "path": ["steps", "0", "retyr"], "code": "invalid_step_opts",
            "message": 'step "charge": unknown field "retyr"; did you mean "retry"?',
            "line": 5, "column": 5})

    def test_warnings_do_not_change_the_exit_code(self):
        self.write("odd.yaml", "workflow: w\ntriggers:\n  - name: t\n    cron:\n"
                   "      expression: 0 8 */2 * MON\n      timezone: UTC\nsteps: [{name: a}]\n")
        exit_code, lines, error = self.check("odd.yaml")
        self.assertEqual((exit_code, len(lines), error), (0, 2, ""))
        self.assertTrue(lines[0].startswith(
            "odd.yaml:5:7: warning: triggers[0].cron.expression: "), lines[0])
        self.assertTrue(lines[0].endswith("[cron_needs_both_days]"), lines[0])
        self.assertIn("is valid", lines[1])
        exit_code, lines, error = self.check("--json", "odd.yaml")
        self.assertEqual((exit_code, error), (0, ""))
        answer = json.loads("\n".join(lines))
        self.assertEqual((answer["valid"], answer["errors"]), (True, []))
        (warning,) = answer["warnings"]
        self.assertEqual({**warning, "message": ""}, {
            "file": "odd.yaml", "path": ["triggers", "0", "cron", "expression"],
            "code": "cron_needs_both_days", "message": "", "line": 5, "column": 7})

    def test_yaml_that_cannot_be_read_has_a_line(self):
        line, _, message = self.only_fault("workflow: w\nsteps:\n  - name: a\n   after: b\n")
        self.assertEqual(line, 4)
        self.assertIn("check indentation", message)
        line, _, message = self.only_fault("workflow: w\nsteps:\n\t- name: a\n")
        self.assertEqual(line, 3)
        self.assertIn("indented with a tab", message)

    def test_duplicate_names(self):
        self.assertEqual(
            self.only_fault("workflow: w\nsteps:\n  - name: a\n    queue: q\n    name: b\n"),
            (5, 5, '"name" appears twice, first on line 3'))

    def test_a_second_document(self):
        line, _, message = self.only_fault(GOOD + "---\n" + GOOD)
        self.assertEqual(line, 8)
        self.assertIn("a second document begins", message)

    def refused_quickly(self, text, says):
        began = os.times()
        self.assertIn(says, self.only_fault(text)[2])
        self.assertLess(os.times().children_user - began.children_user, QUICK_CPU_S)

    def test_excessive_input_is_refused_quickly(self):
        bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        for this, before in zip("bcdefghijklmnop", "abcdefghijklmno"):
            bomb += f"{this}: &{this} [{', '.join(['*' + before] * 10)}]\n"
        self.refused_quickly(bomb, "more than 100000 values, aliases included")
        wide = "a: &a " + "x" * 500_000 + "\nb: [" + "*a, " * 50_000 + "*a]\n"
        self.refused_quickly(wide, "more than 4 MiB of text, aliases included")
        self.refused_quickly("[" * 500_000 + "]" * 500_000, "nested more than 64 levels deep")
        self.refused_quickly("- " * 500_000, "nested more than 64 levels deep")
        self.refused_quickly("x" * (1 << 20) + "x", "longer than 1 MiB")

    def test_an_endless_file_is_refused(self):
        exit_code, lines, _ = self.check("/dev/zero")
        self.assertEqual(exit_code, 2)
        self.assertIn("longer than 1 MiB", lines[0])

    def test_input_that_is_not_text(self):
        self.assertIn("not valid UTF-8", self.only_fault(b"workflow: \xff\xfe\n")[2])
        self.assertIn("control character", self.only_fault(b"workflow: a\x00b\n")[2])
        self.assertIn("an object", self.only_fault("")[2])

    def test_control_characters_never_reach_the_terminal(self):
        self.write("bad.yaml", 'workflow: w\nsteps: [{name: a}]\n"\\e[31m\\nx": 1\n')
        _, lines, _ = self.check("bad.yaml")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("\\x1b[31m\\nx", lines[0])
        self.assertNotIn("\x1b", lines[0])

    def on_terminal(self, **environment):
        controller, terminal = pty.openpty()
        try:
            subprocess.run([HOLDFAST, "workflow", "check", "bad.yaml"], cwd=self.directory,
                           stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL,
                           env={**os.environ, "TERM": "xterm", **environment},
                           timeout=DEADLINE_S)
            return os.read(controller, 65536).decode()
        finally:
            os.close(controller)
            os.close(terminal)

    def test_colour_only_on_a_terminal(self):
        self.write("bad.yaml", BAD)
        self.assertNotIn("\x1b", "".join(self.check("bad.yaml")[1]))
        self.assertIn("\x1b[1mbad.yaml:2:1:\x1b[0m", self.on_terminal())
        self.assertNotIn("\x1b", self.on_terminal(NO_COLOR="1"))

    def test_usage(self):
        exit_code, _, error = self.check()
        self.assertEqual(exit_code, 2)
        self.assertIn("see holdfast workflow check --help", error)
        exit_code, lines, _ = self.check("--help")
        self.assertEqual(exit_code, 0)
        self.assertIn("  holdfast workflow check orders.yaml", lines)

    def test_the_example_of_the_help_is_valid(self):
        _, lines, _ = self.check("--help")
        begin = lines.index("  workflow: orders")
        end = lines.index("", begin)
        exit_code, _, error = self.check("-", stdin="\n".join(lines[begin:end]) + "\n")
        self.assertEqual((exit_code, error), (0, ""))


if __name__ == "__main__":
    HOLDFAST = os.path.abspath(sys.argv.pop(1))
    unittest.main()
