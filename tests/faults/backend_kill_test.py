#!/usr/bin/env python3
"""A server, workers that know only Redis, and Redis itself are killed again and again under steady
load: nothing acknowledged is lost, nothing is applied twice, and every run ends as expected. Redis
has no persistence: with each kill it loses all its data.

Run as: python3 tests/faults/backend_kill_test.py path/to/holdfast
"""

import collections
import http.client
import json
import os
import pathlib
import random
import secrets
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import cli, redis, server

LONG = "HOLDFAST_LONG" in os.environ
KILLS = 600 if LONG else 60
DRIVERS = 4
WORKERS = 3
PROGRESS = 3  # acknowledgements between two kills
CUT = (OSError, http.client.HTTPException)
LEASE_MS = 1500
ORDER = {"workflow": "order", "steps": [
    {"name": "reserve", "queue": "remote", "lease_ms": LEASE_MS},
    {"name": "charge", "queue": "remote", "lease_ms": LEASE_MS, "after": ["reserve"],
     "retry": {"max_attempts": 100, "delay_ms": 5}},
    {"name": "tally", "queue": "script", "lease_ms": LEASE_MS, "after": ["charge"]}]}
STEPS = [step["name"] for step in ORDER["steps"]]


class Site:
    """A store with its server, Redis, worker processes, callers, and a ledger of the effects of
    handlers."""

    def __init__(self, test, store):
        self.prepare(test, store)
        self.redis = redis.Redis().start()
        test.addCleanup(self.redis.close)
        self.server = server.Server(
            cli.program(), store, "--backend", f"remote={self.redis.url}?redeliver_ms=500"
            "&max_deliveries=0", "--backend", f"script={self.redis.url}?redeliver_ms=500"
            "&max_deliveries=0", log=test.path("server.log"))
        test.addCleanup(self.server.close)
        self.server.start()
        self.client = self.server.client(timeout=20)
        self.call("POST", "/v1/workflows", ORDER)
        self.write_handlers()
        self.start_workers()

    def prepare(self, test, store):
        self.test = test
        self.store = store
        self.random = random.Random(17)
        self.ledger = test.path("ledger")
        self.ending = threading.Event()
        self.pause = threading.Event()  # never set
        self.changed = threading.Condition()
        self.acknowledged = 0
        self.failures = []
        self.orders = {}  # number: run id, as acknowledged
        self.threads = []

    def write_handlers(self):
        self.handlers = self.test.path("handlers.yaml")
        effect = (f'echo "$HOLDFAST_IDEMPOTENCY_KEY $HOLDFAST_RUN_ID $HOLDFAST_STEP" '
                  f'>> {self.ledger}; echo "{{}}"')
        # Every third attempt at charge fails after its effect.
        fail = '; test $(($(od -An -N1 -tu1 /dev/urandom) % 3)) -ne 0'
        pathlib.Path(self.handlers).write_text(json.dumps({"handlers": {
            "reserve": {"exec": ["sh", "-c", effect]},
            "charge": {"exec": ["sh", "-c", effect + fail]}}}))

    # --- processes

    def start_workers(self):
        self.workers = [None] * WORKERS
        self.test.addCleanup(self.end_workers)
        for number in range(WORKERS):
            self.start_worker(number)

    def worker_command(self, number):
        return [cli.program(), "worker", "--backend", self.redis.url, "--queue", "remote",
                "--handlers", self.handlers, "--threads", "2", "--name", f"worker{number}"]

    def start_worker(self, number):
        log = open(self.test.path(f"worker{number}.log"), "ab")
        with log:
            self.workers[number] = subprocess.Popen(
                self.worker_command(number),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=cli.environment(),
                preexec_fn=redis.die_with_the_test)

    def end_workers(self):
        for worker in self.workers:
            if worker is not None and worker.poll() is None:
                worker.kill()
                worker.wait()

    def check_processes(self):
        """A process ends only when it is killed."""
        assert self.server.process.poll() is None, \
            f"the server gave up: {self.server.logged()[-2000:]}"
        for number, worker in enumerate(self.workers):
            log = pathlib.Path(self.test.path(f"worker{number}.log"))
            assert worker.poll() is None, f"a worker gave up: {log.read_text()[-2000:]}"

    def kill_one(self):
        """Kills the server, a worker or Redis."""
        self.check_processes()
        what = self.random.choice(("server", "worker", "redis"))
        if what == "server":
            self.server.kill()
            self.server.start()
        elif what == "redis":
            self.redis.kill()
            self.redis.start()
        else:
            self.kill_worker()
        return what

    def kill_worker(self):
        number = self.random.randrange(WORKERS)
        self.workers[number].kill()
        self.workers[number].wait()
        self.start_worker(number)

    # --- callers

    def call(self, method, path, body=None):
        """Repeats a call until the server has responded."""
        end = time.monotonic() + server.DEADLINE_S
        while time.monotonic() < end:
            try:
                answer = self.client.call(method, path, body)
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
            started = self.call("POST", "/v1/runs", {"workflow": "order",
                                                     "idempotency_key": f"order-{number}"})
            assert started.status in (200, 201), started
            run = self.orders[number] = started.json()["run_id"]
            self.acknowledge()
            while True:
                outcome = self.call("GET", f"/v1/runs/{run}/outcome?wait=2000")
                assert outcome.status == 200, f"an acknowledged run is lost: {outcome}"
                if outcome.json()["terminal"]:
                    break
            assert outcome.json()["status"] == "completed", outcome
            self.acknowledge()
            number += DRIVERS

    def tally(self, _):
        """A minimal worker on Redis, which connects again after each failure."""
        while not self.ending.is_set() or self.unfinished():
            try:
                client = self.redis.client()
            except OSError:
                self.pause.wait(0.01)
                continue
            try:
                while not self.ending.is_set() or self.unfinished():
                    self.tally_one(client)
            except (OSError, redis.RedisError):
                self.pause.wait(0.01)  # Redis is restarting, or has lost the group
            finally:
                client.close()

    def tally_one(self, client):
        keys = "holdfast:{script}:"
        found = client("XREADGROUP", "GROUP", "workers", "script", "COUNT", 1, "BLOCK", 200,
                       "STREAMS", keys + "ready", ">")
        if not found:
            return
        entry, (_, item_id) = found[0][1][0]
        item = client("HGET", keys + "items", item_id)
        if item is None:
            client("XACK", keys + "ready", "workers", entry)
            return
        claim = ["id", item_id, "worker", "script", "claim", secrets.token_hex(16),
                 "token", secrets.token_hex(32)]
        client("XADD", keys + "signals", "*", "kind", "claim", *claim)
        answer = client("BLPOP", keys + "answer:" + claim[5], 2)
        if answer is None:
            client("XADD", keys + "signals", "*", "kind", "yield", *claim)
            return
        if json.loads(answer[1])["verdict"] != "granted":
            return
        attempt = json.loads(item)["payload"]
        with open(self.ledger, "a", encoding="utf-8") as ledger:
            ledger.write("{idempotency_key} {run_id} {step}\n".format(**attempt))
        client("XADD", keys + "signals", "*", "kind", "complete", *claim, "body",
               '{"result": {}}')

    def unfinished(self):
        return any(thread.is_alive() for thread in self.threads[:DRIVERS])

    def finish(self):
        """The drivers finish their last orders, then the workers and the server stop."""
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
        self.test.assertEqual(self.server.stop(), 0, self.server.logged()[-2000:])


