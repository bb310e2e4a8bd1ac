#!/usr/bin/env python3
"""Two brokers on one PostgreSQL are killed at random while PostgreSQL restarts, and while the Redis
of their rate limit is killed, under clients that repeat their messages: every answer stands, each
message exists once and whole, and no window has more messages than its limit.

Run as: python3 tests/faults/broker_cluster_test.py path/to/holdfast
HOLDFAST_LONG=1: 300 rounds instead of 6.
"""

import os
import pathlib
import random
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from support import broker, broker_load, cli, postgres, redis  # noqa: E402

ROUNDS = 300 if os.environ.get("HOLDFAST_LONG") else 6
SENDERS = 8
LIMIT = 40
WINDOW_S = 1


class TwoBrokers(broker.BrokerTest):
    def setUp(self):
        self.cluster = postgres.Cluster().start()
        self.addCleanup(self.cluster.close)
        super().setUp()
        self.second = broker.Broker(cli.program(), self.store(), *self.options(),
                                    "--admin-token-file", self.path("admin.token"),
                                    log=self.path("second.log"))
        self.second.start()
        self.addCleanup(self.second.close)
        self.brokers = [self.broker, self.second]

    def store(self):
        return broker.postgres_url(self.cluster, "two")

    def options(self):
        return ("--single", "--limiter", "memory:" + self.path("limits"))

    def restart_postgres(self, dice):
        if dice.random() < 0.25:
            self.cluster.terminate_backends()
            return
        self.cluster.stop(dice.choice((signal.SIGINT, signal.SIGQUIT)))
        self.cluster.start()

    def round(self, dice):
        """Kills a broker, or both, before, while or after PostgreSQL restarts."""
        victims = dice.choice(([self.broker], [self.second], self.brokers))
        # Not the other way round: PostgreSQL dies with the thread that has started it.
        killer = threading.Thread(target=lambda: [one.kill() for one in victims])
        killer.start()
        if dice.random() < 0.8:
            self.restart_postgres(dice)
        killer.join()
        for one in victims:
            one.start()

    def test_every_answer_stands_after_kills_and_restarts(self):
        dice = random.Random(18)
        self.load = broker_load.Load(self, self.brokers, SENDERS)
        with self.load:
            for _ in range(ROUNDS):
                self.load.wait_for_answers(dice.randrange(1, 30))
                self.round(dice)
            self.load.wait_for_answers(2 * SENDERS)
        messages = self.load.check()
        print(f"{ROUNDS} rounds, {messages} messages", file=sys.stderr)


class RedisKills(TwoBrokers):
    """Redis loses its data at each kill: the window in which that happens is closed."""

    def setUp(self):
        self.redis = redis.Redis().start()
        self.addCleanup(self.redis.close)
        self.began = time.monotonic()
        super().setUp()

    def options(self):
        return ("--limiter", self.redis.url)

    def settings(self):
        return {"rate_limit_per_window": LIMIT, "window_seconds": WINDOW_S}

    def round(self, dice):
        self.redis.kill()
        if dice.random() < 0.5:
            super().round(dice)
        self.redis.start()

    def test_every_answer_stands_after_kills_and_restarts(self):
        super().test_every_answer_stands_after_kills_and_restarts()
        windows = (time.monotonic() - self.began) / WINDOW_S + 2
        created = sum(len(self.load.history("ben", kind, ref)) for kind, ref in (
            ("topic", "alerts"), ("queue", "jobs"), ("dm", self.members["ben"]["pubkey"])))
        self.assertLessEqual(created, LIMIT * windows)
        self.assertGreater(self.load.refused_by_limit, 0)


if __name__ == "__main__":
    cli.main(__doc__)
