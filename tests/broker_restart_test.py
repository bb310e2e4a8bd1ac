#!/usr/bin/env python3
"""kill -9 of a broker under clients that repeat their messages, on SQLite and PostgreSQL: every
answer stands, each message exists once and whole, and nothing is left behind.

Run as: python3 tests/broker_restart_test.py path/to/holdfast
"""

from support import broker, broker_load, cli, postgres

KILLS = 20
SENDERS = 8


class Kills(broker.BrokerTest):
    def test_every_answer_stands_after_kills(self):
        with broker_load.Load(self, [self.broker], SENDERS) as load:
            for kill in range(KILLS):
                load.wait_for_answers(3 + kill % 7)
                self.broker.kill()
                self.broker.start()
            load.wait_for_answers(SENDERS)
        load.check()


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
