#!/usr/bin/env python3
"""Commands that inspect runs show no secrets and write nothing.

Run as: python3 tests/runs_look_test.py path/to/holdfast
"""

import json
import os

from support import cli

LOOKS = (["list"], ["show", "latest"], ["explain", "latest"], ["graph", "latest"],
         ["graph", "latest", "--dot"], ["graph", "latest", "--mermaid"], ["timeline", "latest"],
         ["timeline", "latest", "--events"], ["diff", "latest", "--from", "r1"], ["status"],
         ["doctor"], ["workflow", "list"], ["workflow", "show", "leave"],
         ["workflow", "diff", "leave", "leave"], ["show", "latest", "--at", "r1"],
         ["explain", "latest", "--at", "r2"], ["list", "--at", "0s"])
LOOKS_JSON = [[*look, "--json"] for look in LOOKS] + [["graph", "latest", "--json", "--history"]]


class Secrets(cli.RunsTest):
    SECRETS = {"password": "hunter2-pw", "token": "hunter2-tk", "api_key": "hunter2-ak",
               "deep": {"list": [{"SECRET": "hunter2-se"}], "credential": {"user": "hunter2-cr"}},
               "Authorization": "Bearer hunter2-au"}

    def check(self, said, what):
        self.assertNotIn("hunter2", said, what)

    def run_all_queries(self):
        for look in (*LOOKS, *LOOKS_JSON):
            if "leave" not in look:
                self.check(self.ok(*look), look)

    def test_of_the_input_are_never_shown(self):
        given = json.dumps({"who": "Ann", **self.SECRETS})
        for more in ([], ["--json"], ["--quiet"]):
            result = self.run_here("run", "leave.yaml", "--until-blocked", "--input", given, *more)
            self.assertEqual(result.returncode, 6)
            self.check(result.stdout + result.stderr, more)
        self.run_all_queries()
        self.assertIn("[REDACTED]", self.ok("show", "latest"))
        self.check(self.ok("approve", "latest", "--actor", "ann"), "approve")
        self.run_all_queries()
        for more in ([], ["--json"], ["--quiet"]):
            self.check(self.ok("run", "bread.yaml", "--input", given, *more), more)
            self.run_all_queries()

    def test_of_results_errors_and_events_are_never_shown(self):
        self.write("secret.yaml", """
workflow: secret
steps:
  - name: login
    exec: [sh, -c, 'echo "{\\"session\\": {\\"token\\": \\"hunter2-s\\"}}"']
  - name: event
    await_event: paid
    output: event
    after: login
  - name: items
    for_each: {items: [1, 2]}
    exec: [sh, -c, 'echo "{\\"password\\": \\"hunter2-i\\"}"']
    after: event
""")
        run = self.drained("secret.yaml")
        self.run_all_queries()
        for more in ([], ["--json"]):
            self.check(self.ok("signal", run, "paid", "--data", json.dumps(self.SECRETS), *more),
                       "signal")
        self.check(self.ok("work", "--drain"), "work")
        self.assertEqual(self.shown(run)["status"], "completed")
        self.run_all_queries()

    def test_steps_receive_secrets_that_are_not_shown(self):
        self.write("use.yaml", "workflow: use\nsteps:\n  - name: use\n"
                   "    exec: [sh, -c, 'grep -q hunter2-pw']\n")
        self.check(self.ok("run", "use.yaml", "--input", json.dumps(self.SECRETS)), "run")


class NothingIsWritten(cli.RunsTest):
    def setUp(self):
        super().setUp()
        self.drained("nap.yaml")
        self.drained("bread.yaml")
        self.drained("leave.yaml", {"who": "Ann"})

    def test_the_files_do_not_change(self):
        stat = self.ok("journal", "stat", "sqlite:holdfast.db")
        before = cli.snapshot(self.directory)
        for look in (*LOOKS, *LOOKS_JSON, ["completion", "bash"], ["graph", "bread.yaml"]):
            with self.subTest(" ".join(look)):
                self.ok(*look)
                self.assertEqual(cli.snapshot(self.directory), before)
        self.assertEqual(self.ok("journal", "stat", "sqlite:holdfast.db"), stat)

    def test_a_read_only_file_can_be_read(self):
        os.chmod(self.path("holdfast.db"), 0o444)
        os.chmod(self.directory, 0o555)
        self.addCleanup(os.chmod, self.directory, 0o755)
        with self.unprivileged() as options:
            for look in (*LOOKS, *LOOKS_JSON):
                with self.subTest(" ".join(look)):
                    self.ok(*look, **options)
            self.fails(2, "approve", "latest", "--actor", "ann", says="not writable", **options)
            self.fails(2, "work", "--drain", says="not writable", **options)

    def test_a_query_does_not_wait_for_a_writer_or_block_one(self):
        self.write("many.yaml", "workflow: many\nsteps:\n  - name: one\n    exec: ['true']\n"
                   "    for_each: {items: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n")
        for _ in range(20):
            self.start("many.yaml")
        with cli.started("work", "--quiet", "--drain", cwd=self.directory) as worker:
            looks = 0
            while worker.poll() is None:
                self.ok("status")
                self.ok("show", "latest")
                looks += 1
            self.assertEqual(worker.wait(cli.DEADLINE_S), 0)
        self.assertGreater(looks, 0)
        self.assertEqual(len(self.runs("--workflow", "many", "--status", "completed")), 20)


if __name__ == "__main__":
    cli.main(__doc__)
