#!/usr/bin/env python3
"""A broker that is killed between commit, push and acknowledgement, with receivers on WebSockets.

Each message that was answered reaches every subscriber at least once; the inbox key removes what
comes twice; the first arrivals of a lane are in order; an acknowledgement of an earlier connection
changes nothing.

Run as: python3 tests/faults/broker_push_kill_test.py path/to/broker_victim
HOLDFAST_LONG=1: 300 kills instead of 15.
"""

import contextlib
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
from support import server, ws  # noqa: E402
from support.broker import message  # noqa: E402
from support.deadline import DEADLINE_S  # noqa: E402

# Of FaultPoint in broker_store.h: after_commit, replied, deliveries_claimed, _pushed, _acked.
POINTS = (9, 10, 13, 14, 15)
TIMES = (1, 2, 5)
KILLS = 300 if os.environ.get("HOLDFAST_LONG") else len(POINTS) * len(TIMES)
SUBSCRIBERS = ("ann", "ben")
SENDERS = ("ann", "cat")


class Inbox:
    """What a member has stored, by the inbox key, across its connections."""

    def __init__(self, test, name):
        self.test, self.name = test, name
        self.stored = {}  # (sender, client id): attempt of the first arrival; in that order
        self.arrivals = 0
        self.fenced = 0

    def receive(self, stop):
        unacked = []
        while not stop.is_set():
            with contextlib.suppress(ws.Closed, OSError):
                connection = ws.Receiver(self.test.socket, self.test.tokens[self.name])
                connection.sock.settimeout(0.5)
                pushed = set()
                if unacked:
                    connection.send({"type": "client_ack", "delivery_ids": unacked[-1000:]})
                try:
                    self.serve(connection, stop, pushed, unacked)
                finally:
                    connection.drop()
            stop.wait(0.02)

    def serve(self, connection, stop, pushed, unacked):
        while not stop.is_set():
            try:
                got = connection.receive()
            except TimeoutError:
                continue
            if got["type"] == "push":
                for one in got["deliveries"]:
                    self.arrivals += 1
                    key = (one["sender_name"], one["client_message_id"])
                    self.stored.setdefault(key, one["attempt"])
                    pushed.add(one["delivery_id"])
                    unacked.append(one["delivery_id"])
                connection.send({"type": "client_ack", "delivery_ids": [
                    one["delivery_id"] for one in got["deliveries"]]})
            elif got["type"] == "ack":
                self.fenced += len(got["fenced"])
                strange = set(got["acked"]) - pushed
                self.test.assertFalse(strange, "acknowledged what this connection was not sent")
                unacked[:] = [one for one in unacked if one not in got["acked"] + got["fenced"]]


class PushKill(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.socket = str(self.folder / "socket")
        self.victim = None
        self.addCleanup(self.stop_victim)
        self.sent = {name: 0 for name in SENDERS}
        self.start_victim(-1, 1)
        admin = server.Client(self.socket)
        admin.good("POST", "/v1/workspaces", {"name": "team"})
        self.tokens = {
            name: admin.good("POST", "/v1/workspaces/team/members", {"name": name})["token"]
            for name in ("ann", "ben", "cat")}
        admin.good("POST", "/v1/workspaces/team/topics", {"name": "alerts"})
        for name in SUBSCRIBERS:
            admin.good("POST", "/v1/workspaces/team/topics/alerts/subscriptions",
                       {"member": name})
        self.stop_victim()

    def start_victim(self, point, times):
        self.victim = subprocess.Popen(
            [VICTIM, f"sqlite:{self.folder}/broker.db", str(self.folder / "limits"), self.socket,
             str(point), str(times)], stdout=subprocess.PIPE)
        self.assertEqual(self.victim.stdout.readline().strip(), b"listening")

    def stop_victim(self):
        if self.victim is not None:
            with contextlib.suppress(ProcessLookupError):
                self.victim.send_signal(signal.SIGTERM)
            self.victim.wait(DEADLINE_S)
            self.victim.stdout.close()
            self.victim = None

    def dead(self):
        return self.victim.poll() is not None

    def send(self, name, stop):
        """The messages of one sender in order: each is repeated until it has an answer."""
        while not stop.is_set():
            client = server.Client(self.socket, self.tokens[name])
            with contextlib.suppress(OSError, server.http.client.HTTPException):
                answer = client.post("/v1/messages", message(f"m-{self.sent[name]}"))
                self.assertIn(answer.status, (200, 201, 503), answer)
                if answer.status != 503:
                    self.sent[name] += 1
            stop.wait(0.001)

    def end_leases(self):
        """As if the leases of the killed broker had ended."""
        with contextlib.closing(sqlite3.connect(self.folder / "broker.db", timeout=60)) as db:
            db.execute("UPDATE delivery_queue SET lease_until = 1 WHERE state = 'leased'")
            db.commit()

    def open_deliveries(self):
        with contextlib.closing(sqlite3.connect(self.folder / "broker.db", timeout=60)) as db:
            return db.execute("SELECT count(*) FROM delivery_queue "
                              "WHERE state <> 'delivered'").fetchone()[0]

    def test_FO_01_FO_02_FO_03_R_02_kills_between_commit_push_and_ack(self):
        stop_sending, stop_receiving = threading.Event(), threading.Event()
        inboxes = {name: Inbox(self, name) for name in SUBSCRIBERS}
        threads = [threading.Thread(target=self.send, args=(name, stop_sending))
                   for name in SENDERS]
        threads += [threading.Thread(target=inbox.receive, args=(stop_receiving,))
                    for inbox in inboxes.values()]
        for thread in threads:
            thread.start()
        try:
            for kill in range(KILLS):
                point = POINTS[kill % len(POINTS)]
                self.start_victim(point, TIMES[kill // len(POINTS) % len(TIMES)])
                server.wait_until(self.dead, f"the broker dies at point {point}")
                self.assertEqual(self.victim.wait(), -signal.SIGKILL)
                self.victim.stdout.close()
                self.end_leases()
            self.start_victim(-1, 1)
            before = dict(self.sent)
            server.wait_until(lambda: all(self.sent[name] > before[name] for name in SENDERS),
                              "messages are accepted again")
            stop_sending.set()
            for thread in threads[:len(SENDERS)]:
                thread.join()
            server.wait_until(lambda: self.open_deliveries() == 0, "all is acknowledged")
        finally:
            stop_sending.set()
            stop_receiving.set()
            for thread in threads:
                thread.join()
        wanted = {name: [f"m-{n}" for n in range(self.sent[name])] for name in SENDERS}
        for name, inbox in inboxes.items():
            for sender in SENDERS:
                first = [client_id for who, client_id in inbox.stored if who == sender]
                # The last message may have been accepted without an answer.
                self.assertEqual(first[:len(wanted[sender])], wanted[sender], (name, sender))
                self.assertLessEqual(len(first), len(wanted[sender]) + 1)
            print(f"{name}: {inbox.arrivals} arrivals of {len(inbox.stored)} messages, "
                  f"{inbox.fenced} acknowledgements fenced, {KILLS} kills")
            self.assertGreater(inbox.arrivals, len(inbox.stored), "some came again")
        self.assertGreater(sum(inbox.fenced for inbox in inboxes.values()), 0,
                           "acknowledgements of earlier connections were fenced")


if __name__ == "__main__":
    VICTIM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
