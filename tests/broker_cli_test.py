#!/usr/bin/env python3
"""`holdfast broker workspace|member|topic|queue|check|sweep`, on a store and through a broker.

Run as: python3 tests/broker_cli_test.py path/to/holdfast
"""

import os
import re

from support import broker, cli, server
from support.broker import message


class OnAStore(cli.CliTest):
    def made(self):
        self.assertEqual(self.ok("broker", "workspace", "create", "team"),
                         "workspace team created\n")
        token = self.ok("broker", "member", "create", "team", "ann").strip()
        self.assertRegex(token, r"\Ahfm_[A-Za-z0-9_-]{43}\Z")
        return token

    def test_objects_are_made_listed_and_ended(self):
        self.made()
        self.ok("broker", "member", "create", "team", "ben", "--pubkey", "ab" * 32)
        self.assertEqual(self.ok("broker", "topic", "create", "team", "alerts", "--closed"),
                         "topic alerts created\n")
        self.assertIn("reader", self.ok("broker", "topic", "subscribe", "team", "alerts", "ben",
                                        "--read-only"))
        self.ok("broker", "topic", "subscribe", "team", "alerts", "ann")
        shown = self.ok_json("broker", "topic", "show", "team", "alerts")
        self.assertEqual([(one["member"], one["role"]) for one in shown["subscriptions"]],
                         [("ann", "writer"), ("ben", "reader")])
        self.assertNotIn("ben", self.ok("broker", "topic", "unsubscribe", "team", "alerts", "ben"))
        self.assertEqual(self.ok("broker", "queue", "create", "team", "jobs"),
                         "queue jobs created\n")
        self.assertIn("jobs", self.ok("broker", "queue", "list", "team"))
        self.assertEqual(self.ok("broker", "member", "revoke", "team", "BEN"), "ben is revoked\n")
        listed = self.ok("broker", "member", "list", "team")
        self.assertRegex(listed, r"ben +revoked")
        self.assertIn("archived", self.ok("broker", "topic", "archive", "team", "alerts"))
        self.assertIn("alerts", self.ok("broker", "topic", "list", "team"))
        self.assertIn("team", self.ok("broker", "workspace", "list"))
        self.assertEqual(self.ok_json("broker", "workspace", "show", "team")["name"], "team")

    def test_a_workspace_is_deleted_only_when_confirmed(self):
        self.made()
        self.fails(2, "broker", "workspace", "delete", "team", says="--confirm")
        self.assertIn("team", self.ok("broker", "workspace", "list"))
        self.ok("broker", "workspace", "delete", "team", "--confirm")
        self.assertIn("no workspaces", self.ok("broker", "workspace", "list"))

    def test_an_invitation_is_a_link_with_a_secret_of_256_bits(self):
        self.made()
        for url, options in (("http://127.0.0.1:7718", ()),
                             ("https://broker.example", ("--url", "https://broker.example"))):
            link = self.ok("broker", "member", "invite", "team", *options)
            self.assertRegex(link, rf"\A{re.escape(url)}/join#hfi_[A-Za-z0-9_-]{{43}}\n\Z")

    def test_errors_name_the_object_and_what_to_do(self):
        self.fails(2, "broker", "workspace", "list", says="broker workspace create")
        self.assertFalse(os.path.exists(self.path("broker.db")), "a reading command made a store")
        self.made()
        self.fails(2, "broker", "workspace", "create", "team", says="exists already")
        self.fails(2, "broker", "member", "create", "none", "x", says='workspace "none"')
        self.fails(2, "broker", "topic", "show", "team", "none", says='topic "none"')
        self.fails(2, "broker", "workspace", "create", "a b", says="workspace")
        self.fails(2, "broker", "workspace", "create", "w", "--dedupe-days", "3", says="7")
        self.fails(2, "broker", "workspace", "list", "--store", "nonsense:x", says="sqlite:PATH")
        self.fails(2, "broker", "workspace", "list", "--store", "sqlite:broker.db", "--broker",
                   "http://127.0.0.1:1", says="--broker")
        self.fails(5, "broker", "workspace", "list", "--broker", "http://127.0.0.1:1",
                   says="broker serve")
        self.fails(2, "broker", "serve", "--limiter", "nonsense", says="redis://HOST")
        self.fails(2, "broker", "serve", "--store", "postgres://x@127.0.0.1/y",
                   says="--limiter redis://HOST, or --single")
        self.write("short.token", "short\n")
        self.fails(2, "broker", "serve", "--admin-token-file", "short.token", says="openssl")

    def test_check_and_sweep_of_a_new_store(self):
        self.made()
        self.assertIn("no orphans", self.ok("broker", "check"))
        self.assertEqual(self.ok_json("broker", "check"), {"total": 0, "found": []})
        self.assertIn("0 messages", self.ok("broker", "sweep"))

    def test_help_teaches_each_level(self):
        self.assertIn("broker", self.ok("--help"))
        self.assertIn("workspace", self.ok("broker", "--help"))
        self.assertIn("subscribe", self.ok("help", "broker", "topic"))
        self.assertIn("--read-only", self.ok("broker", "topic", "subscribe", "--help"))
        self.fails(2, "broker", "topik", says='did you mean')
        completion = self.ok("completion", "bash")
        self.assertIn("'broker topic subscribe')", completion)
        self.assertIn("broker topic subscribe", self.ok("help", "--man"))


