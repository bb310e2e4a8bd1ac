#!/usr/bin/env python3
"""A broker whose rate limiter is in Redis, and a Redis that loses everything. The numbers in the
names are those of docs/delivery-tests.md.

Run as: python3 tests/broker_limiter_test.py path/to/holdfast
"""

import re

from support import broker, cli, redis, server
from support.broker import message

LIMIT = 3
LONG_WINDOW_S = 1_000_000_000  # the window of 2001 to 2033: no test meets its end
FREE_REFUSALS = 10


class RedisLimiter(broker.BrokerTest):
    def setUp(self):
        self.redis = redis.Redis().start()
        self.addCleanup(self.redis.close)
        super().setUp()
        self.keep_windows()

    def options(self):
        return ("--limiter", self.redis.url)

    def settings(self):
        return {"rate_limit_per_window": LIMIT, "window_seconds": LONG_WINDOW_S}

    def keep_windows(self):
        """As if the running Redis had its data since 1970."""
        with self.commands() as run:
            (process,) = re.findall(r"run_id:(\w+)", run("INFO", "server"))
            run("HSET", "holdfast:limit:epoch", "run", process, "began", 0)

    def commands(self):
        return Commands(self.redis)

    def sent(self, *requests):
        return [self.send(request).status for request in requests]

    def fill(self):
        self.assertEqual(self.sent(*(message(f"m-{n}") for n in range(LIMIT))), [201] * LIMIT)

    def test_RL_01_RL_03_the_limit_of_a_window_and_denied_attempts_are_not_counted(self):
        self.fill()
        for n in range(5):
            refused = self.send(message(f"n-{n}"))
            self.rejected(refused, 429, "rate_limited")
            self.assertGreater(int(refused.headers["retry-after"]), 0)
        with self.commands() as run:
            (counter,) = run("KEYS", "holdfast:limit:counter:*")
            self.assertEqual(run("HGET", counter, "count"), str(LIMIT))

    def test_RL_01_the_next_window_is_open(self):
        self.admin.good("POST", "/v1/workspaces", {"name": "fast", "rate_limit_per_window": 1,
                                                   "window_seconds": 1})
        self.members["eve"] = self.add_member("fast", "eve")
        self.admin.good("POST", "/v1/workspaces/fast/topics", {"name": "alerts"})
        for n in range(3):
            server.wait_until(lambda n=n: self.send(message(f"m-{n}", mesh="fast"),
                                                    "eve").status == 201, "the next window")

    def test_RL_04_RL_05_RL_13_what_counts_as_the_same_message(self):
        lost = message("m-1", ref="nowhere")
        self.assertEqual(self.sent(lost, lost, lost), [404] * 3)  # one unit
        self.assertEqual(self.sent(message("m-1", ref="nowhere", body="other")), [404])
        self.assertEqual(self.sent(message("m-2"), message("m-3")), [201, 429])
        self.assertEqual(self.sent(lost, message("m-2")), [404, 200])
        far = self.send(message("m-1", mesh="other", ref="nowhere"), "dan")
        self.assertEqual(far.status, 404)  # the other workspace counts for itself

    def test_RL_06_free_retries_of_one_message_are_capped(self):
        self.assertEqual(self.sent(message("m-1")), [201])
        lost = message("m-2", ref="nowhere")
        statuses = self.sent(*[lost] * (FREE_REFUSALS + 4))
        # The first unit has its free retries; then one retry takes the last unit.
        self.assertEqual(statuses, [404] * (FREE_REFUSALS + 2) + [429] * 2)

    def test_RL_07_without_redis_new_messages_wait_and_repeats_are_answered(self):
        first = self.send(message("m-1")).json()
        self.redis.kill()
        failed = self.send(message("m-2"))
        self.rejected(failed, 503, "limiter_unavailable")
        self.assertGreater(int(failed.headers["retry-after"]), 0)
        again = self.send(message("m-1"))
        self.assertEqual((again.status, again.json()["broker_message_id"]),
                         (200, first["broker_message_id"]))
        self.assertEqual(self.client("ann").get("/v1/dedupe/m-2").status, 404)
        self.assertGreaterEqual(self.metric("cm_broker_limiter_errors_total"), 1)
        self.assertEqual(self.broker.client().get("/readyz").status, 200)
        self.redis.start()
        self.keep_windows()
        server.wait_until(lambda: self.send(message("m-2")).status == 201, "Redis is used again")

    def test_RL_08_every_key_expires(self):
        self.fill()
        self.sent(message("m-9"), message("n-1", ref="nowhere"))
        with self.commands() as run:
            keys = run("KEYS", "*")
            self.assertEqual(len(keys), 2 + LIMIT)
            for key in keys:
                self.assertGreater(run("PTTL", key), 0, key)

    def test_RL_09_a_redis_that_lost_its_data_is_full_until_the_window_ends(self):
        self.assertEqual(self.sent(message("m-1")), [201])
        for _ in range(2):
            self.redis.kill()
            self.redis.start()
            server.wait_until(lambda: self.send(message("m-2")).status != 503, "Redis is back")
            self.rejected(self.send(message("m-2")), 429, "rate_limited")
        self.assertEqual(self.sent(message("m-1")), [200])

    def test_RL_09_an_old_copy_of_the_data_does_not_reopen_a_window(self):
        with self.commands() as run:
            run("HSET", "holdfast:limit:epoch", "run", "0" * 40, "began", 0)
        self.rejected(self.send(message("m-1")), 429, "rate_limited")

    def test_RL_09_brokers_start_without_redis(self):
        self.redis.kill()
        self.broker.stop()
        self.broker.start()
        self.rejected(self.send(message("m-1")), 503, "limiter_unavailable")

    def test_a_url_of_the_limiter_is_checked_first(self):
        for url, says in (("rediss://localhost", "TLS"), ("redis://localhost:0", "port"),
                          ("redis://localhost?ttl=5", "ttl"), ("redis://", "host")):
            self.fails(2, "broker", "serve", "--store", self.url("none.db"), "--limiter", url,
                       says=says)


class Commands:
    """A connection to Redis."""

    def __init__(self, redis_server):
        self.client = redis_server.client()

    def __enter__(self):
        return self.client

    def __exit__(self, *_):
        self.client.close()


if __name__ == "__main__":
    cli.main(__doc__)
