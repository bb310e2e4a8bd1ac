#!/usr/bin/env python3
"""Servers and workers are killed again and again under steady load over HTTP: nothing acknowledged
is lost, nothing is applied twice, and every run ends as expected.

Run as: python3 tests/faults/server_kill_test.py path/to/holdfast [SqliteTest|PostgresTest]
"""

import collections
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import cli, postgres, server

LONG = "HOLDFAST_LONG" in os.environ
KILLS = 500 if LONG else 60
DRIVERS = 6
SERVERS = 2
WORKERS = 3
PROGRESS = 10  # acknowledgements between two kills
CUT = (OSError, http.client.HTTPException)
LEASE_MS = 3000
ORDER = {"workflow": "order", "steps": [
    {"name": "reserve", "lease_ms": LEASE_MS},
    {"name": "boss", "approval": True, "after": ["reserve"]},
    {"name": "paid", "await_event": "paid", "after": ["boss"]},
    {"name": "charge", "lease_ms": LEASE_MS, "after": ["paid"],
     "retry": {"max_attempts": 100, "delay_ms": 5}},
    {"name": "tally", "lease_ms": LEASE_MS, "after": ["charge"]}]}
STEPS = [step["name"] for step in ORDER["steps"]]
WITH_EFFECT = {"reserve", "charge", "tally"}


