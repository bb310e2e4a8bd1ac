"""Processes that create one store concurrently, with every file lock delayed, so that they overlap.

usage: store_creation_test.py HOLDFAST

strace delays each fcntl call; SQLite locks files with it. The test needs strace, and a system that
allows a process to trace its own children.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import cli

DELAY_US = 10_000
ROUNDS = 4
PROCESSES = 3
STRACE = ["strace", "-f", "-qq", "-e", "trace=fcntl", "-e", f"inject=fcntl:delay_enter={DELAY_US}",
          "-o", os.devnull]


class StoreCreationTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.assertIsNotNone(shutil.which("strace"), "strace is missing: apt install strace")
        tried = subprocess.run([*STRACE, "true"], capture_output=True, text=True, check=False)
        self.assertEqual(tried.returncode, 0,
                         f"this system does not permit ptrace, which strace needs: {tried.stderr}")

    def start(self, *arguments):
        # A sanitizer cannot check for leaks in a traced process.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        return subprocess.Popen([*STRACE, cli.program(), *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=cli.environment(ASAN_OPTIONS=sanitizer))

    def test_processes_that_create_a_store_concurrently_all_succeed(self):
        for number in range(ROUNDS):
            url = self.url(f"{number}.db")
            processes = [self.start("journal", "append", url, f"run:{i}", "noted", "{}")
                         for i in range(PROCESSES)]
            for process in processes:
                _, said = process.communicate(timeout=cli.DEADLINE_S)
                self.assertEqual(process.returncode, 0, said)
            entries = self.ok("journal", "cat", url, "--json").splitlines()
            self.assertEqual(sorted(json.loads(entry)["thread"] for entry in entries),
                             [f"run:{i}" for i in range(PROCESSES)])
            with open(self.path(f"{number}.db"), "rb") as file:
                self.assertEqual(file.read(20)[18:], b"\2\2", "not in WAL mode")

    def test_a_reader_during_the_creation_sees_a_complete_store_or_none(self):
        for number in range(ROUNDS):
            url = self.url(f"{number}.db")
            creator = self.start("journal", "append", url, "run:1", "noted", "{}")
            while creator.poll() is None:
                seen = self.run_here("list", "--store", url, "--json")
                if seen.returncode != 0:
                    self.assertEqual(json.loads(seen.stdout)["error"]["code"], "not_found")
            self.assertEqual(creator.wait(), 0, creator.communicate())
            self.ok("list", "--store", url)


if __name__ == "__main__":
    cli.main(__doc__)
