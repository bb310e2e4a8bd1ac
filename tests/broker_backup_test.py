#!/usr/bin/env python3
"""`holdfast broker backup` and `restore`, between SQLite and PostgreSQL, while a broker serves.

Run as: python3 tests/broker_backup_test.py path/to/holdfast
"""

import contextlib
import os
import sqlite3
import threading

from support import broker, cli, postgres, server
from support.broker import message


class Backup(broker.BrokerTest):
    """The broker of the fixture is on SQLite."""

    def backup(self, name="saved.db", store=None):
        said = self.ok_json("broker", "backup", self.path(name), "--store", store or self.store())
        self.assertEqual(said["file"], self.path(name))
        return said

    def send_some(self):
        for n in range(70):  # more than a page
            self.assertEqual(self.send(message(f"m-{n}", mentions=["ben"])).status, 201)
        self.assertEqual(self.send(message("m-dm", kind="dm",
                                           ref=self.members["cat"]["pubkey"])).status, 201)
        self.assertEqual(self.send(message("m-queue", kind="queue", ref="jobs",
                                           meta={"n": 1})).status, 201)

    def seen(self):
        """What members can read."""
        ben, cat = self.client("ben"), self.client("cat")
        return [ben.good("GET", "/v1/history", query={"ref": "alerts"}),
                cat.good("GET", "/v1/history", query={"kind": "dm",
                                                      "ref": self.members["cat"]["pubkey"]}),
                ben.good("GET", "/v1/history", query={"kind": "queue", "ref": "jobs"}),
                ben.good("GET", "/v1/mentions"),
                self.client("ann").good("GET", "/v1/dedupe/m-queue"),
                self.admin.good("GET", "/v1/workspaces/team"),
                self.admin.good("GET", "/v1/workspaces/team/members"),
                self.admin.good("GET", "/v1/workspaces/team/topics/alerts")]

    def serve(self, store, *options):
        self.broker.stop()
        self.broker = broker.Broker(cli.program(), store, *options, "--admin-token-file",
                                    self.path("admin.token"), log=self.path("restored.log"))
        self.broker.start()
        self.addCleanup(self.broker.close)
        self.admin = self.broker.client(broker.ADMIN)

    def check_restored(self, before):
        self.assertEqual(self.seen(), before)
        again = self.send(message("m-3", mentions=["ben"]))
        self.assertEqual(again.status, 200)
        self.assertEqual(self.send(message("m-new")).status, 201)
        self.assertEqual(self.admin.good("POST", "/admin/orphan-check", {})["total"], 0)

    def test_a_store_in_use_is_backed_up_and_restored(self):
        self.send_some()
        before = self.seen()
        said = self.backup()
        self.assertEqual(said["messages"], 72)
        restored = self.ok_json("broker", "restore", self.path("saved.db"), "--store",
                                self.url("restored.db"))
        self.assertEqual((restored["messages"], restored["rows"], restored["orphans"]),
                         (72, said["rows"], 0))
        self.serve(self.url("restored.db"))
        self.check_restored(before)

    def test_a_backup_under_load_is_of_one_moment(self):
        stop = threading.Event()

        def send():
            n = 0
            while not stop.is_set():
                self.send(message(f"x-{n}"))
                n += 1
        sender = threading.Thread(target=send)
        sender.start()
        try:
            self.send_some()
            said = self.backup()
        finally:
            stop.set()
            sender.join(server.DEADLINE_S)
        self.assertGreaterEqual(said["messages"], 72)
        self.assertIn("no orphans", self.ok("broker", "check", "--store", self.url("saved.db")))

    def test_PostgreSQL_and_back(self):
        cluster = postgres.Cluster().start()
        self.addCleanup(cluster.close)
        there = broker.postgres_url(cluster, "restored")
        self.send_some()
        before = self.seen()
        self.backup()
        self.assertEqual(self.ok_json("broker", "restore", self.path("saved.db"), "--store",
                                      there)["orphans"], 0)
        self.serve(there, "--single", "--limiter", "memory:" + self.path("limits"))
        self.check_restored(before)
        before = self.seen()
        said = self.backup("second.db", there)
        self.assertEqual(said["messages"], 73)
        self.ok("broker", "restore", self.path("second.db"), "--store", self.url("back.db"))
        self.serve(self.url("back.db"))
        self.assertEqual(self.seen(), before)

    def test_a_backup_of_an_older_program_is_restored(self):
        self.send_some()
        before = self.seen()
        self.backup()
        with contextlib.closing(sqlite3.connect(self.path("saved.db"))) as db, db:
            for index in ("member_token_key", "delivery_queue_open", "delivery_queue_leased",
                          "delivery_queue_dead"):
                db.execute(f"DROP INDEX {index}")
            for table in ("attempt", "delivery", "cursor", "filter", "endpoint"):
                db.execute(f"DROP TABLE webhook_{table}")
            for table in ("queue_entry", "queue_consumer"):
                db.execute(f"DROP TABLE {table}")
            for column in ("ordering", "access", "max_deliveries", "lease_ms"):
                db.execute(f"ALTER TABLE queue DROP COLUMN {column}")
            db.execute("ALTER TABLE message_history DROP COLUMN redacted_at")
            db.execute("PRAGMA user_version = 2")
        old = cli.snapshot(self.directory)[self.path("saved.db")]
        self.ok("broker", "restore", self.path("saved.db"), "--store", self.url("new.db"))
        self.assertEqual(cli.snapshot(self.directory)[self.path("saved.db")], old)
        self.serve(self.url("new.db"))
        self.check_restored(before)

    def test_nothing_is_replaced(self):
        self.send_some()
        self.backup()
        size = os.path.getsize(self.path("saved.db"))
        self.fails(2, "broker", "backup", self.path("saved.db"), "--store", self.store(),
                   says="already exists")
        self.assertEqual(os.path.getsize(self.path("saved.db")), size)
        self.broker.stop()
        before = cli.snapshot(self.directory)[self.path("broker.db")]
        self.fails(2, "broker", "restore", self.path("saved.db"), "--store", self.store(),
                   says="not empty")
        self.assertEqual(cli.snapshot(self.directory)[self.path("broker.db")], before)
        self.assertEqual([name for name in os.listdir(self.directory) if "partial" in name], [])

    def test_what_is_not_a_backup_is_refused(self):
        self.write("text.db", "no database\n" * 100)
        self.fails(2, "broker", "restore", self.path("text.db"), "--store",
                   self.url("new.db"), says="not a file of a Holdfast broker")
        self.fails(2, "broker", "restore", self.path("none.db"), "--store", self.url("new.db"),
                   says="none.db")
        self.fails(2, "broker", "backup", self.path("out.db"), "--store", self.url("none.db"),
                   says="none.db")
        self.backup()
        with contextlib.closing(sqlite3.connect(self.path("saved.db"))) as db, db:
            db.execute("PRAGMA user_version = 99")
        self.fails(2, "broker", "restore", self.path("saved.db"), "--store",
                   self.url("new.db"), says="newer holdfast")


if __name__ == "__main__":
    cli.main(__doc__)
