#!/usr/bin/env python3
"""kill -9 of a broker under clients that repeat their messages, on SQLite and PostgreSQL: every
answer stands, each message exists once and whole, and nothing is left behind.

Run as: python3 tests/broker_restart_test.py path/to/holdfast
"""

import collections
import http.client
import threading

from support import broker, cli, postgres, server
from support.broker import message

KILLS = 20
SENDERS = 8


class Sender(threading.Thread):
    """Sends messages one after the other; each is repeated, unchanged, until it is accepted."""

    def __init__(self, test, number):
        super().__init__()
        self.test = test
        self.number = number
        self.answers = collections.defaultdict(list)  # id -> (status, broker id) of each answer
        self.problems = []

    def destination(self, n):
        return (("topic", "alerts"), ("dm", self.test.members["ben"]["pubkey"]),
                ("queue", "jobs"))[n % 3]

    def run(self):
        client, n = self.test.client("ann"), 0
        while not self.test.finished.is_set():
            client_id = f"s{self.number}-{n}"
            kind, ref = self.destination(n)
            request = message(client_id, body=f"text of {client_id}", kind=kind, ref=ref,
                              mentions=["cat"])
            while not self.answers[client_id]:
                self.send_once(client, request)
            self.send_once(client, request)  # a repeat of what was answered
            n += 1

    def send_once(self, client, request):
        try:
            answer = client.post("/v1/messages", request)
        except (OSError, http.client.HTTPException):
            self.test.up.wait(server.DEADLINE_S)
            return
        if answer.status in (200, 201):
            self.answers[request["client_message_id"]].append(
                (answer.status, answer.json()["broker_message_id"]))
            with self.test.changed:
                self.test.accepted += 1
                self.test.changed.notify_all()
        elif answer.status < 500:
            self.problems.append(answer)


class Kills(broker.BrokerTest):
    def test_every_answer_stands_after_kills(self):
        self.changed = threading.Condition()
        self.accepted = 0
        self.up, self.finished = threading.Event(), threading.Event()
        self.up.set()
        senders = [Sender(self, n) for n in range(SENDERS)]
        for sender in senders:
            sender.start()
        try:
            for kill in range(KILLS):
                self.wait_for_answers(3 + kill % 7)
                self.up.clear()
                self.broker.kill()
                self.broker.start()
                self.up.set()
            self.wait_for_answers(SENDERS)
        finally:
            self.finished.set()
            self.up.set()
            for sender in senders:
                sender.join(server.DEADLINE_S)
        self.check(senders)

    def wait_for_answers(self, more):
        with self.changed:
            wanted = self.accepted + more
            self.assertTrue(self.changed.wait_for(lambda: self.accepted >= wanted,
                                                  server.DEADLINE_S))

    def check(self, senders):
        ids = {}
        for sender in senders:
            self.assertEqual(sender.problems, [])
            for client_id, answers in sender.answers.items():
                self.assertLessEqual([status for status, _ in answers].count(201), 1, answers)
                self.assertEqual({status for status, _ in answers[1:]} - {200}, set(), answers)
                (ids[client_id],) = {broker_id for _, broker_id in answers}
        found = {}
        for name, kind, ref in (("ben", "topic", "alerts"), ("ben", "queue", "jobs"),
                                ("ben", "dm", self.members["ben"]["pubkey"])):
            found |= self.history(name, kind, ref)
        self.assertEqual({client_id: found.get(client_id) for client_id in ids}, ids)
        self.assertEqual(self.admin.good("POST", "/admin/orphan-check", {}),
                         {"total": 0, "found": []})

    def history(self, name, kind, ref):
        """{client id: broker id} of a whole history, which has no gap."""
        found, after = {}, 0
        while page := self.client(name).good("GET", "/v1/history", query={
                "kind": kind, "ref": ref, "after": after, "limit": 1000})["messages"]:
            for one in page:
                after += 1
                self.assertEqual(one["history_seq"], after)
                self.assertNotIn(one["client_message_id"], found)
                self.assertEqual(one["body"], f"text of {one['client_message_id']}")
                found[one["client_message_id"]] = one["broker_message_id"]
        return found


class PostgresKills(Kills):
    def setUp(self):
        self.cluster = postgres.Cluster().start()
        self.addCleanup(self.cluster.close)
        super().setUp()

    def store(self):
        return broker.postgres_url(self.cluster, "kills")

    def options(self):
        return ("--single", "--limiter", "memory:" + self.path("limits"))


if __name__ == "__main__":
    cli.main(__doc__)
