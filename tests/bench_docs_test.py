"""Runs every command of bench/README.md in its quick form, so that the document is reproducible.
A new command in the document is tested without a change here.

usage: bench_docs_test.py HOLDFAST
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "build/release/bin/holdfast"
INSTRUCTIONS = "bench/instructions.sh"
# A PostgreSQL server may not be available; the command is the same on every store.
STORES = re.compile(r"postgres://\S+")


def documented():
    text = (ROOT / "bench/README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def quick_form(command, folder):
    """The arguments of the tested command."""
    words = STORES.sub(f"sqlite:{folder}/scratch.db", command).split()
    if words[0] == PROGRAM:
        # The size of the full form would also be that of the quick one.
        sized = words.index("--operations") if "--operations" in words else len(words)
        return [HOLDFAST, *words[1:sized], *words[sized + 2:], "--quick"]
    if words[0] == INSTRUCTIONS:
        return ["sh", str(ROOT / INSTRUCTIONS), HOLDFAST, "40", "80"]
    raise AssertionError(f"bench/README.md has an unknown command: {command}")


def run(command):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)  # PostgreSQL, which has an account of its own, passes through it
        done = subprocess.run(quick_form(command, folder), cwd=folder, check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "TMPDIR": folder}, timeout=300)
        return done, os.listdir(folder)


class DocumentedBenchmarks(unittest.TestCase):
    def test_every_documented_command_measures_something(self):
        commands = documented()
        self.assertGreater(len(commands), 5)
        with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
            results = list(pool.map(run, commands))
        for command, (done, left) in zip(commands, results, strict=True):
            with self.subTest(command=command):
                if command.startswith(INSTRUCTIONS) and shutil.which("valgrind") is None:
                    self.assertEqual(done.returncode, 2, done.stderr)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                cases = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertTrue(cases)
                for case in cases:
                    self.assertLessEqual({"bench", "case", "value", "unit"}, set(case))
                self.assertEqual(left, [], "a benchmark removes its files")

    def test_a_benchmark_that_cannot_run_is_an_error(self):
        """The number of visits exceeds the range of its type: the definition is rejected."""
        done = subprocess.run([HOLDFAST, "bench", "engine", "--only", "long_run_in_memory",
                               "--steps", "5000000000", "--json"], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("invalid_definition", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
