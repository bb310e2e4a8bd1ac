#!/usr/bin/env python3
"""A daemon and a broker that are killed at their fault points, each alone and both together, while
messages go from a program through the daemon to the broker and back into the inbox.

Each message that was answered is in the inbox exactly once, nothing else is, and the messages of a
lane are there in the order in which they were handed over.

Run as: python3 tests/faults/daemon_kill_test.py path/to/daemon_victim path/to/broker_victim
HOLDFAST_LONG=1: 5,000 kills instead of 60.
"""

import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import server  # noqa: E402
from support.deadline import DEADLINE_S  # noqa: E402

# Of OutboxFault: send_begun, send_inserted, claimed, completed, before_commit, after_commit; of
# InboxFault with 100 added: begun, inserted, before_commit, after_commit. And how often a daemon
# reaches it while it starts.
DAEMON_POINTS = ((0, 0), (1, 0), (2, 0), (3, 0), (7, 1), (8, 1), (100, 2), (101, 0), (102, 2),
                 (103, 2))
# Of FaultPoint in broker_store.h, without those of jobs.
BROKER_POINTS = tuple((point, 0) for point in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15))
KILLS = 5000 if os.environ.get("HOLDFAST_LONG") else 60
LANES = ("#alerts", "dm")


class Victim:
    """A program that is started again after each death."""

    def __init__(self, *command):
        self.command = command
        self.process = None

    def start(self, point=-1, times=1):
        self.process = subprocess.Popen([*self.command, str(point), str(times)],
                                        stdout=subprocess.PIPE)
        if self.process.stdout.readline().strip() != b"listening":
            code = self.process.wait(DEADLINE_S)
            # The point may be reached before the line is printed.
            if point < 0 or code != -signal.SIGKILL:
                raise AssertionError(f"{self.command[0]} ended with {code}")

    def dead(self):
        return self.process.poll() is not None

    def end(self, number):
        """Returns the exit code."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        return code


class DaemonKill(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.home = self.folder / "daemon"
        self.broker = Victim(BROKER, f"sqlite:{self.folder}/broker.db",
                             str(self.folder / "limits"), str(self.folder / "broker"))
        self.daemon = Victim(DAEMON, str(self.home))
        self.broker.start()
        self.addCleanup(lambda: self.broker.end(signal.SIGKILL))
        self.make_member()
        self.daemon.start()
        self.addCleanup(lambda: self.daemon.end(signal.SIGKILL))
        self.sent = {lane: 0 for lane in LANES}
        self.faults = []

    def make_member(self):
        admin = server.Client(str(self.folder / "broker"))
        admin.good("POST", "/v1/workspaces", {"name": "team"})
        self.member = admin.good("POST", "/v1/workspaces/team/members", {"name": "eva"})
        admin.good("POST", "/v1/workspaces/team/topics", {"name": "alerts"})
        admin.good("POST", "/v1/workspaces/team/topics/alerts/subscriptions", {"member": "eva"})
        self.home.mkdir(mode=0o700)
        config = {"brokers": [f"unix:{self.folder}/broker"], "workspace": "team", "tcp": "off",
                  "initial_backoff_ms": 20, "max_backoff_ms": 200}
        member = {name: self.member[name] for name in ("name", "pubkey", "token")}
        for name, content in (("config.json", config), ("member.json", member)):
            (self.home / name).write_text(json.dumps(content), encoding="utf-8")

    def client(self):
        return server.Client(str(self.home / "sock"))

    def send(self, lane, stop):
        """Hands over the messages of a lane in order: each is repeated until it has an answer."""
        while not stop.is_set():
            with contextlib.suppress(OSError, server.http.client.HTTPException):
                number = self.sent[lane]
                answer = self.client().post("/v1/send", {
                    "to": lane if lane != "dm" else self.member["pubkey"],
                    "message": f"{lane} {number}", "client_message_id": f"{lane[-3:]}-{number}"})
                if answer.status in (200, 202):
                    self.sent[lane] += 1
                elif answer.status not in (429, 503):
                    self.faults.append(answer)
            stop.wait(0.002)

    def end_leases(self):
        """As if the leases of a broker that was killed had ended."""
        with contextlib.closing(sqlite3.connect(self.folder / "broker.db", timeout=60)) as db:
            db.execute("UPDATE delivery_queue SET lease_until = 1 WHERE state = 'leased'")
            db.commit()

    def restart(self, victim, point=-1, times=1):
        victim.end(signal.SIGKILL)
        if victim is self.broker:
            self.end_leases()
        victim.start(point, times)

    def kill_once(self, number):
        """At a fault point of the daemon, of the broker, or of one while the other dies too."""
        if number % 2 == 0:
            victim, points = self.daemon, DAEMON_POINTS
        else:
            victim, points = self.broker, BROKER_POINTS
        point, at_start = points[number // 2 % len(points)]
        self.restart(victim, point, at_start + 1 + number // 40 % 3)
        server.wait_until(victim.dead, f"death at point {point} of {victim.command[0]}")
        self.assertEqual(victim.process.wait(), -signal.SIGKILL)
        self.restart(victim)
        if number % 5 == 4:
            self.restart(self.broker if victim is self.daemon else self.daemon)
            return 2
        return 1

    def bodies(self):
        """Of the whole inbox, in its order."""
        bodies, after = [], 0
        while True:
            page = self.client().good("GET", "/v1/inbox", query={"after": after, "limit": 1000})
            if not page["messages"]:
                return bodies
            bodies += [one["body"] for one in page["messages"]]
            after = page["next_after"]

    def settled(self):
        with contextlib.suppress(OSError, server.http.client.HTTPException, AssertionError):
            health = self.client().good("GET", "/v1/health")
            return (health["queue_depth"], health["inflight"]) == (0, 0) and \
                len(self.bodies()) >= sum(self.sent.values())
        return False

    def test_CR_02_CR_03_IN_03_G_08_G_10_R_02_kills_of_daemon_and_broker(self):
        stop = threading.Event()
        threads = [threading.Thread(target=self.send, args=(lane, stop)) for lane in LANES]
        for thread in threads:
            thread.start()
        kills = 0
        try:
            while kills < KILLS:
                kills += self.kill_once(kills)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        server.wait_until(self.settled, "all messages arrive")
        self.assertEqual(self.faults, [])
        bodies = self.bodies()
        for lane in LANES:
            received = [body for body in bodies if body.startswith(lane + " ")]
            # The last message may have been stored without an answer.
            self.assertIn(len(received), (self.sent[lane], self.sent[lane] + 1))
            self.assertEqual(received, [f"{lane} {n}" for n in range(len(received))])
        health = self.client().good("GET", "/v1/health")
        self.assertEqual(health["dead"], 0)
        print(f"{kills} kills, {len(bodies)} messages")


if __name__ == "__main__":
    BROKER = os.path.abspath(sys.argv.pop(2))
    DAEMON = os.path.abspath(sys.argv.pop(1))
    unittest.main()
