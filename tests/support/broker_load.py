"""Clients of message brokers that repeat each message, unchanged, until it is accepted, and the
proof that every answer stands: each message is there once, under the ids that every answer gave."""

import collections
import http.client
import itertools
import threading

from support import server
from support.broker import message

CUT = (OSError, http.client.HTTPException)
PAUSE_S = 0.01
BUSY = 429


class Load:
    """Senders that use the brokers in turn. ann sends; ben reads what goes to the topic alerts, to
    ben and to the queue jobs."""

    def __init__(self, test, brokers, senders=8):
        self.test = test
        self.addresses = [broker.address for broker in brokers]  # kept over restarts
        self.finished = threading.Event()
        self.given_up = threading.Event()  # the test has failed: the brokers may stay down
        self.changed = threading.Condition()
        self.accepted = 0
        self.refused_by_limit = 0
        self.senders = [Sender(self, number) for number in range(senders)]

    def __enter__(self):
        for sender in self.senders:
            sender.start()
        return self

    def __exit__(self, kind, *failure):
        if kind is not None:
            self.given_up.set()
        self.finished.set()
        for sender in self.senders:
            sender.join(2 * server.DEADLINE_S)

    def note(self, answer):
        with self.changed:
            self.accepted += answer.status != BUSY
            self.refused_by_limit += answer.status == BUSY
            self.changed.notify_all()

    def wait_for_answers(self, more):
        with self.changed:
            wanted = self.accepted + more
            self.test.assertTrue(
                self.changed.wait_for(lambda: self.accepted >= wanted, server.DEADLINE_S),
                [problem for sender in self.senders for problem in sender.problems])

    def check(self):
        """Returns the number of messages."""
        test, ids = self.test, {}
        for sender in self.senders:
            test.assertFalse(sender.is_alive(), "a message was never answered")
            test.assertEqual(sender.problems, [])
            for client_id, answers in sender.answers.items():
                statuses = [status for status, _ in answers]
                test.assertLessEqual(statuses.count(201), 1, answers)
                test.assertEqual(set(statuses[1:]) - {200}, set(), answers)
                if answers:
                    (ids[client_id],) = {broker_id for _, broker_id in answers}
        found = {}
        for kind, ref in (("topic", "alerts"), ("queue", "jobs"),
                          ("dm", test.members["ben"]["pubkey"])):
            found |= self.history("ben", kind, ref)
        test.assertEqual({client_id: found.get(client_id) for client_id in ids}, ids)
        test.assertEqual(test.admin.good("POST", "/admin/orphan-check", {}),
                         {"total": 0, "found": []})
        return len(ids)

    def history(self, name, kind, ref):
        """{client id: broker id} of a whole history, which has no gap."""
        found, after = {}, 0
        while page := self.test.client(name).good("GET", "/v1/history", query={
                "kind": kind, "ref": ref, "after": after, "limit": 1000})["messages"]:
            for one in page:
                after += 1
                self.test.assertEqual(one["history_seq"], after)
                self.test.assertNotIn(one["client_message_id"], found)
                self.test.assertEqual(one["body"], f"text of {one['client_message_id']}")
                found[one["client_message_id"]] = one["broker_message_id"]
        return found


class Sender(threading.Thread):
    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load = load
        self.number = number
        self.turns = itertools.count(number)
        self.answers = collections.defaultdict(list)  # id -> (status, broker id) of each answer
        self.problems = []

    def destination(self, n):
        return (("topic", "alerts"), ("dm", self.load.test.members["ben"]["pubkey"]),
                ("queue", "jobs"))[n % 3]

    def run(self):
        n = 0
        while not self.load.finished.is_set() and not self.problems:
            client_id = f"s{self.number}-{n}"
            kind, ref = self.destination(n)
            request = message(client_id, body=f"text of {client_id}", kind=kind, ref=ref,
                              mentions=["cat"])
            while not (self.answers[client_id] or self.problems or self.load.given_up.is_set()):
                self.send_once(request)
            self.send_once(request)  # a repeat of what was answered
            n += 1

    def send_once(self, request):
        addresses = self.load.addresses
        client = server.Client(addresses[next(self.turns) % len(addresses)],
                               self.load.test.members["ann"]["token"])
        try:
            answer = client.post("/v1/messages", request)
        except CUT:
            threading.Event().wait(PAUSE_S)
            return
        if answer.status in (200, 201):
            self.answers[request["client_message_id"]].append(
                (answer.status, answer.json()["broker_message_id"]))
        elif answer.status == BUSY or answer.status >= 500:
            threading.Event().wait(PAUSE_S)
        else:
            self.problems.append(answer)
        if answer.status < 500:
            self.load.note(answer)
