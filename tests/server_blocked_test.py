#!/usr/bin/env python3
"""A store that cannot be written, because another program holds its lock: reads and metrics still
work, /readyz gives the reason why the server is not ready, and waiting writes are executed when the
lock is released.

Run as: python3 tests/server_blocked_test.py path/to/holdfast
"""

import contextlib
import sqlite3
import threading
import time

from support import cli, server

# Far below the time after which the first try of a blocked write fails (30 s).
SOON_S = 12


class BlockedTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.server = server.Server(cli.program(), self.url("s.db"), log=self.path("log"))
        self.server.start()
        self.addCleanup(self.server.close)
        self.client = self.server.client()
        self.client.good("POST", "/v1/workflows", {"workflow": "a", "triggers": [
            {"name": "nightly", "cron": {"expression": "0 3 * * *", "timezone": "UTC"}}],
            "steps": [{"name": "ask", "approval": {"reason": "ok?"}}, {"name": "work"}]})
        self.run_id = self.client.good("POST", "/v1/runs", {"workflow": "a"})["run_id"]
        self.answers = []
        self.threads = []

    @contextlib.contextmanager
    def locked(self):
        """Another program holds the lock with an open transaction."""
        with contextlib.closing(sqlite3.connect(self.path("s.db"), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    def begin_write(self, **body):
        def write():
            self.answers.append(self.client.post("/v1/runs", {"workflow": "a", **body}))
        self.threads.append(threading.Thread(target=write))
        self.threads[-1].start()

    def metric(self, name):
        [value] = [line.split()[1] for line in self.soon("/metrics").text.splitlines()
                   if line.startswith(name + " ")]
        return float(value)

    def soon(self, path, **options):
        began = time.monotonic()
        answer = self.client.get(path, **options)
        self.assertLess(time.monotonic() - began, SOON_S, path)
        return answer

    def blocked(self):
        """A write waits, and the server reports it."""
        self.begin_write()
        server.wait_until(lambda: self.metric("holdfast_write_pending_seconds") > 0,
                          "a write that waits")

    def test_reads_do_not_wait_for_a_blocked_writer(self):
        self.soon("/metrics")
        with self.locked():
            self.blocked()
            run = f"/v1/runs/{self.run_id}"
            for path in ("/v1/runs", run, run + "/explain", run + "/graph", run + "/timeline",
                         run + "/facts", run + "/outcome", run + "/outcome?wait=300",
                         f"/v1/runs/{self.run_id[:8]}", "/v1/status", "/v1/doctor", "/v1/queues",
                         "/v1/queues/default", "/v1/workers", "/v1/approvals", "/v1/schedules",
                         "/v1/workflows", "/v1/workflows/a", "/v1/tokens", "/v1/server", "/metrics",
                         "/healthz"):
                with self.subTest(path=path):
                    self.assertEqual(self.soon(path).status, 200)
            [approval] = self.soon("/v1/approvals").json()["approvals"]
            self.assertEqual(approval["run_id"], self.run_id)
            self.assertEqual(self.answers, [], "the write still waits")
            self.assertGreater(self.metric("holdfast_gauges_age_seconds"), 0)
            self.assertEqual(self.metric("holdfast_runs_live"), 1)
        self.threads[0].join()
        self.assertEqual(self.answers[0].status, 201, self.answers)
        self.assertEqual(len(self.client.good("GET", "/v1/runs")["runs"]), 2)

    def test_not_ready_while_the_store_cannot_be_written(self):
        self.assertEqual(self.soon("/readyz").status, 200)
        with self.locked():
            self.blocked()
            server.wait_until(lambda: self.soon("/readyz").status == 503, "a server not ready")
            said = self.soon("/readyz").json()
            self.assertFalse(said["ready"])
            self.assertIn("write", said["reason"])
            self.assertNotIn("s.db", said["reason"])
        server.wait_until(lambda: self.soon("/readyz").status == 200, "a server ready again")
        self.threads[0].join()
        self.assertEqual(self.answers[0].status, 201)

    def test_ready_while_locked_without_a_waiting_write(self):
        with self.locked():
            self.assertEqual(self.soon("/readyz").status, 200)
            self.assertEqual(self.soon("/v1/runs").status, 200)

    def test_writes_of_another_server_are_visible(self):
        """This server's write is blocked and stale; its reads show what the other one wrote."""
        other = server.Server(cli.program(), self.url("s.db"), log=self.path("log2"))
        other.start()
        self.addCleanup(other.close)
        theirs = other.client().good("POST", "/v1/runs", {"workflow": "a"})["run_id"]
        with self.locked():
            self.blocked()
            self.assertEqual(self.soon(f"/v1/runs/{theirs}").status, 200)
            self.assertEqual(self.soon(f"/v1/runs/{theirs}/outcome").status, 200)
        self.threads[0].join()
        self.assertEqual(self.answers[0].status, 201)
        self.assertEqual(len(other.client().good("GET", "/v1/runs")["runs"]), 3)


if __name__ == "__main__":
    cli.main(__doc__)
