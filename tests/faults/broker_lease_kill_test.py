#!/usr/bin/env python3
"""A server, workers that know only a broker, and the broker are killed again and again under steady
load, with the broker on each store: nothing acknowledged is lost, nothing is applied twice, and
every run ends as expected.

Run as: python3 tests/faults/broker_lease_kill_test.py path/to/holdfast
HOLDFAST_LONG=1: 60 kills for each store instead of 20.
"""

import collections
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import backend_kill_test  # noqa: E402
from support import broker, cli, postgres, server  # noqa: E402

KILLS = 60 if "HOLDFAST_LONG" in os.environ else 20
LEASE_MS = backend_kill_test.LEASE_MS
ORDER = {"workflow": "order", "steps": [
    {"name": "reserve", "queue": "remote", "lease_ms": LEASE_MS},
    {"name": "charge", "queue": "remote", "lease_ms": LEASE_MS, "after": ["reserve"],
     "retry": {"max_attempts": 100, "delay_ms": 5}}]}


class BrokerSite(backend_kill_test.Site):
    """A server and its workers around a broker, in place of Redis."""

    def __init__(self, test, store, broker_store):
        self.broker_store = broker_store
        self.prepare(test, store)
        self.token_file = test.write("runs.token", self.make_workspace() + "\n")
        self.broker = broker.Broker(cli.program(), broker_store, "--single", "--limiter",
                                    "memory:" + test.path("limits"), log=test.path("broker.log"))
        test.addCleanup(self.broker.close)
        self.broker.start()
        host = self.broker.url.split("//")[1]
        self.lease_url = (f"broker://{host}?token_file={test.path('runs.token')}"
                          "&redeliver_ms=500&max_deliveries=0")
        self.server = server.Server(cli.program(), store, "--backend", f"remote={self.lease_url}",
                                    log=test.path("server.log"))
        test.addCleanup(self.server.close)
        self.server.start()
        self.client = self.server.client(timeout=20)
        self.call("POST", "/v1/workflows", ORDER)
        self.write_handlers()
        self.start_workers()

    def make_workspace(self):
        store = ("--store", self.broker_store)
        self.test.ok("broker", "workspace", "create", "team", *store)
        self.test.ok("broker", "queue", "create", "team", "remote", "--for-runs",
                     "--max-deliveries", "0", *store)
        return self.test.ok_json("broker", "member", "create", "team", "runs", *store)["token"]

    def worker_command(self, number):
        return [cli.program(), "worker", "--backend", self.lease_url, "--queue", "remote",
                "--handlers", self.handlers, "--threads", "2", "--name", f"worker{number}"]

    def kill_one(self):
        self.check_processes()
        what = self.random.choice(("server", "worker", "broker"))
        if what == "broker":
            self.broker.kill()
            self.broker.start()
        elif what == "server":
            self.server.kill()
            self.server.start()
        else:
            self.kill_worker()
        return what


class BrokerLeaseKillTest(cli.CliTest):
    def check(self, broker_store):
        store = self.url("s.db")
        site = BrokerSite(self, store, broker_store)
        site.begin(site.drive, backend_kill_test.DRIVERS)
        kills = collections.Counter()
        while kills.total() < KILLS:
            site.wait_for_progress()
            kills[site.kill_one()] += 1
        site.wait_for_progress()
        site.finish()
        steps = [step["name"] for step in ORDER["steps"]]
        backend_kill_test.check_journal(self, site, steps)
        backend_kill_test.check_ledger(self, site, steps)
        self.assertEqual(self.ok_json("doctor", "--store", store)["verdict"], "ok")
        self.ok("journal", "verify", store)
        print(f"{dict(kills)} kills, {len(site.orders)} runs")

    def test_sqlite(self):
        self.check(self.url("broker.db"))

    def test_postgres(self):
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        cluster.start()
        self.check(broker.postgres_url(cluster, "carrier"))


if __name__ == "__main__":
    cli.main(__doc__)
