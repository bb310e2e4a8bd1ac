#!/usr/bin/env python3
"""PostgreSQL is restarted in every way under two servers, remote workers and steady load over HTTP:
the servers keep running, nothing acknowledged is lost, nothing is applied twice, work continues.

Run as: python3 tests/faults/postgres_restart_test.py path/to/holdfast
HOLDFAST_LONG=1: 50 restarts instead of 8.
"""

import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from support import cli, postgres, server, steady_load  # noqa: E402

RESTARTS = 50 if os.environ.get("HOLDFAST_LONG") else 8


class PostgresTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.cluster = postgres.Cluster()
        self.addCleanup(self.cluster.close)

    def server(self, name, store=None):
        one = server.Server(cli.program(), store or self.cluster.url, log=self.path(name))
        self.addCleanup(one.close)
        return one


class RestartTest(PostgresTest):
    def test_restarts_under_load_lose_nothing_and_stop_no_process(self):
        self.cluster.start()
        servers = [self.server("a.log").start(), self.server("b.log").start()]
        servers[0].client().good("POST", "/v1/workflows", steady_load.WORKFLOW)
        load = steady_load.Load(servers)
        self.addCleanup(load.ending.set)
        times = []
        with steady_load.workers(cli.program(), servers) as workers:
            load.begin()
            load.wait_for_progress()
            for number in range(RESTARTS):
                self.restart(number)
                begin = time.monotonic()
                steady_load.wait_until_ready(servers)
                load.wait_for_progress()
                times.append(time.monotonic() - begin)
                for process in [one.process for one in servers] + workers:
                    self.assertIsNone(process.poll(), f"exited in round {number}")
            load.end()
            server.wait_until(lambda: steady_load.all_ended(servers[0].client()), "all runs end",
                              4 * server.DEADLINE_S)
            self.assertEqual([process.poll() for process in workers], [None, None])
        for one in servers:
            self.assertEqual(one.stop(), 0)
        steady_load.judge(self, cli.program(), self.cluster.url, load)
        times.sort()
        print(f"{RESTARTS} restarts, {len(load.acknowledged)} starts acknowledged, "
              f"{len(load.unknown)} in doubt, {load.refused} refused as unavailable; progress "
              f"after {times[len(times) // 2]:.2f} s (median), {times[-1]:.2f} s (longest)",
              file=sys.stderr)

    def restart(self, number):
        """In turn: fast, immediate, and every connection terminated."""
        if number % 4 == 3:
            self.assertGreater(self.cluster.terminate_backends(), 0)
            return
        self.cluster.stop(signal.SIGINT if number % 2 == 0 else signal.SIGQUIT)
        self.cluster.start()


