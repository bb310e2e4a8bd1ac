#!/usr/bin/env python3
"""Two brokers on one PostgreSQL database and one Redis: one limit, waiting requests, and a
database that dies and returns. The numbers in the names are those of docs/delivery-tests.md.

Run as: python3 tests/broker_pair_test.py path/to/holdfast
"""

import collections
import http.client
import re
import signal
import threading
import time

from support import broker, cli, postgres, redis, server
from support.broker import message

CLIENTS = 64
LIMIT = 100
LONG_WINDOW_S = 1_000_000_000


class Pair(broker.BrokerTest):
    def setUp(self):
        self.cluster = postgres.Cluster().start()
        self.addCleanup(self.cluster.close)
        self.redis = redis.Redis().start()
        self.addCleanup(self.redis.close)
        super().setUp()
        self.second = broker.Broker(cli.program(), self.store(), *self.options(),
                                    log=self.path("second.log"))
        self.second.start()
        self.addCleanup(self.second.close)

    def store(self):
        return broker.postgres_url(self.cluster, "pair")

    def options(self):
        return ("--limiter", self.redis.url)

    def clients(self, name="ann"):
        token = self.members[name]["token"]
        return [one.client(token) for one in (self.broker, self.second)]

    def test_RL_02_64_clients_of_two_brokers_never_exceed_the_limit_together(self):
        self.admin.good("POST", "/v1/workspaces", {
            "name": "far", "rate_limit_per_window": LIMIT, "window_seconds": LONG_WINDOW_S})
        self.members["eve"] = self.add_member("far", "eve")
        self.admin.good("POST", "/v1/workspaces/far/topics", {"name": "alerts"})
        connection = self.redis.client()
        self.addCleanup(connection.close)
        (process,) = re.findall(r"run_id:(\w+)", connection("INFO", "server"))
        connection("HSET", "holdfast:limit:epoch", "run", process, "began", 0)
        statuses = collections.Counter()
        lock = threading.Lock()

        def send(number):
            for n in range(3):
                answer = self.clients("eve")[number % 2].post(
                    "/v1/messages", message(f"c{number}-{n}", mesh="far"))
                with lock:
                    statuses[answer.status] += 1
        threads = [threading.Thread(target=send, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(server.DEADLINE_S)
        self.assertEqual(statuses, {201: LIMIT, 429: 3 * CLIENTS - LIMIT})

    def test_H_02_the_database_is_killed_and_returns(self):
        finished, problems, ids = threading.Event(), [], collections.defaultdict(set)

        def send_all(number):
            for n in range(40):
                request = message(f"s{number}-{n}", kind="queue", ref="jobs")
                while not ids[request["client_message_id"]] and not finished.is_set():
                    try:
                        answer = self.clients()[(number + n) % 2].post("/v1/messages", request)
                    except (OSError, http.client.HTTPException) as error:
                        problems.append(error)
                        return
                    if answer.status in (200, 201):
                        ids[request["client_message_id"]].add(answer.json()["broker_message_id"])
                    elif answer.status < 500:
                        problems.append(answer)
                        return
                    else:
                        finished.wait(0.02)  # before the message is repeated
        self.addCleanup(finished.set)
        threads = [threading.Thread(target=send_all, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        server.wait_until(lambda: len(ids) > 16, "messages are accepted")
        self.cluster.stop(signal.SIGQUIT)
        for one in (self.broker, self.second):
            answer = server.wait_until(
                lambda one=one: self.unready(one), "the broker is not ready")
            self.assertIn("does not answer", answer.json()["reason"])
            self.assertEqual(one.client().get("/healthz").status, 200)
        self.cluster.start()
        for thread in threads:
            thread.join(server.DEADLINE_S)
        self.assertEqual(problems, [])
        self.assertEqual(len(ids), 8 * 40)
        for one in (self.broker, self.second):
            self.assertEqual(one.client().get("/readyz").status, 200)
        for number, client_id in enumerate(sorted(ids)):
            again = self.clients()[number % 2].post(
                "/v1/messages", message(client_id, kind="queue", ref="jobs"))
            self.assertEqual((again.status, {again.json()["broker_message_id"]}),
                             (200, ids[client_id]))
        listed = self.client("ann").good("GET", "/v1/history", query={
            "kind": "queue", "ref": "jobs", "limit": 1000})["messages"]
        self.assertEqual(collections.Counter(one["client_message_id"] for one in listed),
                         collections.Counter(ids.keys()))
        self.assertEqual(self.admin.good("POST", "/admin/orphan-check", {})["total"], 0)

    def test_a_request_that_waits_at_one_broker_is_woken_by_the_other(self):
        here, there = self.clients("ben")
        operator = self.second.client()
        found, ended = [], threading.Event()

        def receive():
            while not ended.is_set():
                got = there.good("GET", "/v1/deliveries?wait=10&limit=1")
                if got["deliveries"]:
                    found.append(got)
                    return

        def received_after(wake):
            """What a request that waits at the second broker gets after a call at the first."""
            thread = threading.Thread(target=receive)
            thread.start()
            server.wait_until(lambda: "\ncm_broker_delivery_polls 1\n"
                              in operator.get("/metrics").text, "the request waits")
            wake()
            thread.join(server.DEADLINE_S)
            return found[-1]

        def ack(got):
            return here.good("POST", "/v1/deliveries/ack", {
                "lease": got["lease"], "delivery_ids": [got["deliveries"][0]["delivery_id"]]})
        self.addCleanup(ended.set)
        # Without notifications each request would wait for its end: together, beyond the deadline.
        rounds = 2 + int(server.DEADLINE_S / 20)
        end = time.monotonic() + server.DEADLINE_S
        for n in range(rounds):
            held = received_after(lambda n=n: self.send(message(f"a-{n}")))
            self.send(message(f"b-{n}"))
            got = received_after(lambda held=held: ack(held))
            self.assertEqual([one["deliveries"][0]["client_message_id"] for one in (held, got)],
                             [f"a-{n}", f"b-{n}"])
            self.assertEqual(ack(got)["fenced"], [])
        self.assertLess(time.monotonic(), end, "requests were not woken")

    @staticmethod
    def unready(one):
        answer = one.client().get("/readyz")
        return answer if answer.status == 503 else None


if __name__ == "__main__":
    cli.main(__doc__)