class Site:
    """A store with its servers, worker processes, callers, and a ledger of the effects of
    handlers."""

    def __init__(self, test, store):
        self.test = test
        self.store = store
        self.random = random.Random(15)
        self.ledger = test.path("ledger")
        self.ending = threading.Event()
        self.pause = threading.Event()  # never set
        self.changed = threading.Condition()
        self.acknowledged = 0
        self.failures = []
        self.orders = {}  # number: run id, as acknowledged
        self.threads = []
        self.servers = [server.Server(cli.program(), store, log=test.path(f"server{i}.log"))
                        for i in range(SERVERS)]
        for one in self.servers:
            test.addCleanup(one.close)
        self.start_servers(self.servers)  # on a store that does not exist yet
        # A restarted server listens on the same address.
        self.urls = [one.url for one in self.servers]
        self.clients = [one.client(timeout=20) for one in self.servers]
        self.call("POST", "/v1/workflows", ORDER)
        self.handlers = test.path("handlers.yaml")
        effect = (f'echo "$HOLDFAST_IDEMPOTENCY_KEY $HOLDFAST_RUN_ID $HOLDFAST_STEP" '
                  f'>> {self.ledger}; echo "{{}}"')
        # Every third attempt at charge fails after its effect.
        fail = '; test $(($(od -An -N1 -tu1 /dev/urandom) % 3)) -ne 0'
        pathlib.Path(self.handlers).write_text(json.dumps({"handlers": {
            "reserve": {"exec": ["sh", "-c", effect]},
            "charge": {"exec": ["sh", "-c", effect + fail]}}}))
        self.workers = [None] * WORKERS
        test.addCleanup(self.end_workers)
        for number in range(WORKERS):
            self.start_worker(number)

    # --- processes

    @staticmethod
    def start_servers(servers):
        """Starts all of them at the same time."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda one: one.start(), servers))

    def start_worker(self, number):
        log = open(self.test.path(f"worker{number}.log"), "ab")
        with log:
            self.workers[number] = subprocess.Popen(
                [cli.program(), "worker", "--server", self.urls[number % SERVERS],
                 "--handlers", self.handlers, "--threads", "2", "--name", f"worker{number}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=cli.environment())

    def end_workers(self):
        for worker in self.workers:
            if worker is not None and worker.poll() is None:
                worker.kill()
                worker.wait()

    def check_processes(self):
        """A process ends only when it is killed."""
        for one in self.servers:
            assert one.process.poll() is None, f"a server gave up: {one.logged()[-2000:]}"
        for number, worker in enumerate(self.workers):
            log = pathlib.Path(self.test.path(f"worker{number}.log"))
            assert worker.poll() is None, f"a worker gave up: {log.read_text()[-2000:]}"

    def kill_one(self):
        """Kills a server, all servers at the same time, or a worker; returns how many were
        killed."""
        self.check_processes()
        lot = self.random.random()
        if lot < 0.4:
            number = self.random.randrange(WORKERS)
            self.workers[number].kill()
            self.workers[number].wait()
            self.start_worker(number)
            return 1
        killed = self.servers if lot > 0.9 else [self.random.choice(self.servers)]
        for one in killed:
            one.kill()
        self.start_servers(killed)
        return len(killed)

    # --- callers

    def call(self, method, path, body=None):
        """Repeats a call until a server has responded."""
        end = time.monotonic() + server.DEADLINE_S
        while time.monotonic() < end:
            try:
                answer = random.choice(self.clients).call(method, path, body)
                if answer.status != 503:
                    return answer
            except CUT:
                pass
            self.pause.wait(0.01)  # the server is restarting
        raise AssertionError(f"{method} {path}: no answer")

    def acknowledge(self):
        with self.changed:
            self.acknowledged += 1
            self.changed.notify_all()

    def wait_for_progress(self):
        """Waits until some more calls are acknowledged."""
        with self.changed:
            goal = self.acknowledged + PROGRESS
            moved = self.changed.wait_for(lambda: self.acknowledged >= goal or self.failures,
                                          server.DEADLINE_S)
        if self.failures:
            raise self.failures[0]
        assert moved, "no progress"

    def begin(self, work, count=1):
        def run(number):
            try:
                work(number)
            except BaseException as failure:  # raised by the test
                with self.changed:
                    self.failures.append(failure)
                    self.changed.notify_all()
        for number in range(count):
            thread = threading.Thread(target=run, args=(number,), daemon=True)
            thread.start()
            self.threads.append(thread)

    def drive(self, driver):
        """Executes orders one after the other, each to its end."""
        number = driver
        while not self.ending.is_set():
            self.execute_order(number)
            number += DRIVERS

    def execute_order(self, number):
        started = self.call("POST", "/v1/runs", {"workflow": "order",
                                                 "idempotency_key": f"order-{number}"})
        assert started.status in (200, 201), started
        run = self.orders[number] = started.json()["run_id"]
        self.acknowledge()
        self.command(run, "approve", {"step": "boss", "actor": "ann",
                                      "idempotency_key": f"approve-{number}"})
        self.command(run, "signal", {"event": "paid", "data": {"number": number},
                                     "idempotency_key": f"paid-{number}"})
        while True:
            outcome = self.call("GET", f"/v1/runs/{run}/outcome?wait=2000")
            assert outcome.status == 200, f"an acknowledged run is lost: {outcome}"
            if outcome.json()["terminal"]:
                break
        assert outcome.json()["status"] == "completed", outcome
        assert outcome.json()["result"]["number"] == number, outcome
        self.acknowledge()

    def command(self, run, action, body):
        end = time.monotonic() + server.DEADLINE_S
        while True:
            answer = self.call("POST", f"/v1/runs/{run}/{action}", body)
            if answer.status == 200:
                return self.acknowledge()
            # The run does not wait yet: its first step is still in progress.
            assert answer.code in ("invalid_transition", "stale_manual_resolution"), answer
            assert time.monotonic() < end, f"{action} is refused for too long: {answer}"
            self.pause.wait(0.02)

    def tally(self, number):
        """A minimal worker: a call without a response is repeated under the same request name."""
        identity = {"id": f"tally-{number}", "name": "tally", "version": "1",
                    "secret": os.urandom(32).hex()}
        request = 0
        while not self.ending.is_set() or self.unfinished():
            request += 1
            wanted = {"worker": identity, "request": str(request), "again": True,
                      "handlers": ["tally"], "max": 4, "wait_ms": 500}
            claimed = self.call("POST", "/v1/work/claim", wanted)
            assert claimed.status == 200, claimed
            reports = []
            for attempt in claimed.json()["attempts"]:
                with open(self.ledger, "a", encoding="utf-8") as ledger:
                    ledger.write("{idempotency_key} {run_id} {step}\n".format(**attempt))
                reports.append(server.proof(attempt, outcome="ok"))
            if reports:
                answer = self.call("POST", "/v1/work/report",
                                   {"worker": identity, "reports": reports})
                assert answer.status == 200, answer
                for result in answer.json()["results"]:
                    assert result["counted"] or result["problem"]["code"] in (
                        "expired_claim", "stale_claim", "terminal_attempt"), result
                self.acknowledge()

    def unfinished(self):
        return any(thread.is_alive() for thread in self.threads[:DRIVERS])

    def finish(self):
        """The drivers finish their last orders, then the workers and servers stop."""
        self.ending.set()
        end = time.monotonic() + 2 * server.DEADLINE_S
        for thread in self.threads:
            while thread.is_alive() and not self.failures:
                assert time.monotonic() < end, "an order does not end"
                thread.join(0.1)
        if self.failures:
            raise self.failures[0]
        self.check_processes()
        self.end_workers()
        for one in self.servers:
            self.test.assertEqual(one.stop(), 0, one.logged()[-2000:])


class KillTest(cli.CliTest):
    def check(self, store):
        site = Site(self, store)
        site.begin(site.drive, DRIVERS)
        site.begin(site.tally)
        kills = 0
        while kills < KILLS:
            site.wait_for_progress()
            kills += site.kill_one()
        site.wait_for_progress()
        site.finish()
        self.check_journal(site)
        self.check_ledger(site)
        self.assertEqual(self.ok_json("doctor", "--store", store)["verdict"], "ok")
        self.ok("journal", "verify", store)
        print(f"{kills} kills, {len(site.orders)} runs, {site.acknowledged} acknowledgements")

    def check_journal(self, site):
        """Every acknowledged start, decision and event is stored, and each of them counted once."""
        applied, completed, signals, started = (collections.Counter() for _ in range(4))
        for _, _, entry in server.journal_entries(cli.program(), site.store):
            data = entry["data"]
            if entry["kind"] == "run_started":
                started[data["run_id"]] += 1
            elif entry["kind"] == "runnable_applied":
                run, step, _ = data["runnable_key"].rsplit(":", 2)
                applied[run, step] += 1
            elif entry["kind"] == "attempt_completed":
                completed[data["runnable_key"]] += 1
            elif entry["kind"] == "run_signal_received":
                signals[data.get("idempotency_key")] += 1
        self.assertEqual(started, collections.Counter(site.orders.values()))
        self.assertEqual(applied, collections.Counter(
            (run, step) for run in site.orders.values() for step in STEPS))
        self.assertEqual(set(completed.values()), {1})
        self.assertEqual(signals, collections.Counter(
            f"{word}-{number}" for number in site.orders for word in ("order", "approve", "paid")))

    def check_ledger(self, site):
        """An external system that checks idempotency keys has seen each step exactly once."""
        keys = collections.defaultdict(set)
        for line in pathlib.Path(site.ledger).read_text(encoding="utf-8").splitlines():
            key, run, step = line.split()
            keys[run, step].add(key)
        self.assertEqual(keys.keys(), {(run, step) for run in site.orders.values()
                                       for step in WITH_EFFECT})
        self.assertEqual({where: seen for where, seen in keys.items() if len(seen) != 1}, {})


class SqliteTest(KillTest):
    def test_nothing_is_lost_or_applied_twice(self):
        self.check(self.url("s.db"))


class PostgresTest(KillTest):
    def test_nothing_is_lost_or_applied_twice(self):
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        self.check(cluster.start().url)


if __name__ == "__main__":
    cli.main(__doc__)