def check_journal(test, site, steps):
    """Every acknowledged start is stored, and every step of it counted once."""
    applied, completed, started = (collections.Counter() for _ in range(3))
    for _, _, entry in server.journal_entries(cli.program(), site.store):
        data = entry["data"]
        if entry["kind"] == "run_started":
            started[data["run_id"]] += 1
        elif entry["kind"] == "runnable_applied":
            run, step, _ = data["runnable_key"].rsplit(":", 2)
            applied[run, step] += 1
        elif entry["kind"] == "attempt_completed":
            completed[data["runnable_key"]] += 1
    test.assertEqual(started, collections.Counter(site.orders.values()))
    test.assertEqual(applied, collections.Counter(
        (run, step) for run in site.orders.values() for step in steps))
    test.assertEqual(set(completed.values()), {1})


def check_ledger(test, site, steps):
    """An external system that checks idempotency keys has seen each step exactly once."""
    keys = collections.defaultdict(set)
    for line in pathlib.Path(site.ledger).read_text(encoding="utf-8").splitlines():
        key, run, step = line.split()
        keys[run, step].add(key)
    test.assertEqual(keys.keys(), {(run, step) for run in site.orders.values() for step in steps})
    test.assertEqual({where: seen for where, seen in keys.items() if len(seen) != 1}, {})


class BackendKillTest(cli.CliTest):
    def test_nothing_is_lost_or_applied_twice(self):
        store = self.url("s.db")
        site = Site(self, store)
        site.begin(site.drive, DRIVERS)
        site.begin(site.tally)
        kills = collections.Counter()
        while kills.total() < KILLS:
            site.wait_for_progress()
            kills[site.kill_one()] += 1
        site.wait_for_progress()
        site.finish()
        check_journal(self, site, STEPS)
        check_ledger(self, site, STEPS)
        self.assertEqual(self.ok_json("doctor", "--store", store)["verdict"], "ok")
        self.ok("journal", "verify", store)
        print(f"{dict(kills)} kills, {len(site.orders)} runs")


if __name__ == "__main__":
    cli.main(__doc__)
