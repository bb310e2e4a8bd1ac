#!/usr/bin/env python3
"""A broker that is killed with -9 between the commit of a message, the attempt at its webhook, and
the record of the outcome.

Each message that was accepted reaches the target at least once, always with the same webhook-id and
the same body. What was recorded as delivered is not sent again.

Run as: python3 tests/faults/broker_webhook_kill_test.py path/to/holdfast
HOLDFAST_LONG=1: 500 kills instead of 20.
"""

import contextlib
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import broker, cli, postgres, redis, server  # noqa: E402
from support.broker import message  # noqa: E402
from support.webhook import Target  # noqa: E402

KILLS = 500 if os.environ.get("HOLDFAST_LONG") else 20
# Where the broker is killed.
POINTS = ("after the commit", "before the answer", "after the answer", "while it sends others")


class SingleTest(broker.BrokerTest):
    def options(self):
        return ("--webhook-allow", "127.0.0.1")

    def setUp(self):
        super().setUp()
        self.seen = {}  # webhook-id: body
        self.counts = {}
        self.lock = threading.Lock()
        self.armed = None  # the number of requests until the kill, and whether it is answered
        self.killed = threading.Event()
        self.target = Target(self.answer)
        self.addCleanup(self.target.close)
        made = self.admin.good("POST", "/v1/workspaces/team/webhooks",
                               {"url": self.target.url(), "max_in_flight": 8})
        self.webhook = made["webhook"]["webhook_id"]
        self.accepted = []

    def answer(self, hook):
        with self.lock:
            body = self.seen.setdefault(hook.id, hook.body)
            self.assertEqual(body, hook.body, "an attempt has another body")
            self.counts[hook.id] = self.counts.get(hook.id, 0) + 1
            if self.armed is None:
                return 200
            left, answered = self.armed
            self.armed = (left - 1, answered)
            if left > 1:
                return 200
            self.armed = None
        if answered:
            # The broker gets its answer first, and dies before, in, or after its commit.
            threading.Timer(0.002 * (len(self.accepted) % 4), self.kill).start()
            return 200
        self.kill()
        return None

    def kill(self):
        self.broker.process.kill()
        self.killed.set()

    def send_one(self):
        """A message that the broker has, whether it answered or not."""
        n = len(self.accepted)
        self.accepted.append(f"m-{n}")
        with contextlib.suppress(OSError, server.http.client.HTTPException):
            answer = self.send(message(f"m-{n}"))
            self.assertEqual(answer.status, 201, answer)
            return True
        return False

    def restart(self):
        self.broker.process.wait(server.DEADLINE_S)
        self.broker.start()
        self.admin = self.broker.client(broker.ADMIN)

    def kill_once(self, point, round_number):
        self.killed.clear()
        lost = []
        with self.lock:
            self.armed = {"after the commit": None,
                          "before the answer": (1 + round_number % 3, False),
                          "after the answer": (1 + round_number % 3, True),
                          "while it sends others": (5, False)}[point]
        for _ in range(6):
            if not self.send_one():
                lost.append(self.accepted[-1])
                break
        if point == "after the commit":
            self.kill()
        self.assertTrue(self.killed.wait(server.DEADLINE_S), point)
        self.restart()
        for client_id in lost:  # as a daemon does
            answer = self.send(message(client_id))
            self.assertIn(answer.status, (200, 201), answer)

    def all_delivered(self):
        """Every message, whatever is left of its schedule."""
        listed = []
        after = ""
        while True:
            page = self.admin.good("GET", f"/v1/workspaces/team/webhooks/{self.webhook}/deliveries",
                                   query={"after": after} if after else None)
            listed += page["deliveries"]
            if not page["deliveries"]:
                break
            after = page["next_after"]
        return (len(listed) == len(self.accepted) and
                all(one["state"] == "delivered" for one in listed))

    def test_WH_05_kills_between_commit_attempt_and_record(self):
        for kill in range(KILLS):
            self.kill_once(POINTS[kill % len(POINTS)], kill // len(POINTS))
        server.wait_until(self.all_delivered, "everything is delivered")
        reached = {hook.message for hook in self.target.hooks}
        self.assertEqual(reached, set(self.accepted))
        self.assertEqual(len(self.seen), len(self.accepted), "one webhook-id for each message")
        again = sum(count - 1 for count in self.counts.values())
        print(f"{len(self.accepted)} messages, {len(self.target.hooks)} requests, "
              f"{again} of them again, {KILLS} kills")
        self.assertGreater(again, 0, "attempts without a record were repeated")
        before = len(self.target.hooks)
        self.kill()
        self.restart()
        self.send_one()
        server.wait_until(self.all_delivered, "the last one is delivered")
        self.assertEqual(len(self.target.hooks), before + 1, "what was recorded is not sent again")


class TwoBrokersTest(broker.BrokerTest):
    """Two brokers on one PostgreSQL database: each attempt is made by one of them, and the other
    takes over what a killed one had."""

    def setUp(self):
        self.cluster = postgres.Cluster().start()
        self.addCleanup(self.cluster.close)
        self.redis = redis.Redis().start()
        self.addCleanup(self.redis.close)
        super().setUp()
        self.second = broker.Broker(cli.program(), self.store(), *self.options(),
                                    "--admin-token-file", self.path("admin.token"),
                                    log=self.path("second.log"))
        self.second.start()
        self.addCleanup(self.second.close)
        self.target = Target()
        self.addCleanup(self.target.close)
        self.webhook = self.admin.good("POST", "/v1/workspaces/team/webhooks", {
            "url": self.target.url()})["webhook"]["webhook_id"]
        self.sent = 0

    def store(self):
        return broker.postgres_url(self.cluster, "webhooks")

    def options(self):
        return ("--limiter", self.redis.url, "--webhook-allow", "127.0.0.1")

    def send_some(self, count, brokers):
        for _ in range(count):
            client = brokers[self.sent % len(brokers)].client(self.members["ann"]["token"])
            self.assertEqual(client.post("/v1/messages", message(f"m-{self.sent}")).status, 201)
            self.sent += 1

    def reached(self):
        return set(self.target.messages) == {f"m-{n}" for n in range(self.sent)}

    def test_each_attempt_is_made_by_one_broker_and_the_other_takes_over(self):
        both = [self.broker, self.second]
        self.send_some(60, both)
        server.wait_until(self.reached, "all messages arrive")
        self.assertEqual(len(self.target.hooks), 60, "each was sent once")
        for round_number in range(4):
            victim, other = both[round_number % 2], both[1 - round_number % 2]
            self.send_some(3, [victim])
            victim.kill()
            self.send_some(10, [other])
            server.wait_until(self.reached, "the other broker takes over")
            victim.start()
        self.assertEqual(len({hook.id for hook in self.target.hooks}), self.sent)
        self.assertLess(len(self.target.hooks), self.sent + 4 * 5, "few came again")


if __name__ == "__main__":
    cli.main(__doc__)