class OutageTest(PostgresTest):
    def test_while_the_database_is_unavailable_the_server_reports_it_and_refuses_commands(self):
        self.cluster.start()
        one = self.server("a.log").start()
        client = one.client()
        client.good("POST", "/v1/workflows", steady_load.WORKFLOW)
        self.cluster.stop()
        answer = server.wait_until(
            lambda: (said := client.get("/readyz")).status == 503 and said, "not ready")
        reason = answer.json()["reason"]
        self.assertIn("unavailable", reason)
        for secret in ("127.0.0.1", "postgres", str(self.cluster.port)):
            self.assertNotIn(secret, reason)
        self.assertEqual(client.get("/healthz").status, 200)
        refused = client.post("/v1/runs", {"workflow": "steady", "input": {"n": 1}})
        self.assertEqual((refused.status, refused.code), (503, "unavailable"))
        self.assertTrue(refused.json()["retry"])
        self.assertNotIn(str(self.cluster.port), refused.text)
        self.assertIsNone(one.process.poll())
        self.cluster.start()
        steady_load.wait_until_ready([one])
        self.assertEqual(client.post("/v1/runs", {"workflow": "steady", "input": {"n": 2}}).status,
                         201)
        logged = one.logged()
        self.assertIn("the store cannot be reached", logged)
        self.assertIn("store available again", logged)
        self.assertEqual(one.stop(), 0)

    def test_a_server_that_is_started_before_its_database_waits_for_it(self):
        one = self.server("a.log").start()
        client = one.client()
        answer = client.get("/readyz")
        self.assertEqual((answer.status, answer.json()["ready"]), (503, False))
        self.assertEqual(client.get("/healthz").status, 200)
        refused = client.post("/v1/workflows", steady_load.WORKFLOW)
        self.assertEqual((refused.status, refused.code), (503, "unavailable"))
        self.cluster.start()
        steady_load.wait_until_ready([one])
        client.good("POST", "/v1/workflows", steady_load.WORKFLOW)
        self.assertEqual(one.stop(), 0)

    def test_a_server_can_be_stopped_while_its_database_is_unavailable(self):
        waiting = self.server("a.log").start()
        self.assertEqual(waiting.stop(), 0)
        self.cluster.start()
        one = self.server("b.log").start()
        self.cluster.stop()
        server.wait_until(lambda: one.client().get("/readyz").status == 503, "not ready")
        self.assertEqual(one.stop(), 0)

    def test_a_database_that_cannot_be_used_is_an_error_at_once(self):
        self.cluster.start()
        said = self.run_here("server", "--listen", "127.0.0.1:0", "--store",
                             f"postgres://postgres@127.0.0.1:{self.cluster.port}/nosuch")
        self.assertEqual(said.returncode, 2, said.stderr)

    def test_of_several_hosts_the_one_that_accepts_writes_is_used(self):
        self.cluster.start()
        unused_port = postgres.free_port()
        url = (f"postgres://postgres@127.0.0.1:{unused_port},127.0.0.1:{self.cluster.port}/postgres"
               "?schema=faults&target_session_attrs=read-write")
        one = self.server("a.log", url).start()
        steady_load.wait_until_ready([one])
        one.client().good("POST", "/v1/workflows", steady_load.WORKFLOW)
        self.cluster.terminate_backends()
        steady_load.wait_until_ready([one])
        self.assertEqual(one.client().post("/v1/runs", {"workflow": "steady",
                                                        "input": {"n": 1}}).status, 201)
        self.assertEqual(one.stop(), 0)

    def test_a_read_only_server_counts_as_unavailable(self):
        self.cluster.start()
        one = self.server("a.log").start()
        one.client().good("POST", "/v1/workflows", steady_load.WORKFLOW)
        self.accept_writes("off")
        answers = []
        # Its commit is refused, and repeated when the server accepts writes.
        caller = threading.Thread(target=lambda: answers.append(one.client().post(
            "/v1/runs", {"workflow": "steady", "input": {"n": 1}})))
        caller.start()
        server.wait_until(lambda: one.client().get("/readyz").status == 503, "not ready")
        self.assertIsNone(one.process.poll())
        self.accept_writes("on")
        caller.join(server.DEADLINE_S)
        self.assertEqual([answer.status for answer in answers], [201])
        steady_load.wait_until_ready([one])
        self.assertEqual(one.stop(), 0)

    def accept_writes(self, whether):
        """Like a primary, or like a standby."""
        state = {"on": "off", "off": "on"}[whether]
        postgres.sql(self.cluster.port, f"ALTER SYSTEM SET default_transaction_read_only = {state}")
        postgres.sql(self.cluster.port, "SELECT pg_reload_conf()")
        self.cluster.terminate_backends()


class WorkTest(PostgresTest):
    def test_a_worker_on_the_store_continues_after_a_restart(self):
        self.cluster.start()
        self.write("slow.yaml", "workflow: slow\nsteps:\n"
                   "  - {name: a, exec: [sh, -c, 'echo begun >> begun; while ! test -e go; do "
                   "sleep 0.05; done']}\n"
                   "  - {name: b, exec: ['true'], after: a}\n")
        with cli.started("run", "slow.yaml", "--store", self.cluster.url, "--quiet",
                         cwd=self.directory) as process:
            server.wait_until(lambda: os.path.exists(self.path("begun")), "the step begins")
            self.cluster.stop(signal.SIGQUIT)
            self.write("go", "")
            self.cluster.start()
            self.assertEqual(process.wait(server.DEADLINE_S), 0)
        self.assertEqual(self.read("begun"), "begun\n")


if __name__ == "__main__":
    cli.main(__doc__)