class InAServer(cli.CliTest):
    def test_a_server_serves_a_broker_too(self):
        self.ok("broker", "workspace", "create", "team")
        token = self.ok("broker", "member", "create", "team", "ann").strip()
        self.ok("broker", "queue", "create", "team", "jobs")
        self.fails(2, "server", "--broker-listen", "127.0.0.1:0", says="--broker")
        with server.running(cli.program(), self.url("runs.db"), "--broker",
                            self.url("broker.db"), "--broker-listen", "127.0.0.1:0",
                            log=self.path("log")) as both:
            found = server.wait_until(
                lambda: re.search(r"broker_url=\S*http://127\.0\.0\.1:(\d+)", both.logged()),
                "the broker listens")
            there = server.Client(("127.0.0.1", int(found[1])), token)
            sent = there.post("/v1/messages", message("m-1", kind="queue", ref="jobs"))
            self.assertEqual(sent.status, 201, sent)
            self.assertEqual(both.client().get("/readyz").status, 200)
            self.assertEqual(both.client().get("/v1/messages").status, 404)
            self.fails(5, "broker", "check", says="in use by a broker")
            self.assertEqual(both.stop(), 0)
        self.assertEqual(self.ok_json("broker", "check"), {"total": 0, "found": []})


class ThroughABroker(broker.BrokerTest):
    def test_commands_do_the_same_through_a_broker(self):
        remote = ("--broker", self.broker.url, "--token-file", self.path("admin.token"))
        self.ok("broker", "workspace", "create", "far", *remote)
        token = self.ok("broker", "member", "create", "far", "eve", *remote).strip()
        self.ok("broker", "topic", "create", "far", "news", *remote)
        sent = self.broker.client(token).post("/v1/messages",
                                              message("m-1", mesh="far", ref="news"))
        self.assertEqual(sent.status, 201, sent)
        self.assertIn("no orphans", self.ok("broker", "check", *remote))
        self.assertEqual(
            self.ok("broker", "message", "redact", "far", sent.json()["broker_message_id"],
                    *remote),
            f"the content of message {sent.json()['broker_message_id']} is removed\n")
        self.fails(2, "broker", "message", "redact", "far", "01JD3ZK8Q6X4T2V9B7N5M1C0RA", *remote,
                   says="no message")
        link = self.ok("broker", "member", "invite", "far", *remote)
        self.assertTrue(link.startswith(self.broker.url + "/join#"))
        environment = {"HOLDFAST_BROKER": self.broker.url, "HOLDFAST_BROKER_TOKEN": broker.ADMIN}
        self.assertIn("far", self.ok("broker", "workspace", "list", env=environment))
        self.fails(2, "broker", "workspace", "list", "--broker", self.broker.url,
                   says="--token-file")
        self.fails(5, "broker", "workspace", "create", "far", "--store", self.store(),
                   says="--broker")

    def test_the_owner_of_the_socket_is_an_administrator(self):
        self.broker.stop()
        self.broker.start("--socket", self.path("socket"))
        listed = self.ok_json("broker", "workspace", "list", "--broker",
                              "unix:" + self.path("socket"))
        self.assertEqual([one["name"] for one in listed["workspaces"]], ["other", "team"])


if __name__ == "__main__":
    cli.main(__doc__)
