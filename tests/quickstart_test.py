"""Runs the demo of scripts/quickstart.sh: its output, and that it detects violations.

usage: quickstart_test.py HOLDFAST
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support.deadline import DEADLINE_S

HOLDFAST = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
# Texts that the demo must print.
SHOWN = [
    "attempt 2 failed: the bank does not answer",
    "holdfast approve latest --actor you",
    "kill -9 ",
    "No completed step was executed again",
    "error (compensation): refund",
    "was completed at",
    "expired",
    "== done; try next",
]


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def demo(self, program, *, check=True):
        values = {name: value for name, value in os.environ.items()
                  if not name.startswith("HOLDFAST_")}
        done = subprocess.run([ROOT / "scripts/quickstart.sh", "--demo-only", program,
                               self.folder / "demo"], env=values, cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=DEADLINE_S, check=False)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout)
        return done

    def impostor(self, text):
        """A program that runs something else before the real one."""
        program = self.folder / "bin/holdfast"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\n{text}\nexec {HOLDFAST} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        return program

    def test_the_demo_prints_its_points_and_can_be_repeated(self):
        for _ in range(2):
            output = self.demo(HOLDFAST).stdout
            for text in SHOWN:
                self.assertIn(text, output)
            # On a slow machine the leases have expired by the time of the explanation.
            self.assertRegex(output, r"reason (attempt_claimed|expired_claim)\b")
        effects = (self.folder / "demo/effects.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(sum(line.endswith(" shipped") for line in effects), 8)
        self.assertEqual(sum(line.startswith("charge order 17:") for line in effects), 3)
        self.assertEqual(sum(line.startswith("refund order 18:") for line in effects), 1)

    def test_a_repeated_step_is_detected(self):
        again = 'test "$*" != "work --drain" || ' \
                'echo "charge order 17: 5000 charged" >> "$QUICKSTART_FOLDER/effects.txt"'
        done = self.demo(self.impostor(again), check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("quickstart: completed step charge was executed again", done.stdout)

    def test_an_unexpected_exit_code_is_detected(self):
        done = self.demo(self.impostor('test "$1" != approve || exit 7'), check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("exited with code 7 instead of 0", done.stdout)

    def test_unknown_options_are_rejected(self):
        done = subprocess.run([ROOT / "scripts/quickstart.sh", "--nonsense"], capture_output=True,
                              text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: quickstart.sh", done.stderr)


if __name__ == "__main__":
    unittest.main()
