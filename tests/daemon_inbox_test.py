#!/usr/bin/env python3
"""What `holdfast daemon` receives: over WebSockets and requests that wait, from a real broker that
is killed and restarted, and from one that sends anything.

Run as: python3 tests/daemon_inbox_test.py path/to/holdfast
"""

import contextlib
import glob
import json
import os
import sqlite3

from support import broker, cli, server
from support.daemon import FakeBrokerTest, JoinedTest

KEY = "bb" * 32


def delivery(number, **changes):
    """As a broker delivers it."""
    return {"delivery_id": number, "attempt": 1, "mesh": "team",
            "broker_message_id": f"B-{number}", "client_message_id": f"m-{number}",
            "request_fingerprint": "ab" * 32, "envelope_version": 1,
            "destination": {"kind": "topic", "ref": "alerts"}, "sender_pubkey": KEY,
            "sender_name": "ben", "priority": "next", "body": f"text {number}",
            "redacted": False, "history_seq": number, "created_at": 1_700_000_000_000,
            **changes}


class InboxCalls:
    """What the tests of both brokers do with the daemon that runs."""

    def inbox(self, **query):
        return self.running.client.good("GET", "/v1/inbox", query=query)["messages"]

    def bodies_received(self, **query):
        return [one["body"] for one in self.inbox(limit=1000, **query)]

    def wait_for_bodies(self, wanted):
        cli.wait_until(lambda: self.bodies_received() == wanted, f"the inbox has {wanted}")

    def events(self, after=None):
        events = server.Events(self.running.client, after=after)
        self.addCleanup(events.close)
        return events

    def metric(self, line):
        self.assertIn(line, self.running.client.get("/v1/metrics").text)

    def health(self):
        return self.running.client.good("GET", "/v1/health")


class FromAnything(InboxCalls, FakeBrokerTest):
    def test_IN_01_IN_02_IN_12_R_11_each_message_is_stored_once_and_always_acknowledged(self):
        events = self.events()
        self.fake.deliver(delivery(1), delivery(2))
        self.fake.deliver(delivery(3, client_message_id="m-1"),  # the same message again
                          delivery(4, client_message_id="m-1", sender_pubkey="cc" * 32))
        self.assertEqual(self.bodies_received(), ["text 1", "text 2", "text 4"])
        events.wait_for(lambda event: event[2].get("body") == "text 4")
        self.assertEqual([event[2]["body"] for event in events.all if event[1] == "message"],
                         ["text 1", "text 2", "text 4"])
        self.metric('cm_daemon_dedupe_total{mesh="team",direction="in"} 1')
        self.metric('cm_daemon_recv_total{mesh="team"} 3')
        first = self.inbox()[0]
        self.assertEqual((first["sender_name"], first["client_message_id"], first["mesh"],
                          first["destination"], first["history_seq"], first["redacted"]),
                         ("ben", "m-1", "team", {"kind": "topic", "ref": "alerts"}, 1, False))

    def test_IN_08_what_is_not_valid_is_dropped_counted_and_acknowledged(self):
        bad = [delivery(1, mesh="other"), delivery(2, sender_pubkey="short"),
               delivery(3, client_message_id="a b"), delivery(4, body=7),
               delivery(5, destination={"kind": "dm", "ref": KEY}), delivery(6, body=None),
               delivery(7, destination={"kind": "road", "ref": "a"}),
               delivery(8, body="x" * 1_048_577), delivery(9, history_seq=-1),
               delivery(10, meta="no object", priority="soon"), {"delivery_id": 11}]
        self.fake.deliver(*bad, {"delivery_id": "no number"}, 7, None, [], delivery(12))
        self.assertEqual(self.bodies_received(), ["text 12"])
        self.metric(f'cm_daemon_invalid_inbound_total{{mesh="team"}} {len(bad) + 4}')

    def test_IN_05_IN_06_lists_filters_and_pages(self):
        self.fake.deliver(*(delivery(n, **({"destination": {"kind": "topic", "ref": "other"}}
                                           if n > 3 else {})) for n in range(1, 7)))
        client = self.running.client
        page = client.good("GET", "/v1/inbox", query={"limit": 4})
        self.assertEqual((len(page["messages"]), page["unread"]), (4, 6))
        rest = client.good("GET", "/v1/inbox", query={"after": page["next_after"]})
        self.assertEqual([one["body"] for one in rest["messages"]], ["text 5", "text 6"])
        self.assertEqual(self.bodies_received(topic="other"), ["text 4", "text 5", "text 6"])
        self.assertEqual(len(self.inbox(**{"from": "ben"})), 6)
        self.assertEqual(self.inbox(**{"from": "cat"}), [])
        self.assertEqual(self.inbox(since=4_000_000_000_000), [])
        self.assertEqual(self.bodies_received(order="newest_first")[0], "text 6")
        ids = [one["id"] for one in self.inbox()]
        self.assertEqual(client.good("POST", "/v1/inbox/seen", {"ids": ids[:2]}), {"marked": 2})
        self.assertEqual(client.good("POST", "/v1/inbox/seen", {"up_to": ids[2]}), {"marked": 1})
        self.assertEqual(self.bodies_received(unread="true", mark_seen="true"),
                         ["text 4", "text 5", "text 6"])
        self.assertEqual(self.inbox(unread="true"), [])
        self.assertIn("seen_at", client.good("GET", f"/v1/inbox/{ids[0]}"))
        self.assertEqual(client.call("DELETE", f"/v1/inbox/{ids[0]}").status, 200)
        for method in ("GET", "DELETE"):
            self.assertEqual(client.call(method, f"/v1/inbox/{ids[0]}").status, 404)
        self.assertEqual(client.get("/v1/inbox/abc").status, 404)
        for query in ({"limit": 0}, {"limit": 1001}, {"nmae": 1}, {"unread": "maybe"}):
            self.assertEqual(client.get("/v1/inbox", query=query).status, 400, query)
        for body in ({}, {"ids": [1], "up_to": 2}, {"ids": ["x"]}):
            self.assertEqual(client.post("/v1/inbox/seen", body).status, 400, body)
        self.fake.deliver(delivery(7, client_message_id="m-1"))  # deleted: not received again
        self.assertEqual(len(self.inbox()), 5)

    def test_IN_04_IN_09_H_31_events_continue_exactly_across_connections_and_restarts(self):
        first = self.events()
        self.fake.deliver(delivery(1), delivery(2))
        first.wait_for(lambda event: event[2].get("body") == "text 2")
        position = next(event[0] for event in first.all if event[2].get("body") == "text 1")
        first.close()
        self.fake.deliver(delivery(3))
        second = self.events(after=position)
        second.wait_for(lambda event: event[2].get("body") == "text 3")
        self.assertEqual([event[2]["body"] for event in second.all if event[1] == "message"],
                         ["text 2", "text 3"])
        position = second.last
        self.running.kill()
        self.assertTrue(second.ended.wait(10))
        self.running.start()
        self.fake.deliver(delivery(4))
        third = self.events(after=position)
        third.wait_for(lambda event: event[2].get("body") == "text 4")
        self.assertEqual([event[1] for event in third.all if event[1] in ("message", "resync")],
                         ["resync", "message"])
        everything = self.events(after="0")
        everything.wait_for(lambda event: event[2].get("body") == "text 4")
        self.assertEqual([event[2]["body"] for event in everything.all
                          if event[1] == "message"], [f"text {n}" for n in range(1, 5)])
        self.assertEqual(self.running.client.get("/v1/events",
                                                 headers={"Last-Event-ID": "x"}).status, 400)

    def test_IN_11_SEC_08_streams_are_limited_have_comments_and_end_with_the_daemon(self):
        streams = [self.events() for _ in range(32)]
        for stream in streams:
            self.assertIsNone(stream.problem)
        refused = self.events()
        self.assertEqual((refused.problem.status, refused.problem.json()["error"]),
                         (429, "too_many_streams"))
        cli.wait_until(lambda: all(stream.comments > 0 for stream in streams))
        self.assertEqual(self.running.stop(), 0)
        for stream in streams:
            self.assertTrue(stream.ended.wait(10))

    def test_CR_05_a_damaged_inbox_is_kept_as_a_copy_and_the_daemon_starts(self):
        self.fake.deliver(delivery(1))
        events = self.events()
        self.fake.deliver(delivery(2))
        events.wait_for(lambda event: event[1] == "message")
        self.assertEqual(self.running.stop(), 0)
        with open(self.running.file("inbox.db"), "r+b") as file:
            file.write(b"x" * 4096)
        self.running.start()
        self.assertIn("inbox_corruption_recovered", self.running.logged())
        self.assertEqual(len(glob.glob(self.running.file("inbox.db.corrupt-*"))), 1)
        self.assertEqual(self.inbox(), [])
        self.fake.deliver(delivery(3))
        again = self.events(after=events.last)
        again.wait_for(lambda event: event[2].get("body") == "text 3")
        self.assertEqual(again.all[0][1], "resync")

    def test_CR_07_a_full_inbox_acknowledges_nothing_and_is_degraded(self):
        self.assertEqual(self.running.stop(), 0)
        with open(self.running.file("config.json"), encoding="utf-8") as file:
            config = json.load(file)
        with open(self.running.file("config.json"), "w", encoding="utf-8") as file:
            json.dump(config | {"max_inbox_bytes": 8192}, file)
        self.running.start()
        with self.fake.changed:
            self.fake.deliveries.append([delivery(1)])
        cli.wait_until(lambda: any("not receiving" in one for one in self.health()["reasons"]))
        self.assertEqual((self.fake.acked, self.inbox()), ([], []))
        self.assertIn("the inbox has used up its space", self.health()["reasons"])

    def test_OB_05_without_a_connection_there_are_no_empty_lists(self):
        self.fake.close()
        self.assertEqual(self.running.stop(), 0)
        self.running.start()
        for path in ("/v1/peers", "/v1/topic/list"):
            answer = self.running.client.get(path)
            self.assertEqual(answer.status, 503)
            self.assertIn("not connected", answer.json()["detail"])
        self.fake.http.socket.close()


class FromBroker(InboxCalls, JoinedTest):
    def setUp(self):
        super().setUp()
        self.home = ("--home", self.path("daemon"))
        with open(self.path("daemon/member.json"), encoding="utf-8") as file:
            self.key = json.load(file)["pubkey"]
        cli.wait_until(lambda: self.health().get("receiving") == "websocket", "a WebSocket")

    def to_eva(self, number, **more):
        return self.send(broker.message(f"m-{number}", f"text {number}", "dm", self.key, **more))

    def open_deliveries(self):
        rows = self.admin.good("GET", "/v1/workspaces/team/deliveries",
                               query={"member": "eva", "limit": 1000})["deliveries"]
        return [row for row in rows if row["state"] != "delivered"]

    def test_R_04_IN_03_messages_are_pushed_stored_and_acknowledged(self):
        self.ok("topic", "subscribe", "alerts", *self.home)
        first = self.to_eva(1, meta={"a": 1})
        self.assertEqual(first.status, 201, first)
        broker_id = first.json()["broker_message_id"]
        second = self.send(broker.message("m-2", "to all", reply_to_id=broker_id))
        self.assertEqual(second.status, 201, second)
        self.wait_for_bodies(["text 1", "to all"])
        one, two = self.inbox()
        self.assertEqual((one["meta"], one["destination"]["kind"], two["reply_to_id"]),
                         ({"a": 1}, "dm", broker_id))
        cli.wait_until(lambda: self.open_deliveries() == [], "all are acknowledged")

    def test_FO_02_FO_05_outages_of_broker_and_daemon_lose_and_repeat_nothing(self):
        for number in range(30):
            if number == 10:
                self.running.kill()
            if number == 20:
                self.broker.kill()
                self.broker.start()
                self.running.start()
            self.to_eva(number)
        self.wait_for_bodies([f"text {number}" for number in range(30)])
        cli.wait_until(lambda: self.open_deliveries() == [], "all are acknowledged")
        self.running.kill()
        self.running.start()
        cli.wait_until(lambda: self.health().get("receiving") == "websocket")
        self.assertEqual(len(self.inbox(limit=1000)), 30)

    def test_what_a_broker_gave_up_to_deliver_is_found_in_the_history(self):
        self.ok("topic", "subscribe", "alerts", *self.home)
        self.send(broker.message("m-1", "one"))
        self.wait_for_bodies(["one"])
        self.running.kill()
        self.send(broker.message("m-2", "two"))
        self.broker.kill()
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db:
            db.execute("UPDATE delivery_queue SET state = 'dead' WHERE state <> 'delivered'")
            db.commit()
        self.broker.start()
        self.running.start()
        self.wait_for_bodies(["one", "two"])
        self.send(broker.message("m-3", "three"))
        self.wait_for_bodies(["one", "two", "three"])

    def test_R_04_without_websockets_requests_wait_for_messages(self):
        self.assertEqual(self.running.stop(), 0)
        config = json.loads(self.read("daemon/config.json")) | {"receive": "poll"}
        self.write("daemon/config.json", json.dumps(config))
        self.running.start()
        self.to_eva(1)
        self.wait_for_bodies(["text 1"])
        cli.wait_until(lambda: self.health().get("receiving") == "poll")
        cli.wait_until(lambda: self.open_deliveries() == [])

    def test_CL_01_the_inbox_on_the_command_line(self):
        self.assertEqual(self.ok("inbox", "list", *self.home), "no messages\n")
        for number in range(1, 4):
            self.to_eva(number)
        self.assertEqual(self.ok("inbox", "tail", "--after", "0", "--count", "3", *self.home),
                         "".join(f"{n} ann me: text {n}\n" for n in range(1, 4)))
        self.assertRegex(self.ok("inbox", "list", *self.home),
                         r"3 .* ann +me +no +text 3\n.*text 2\n.*text 1\n")
        shown = self.ok("inbox", "show", "2", *self.home)
        self.assertIn("from      ann (" + self.members["ann"]["pubkey"], shown)
        self.assertTrue(shown.endswith("\n\ntext 2\n"))
        self.assertEqual(self.ok("inbox", "ack", "1", "2", *self.home),
                         "2 messages acknowledged\n")
        self.assertEqual(len(self.ok_json("daemon", "inbox", "list", "--unread",
                                          *self.home)["messages"]), 1)
        self.assertEqual(self.ok("inbox", "delete", "3", *self.home), "message 3 is deleted\n")
        self.fails(2, "inbox", "show", "3", *self.home, says="no message 3")
        self.fails(2, "inbox", "show", "x", *self.home, says="not the number")
        self.fails(2, "inbox", "ack", *self.home, says="--all")
        self.assertIn("no messages", self.ok("daemon", "outbox", "list", *self.home))
        self.assertEqual(self.running.stop(), 0)
        self.fails(7, "inbox", "list", *self.home, says="daemon up")
        self.fails(7, "inbox", "tail", *self.home, says="daemon up")

    def test_R_15_topics_and_presence_through_the_daemon(self):
        self.assertRegex(self.ok("topic", "list", *self.home), r"alerts +open +no\n")
        self.assertNotIn("inner", self.ok("topic", "list", *self.home))
        for _ in range(2):
            self.assertEqual(self.ok("topic", "subscribe", "alerts", *self.home),
                             "subscribed to topic alerts\n")
        self.assertRegex(self.ok("topic", "list", *self.home), r"alerts +open +writer\n")
        self.fails(2, "topic", "subscribe", "inner", *self.home, says="closed")
        self.fails(2, "topic", "subscribe", "nowhere", *self.home)
        self.ok("topic", "unsubscribe", "alerts", *self.home)
        self.assertRegex(self.ok("topic", "list", *self.home), r"alerts +open +no\n")
        self.assertEqual(self.running.client.good("POST", "/v1/profile", {
            "status": "busy", "summary": "tests"})["status"], "busy")
        self.assertRegex(self.ok("peers", *self.home), r"eva +busy .*tests")
        events = self.events()
        self.client("ann").get("/v1/deliveries")
        events.wait_for(lambda event: event[1] == "peer_join" and
                        event[2]["peers"][0]["name"] == "ann")

    def test_H_18_H_19_a_name_is_a_recipient_also_without_a_connection(self):
        self.assertIn("done", self.ok("send", "--to", "ben", "hi", "--wait", "60s", *self.home))
        self.assertEqual(self.client("ben").good("GET", "/v1/deliveries")["deliveries"][0]["body"],
                         "hi")
        self.fails(2, "send", "--to", "eve", "hi", *self.home, says="eve")
        self.running.kill()
        self.broker.kill()
        self.running.start()
        self.assertIn("queued", self.ok("send", "--to", "ben", "later", "--id", "l-1",
                                        *self.home))
        self.fails(2, "send", "--to", "cat", "hi", *self.home, says="public key")
        self.broker.start()
        self.wait_for("l-1", "done")

    def test_LC_01_another_program_with_the_same_identity_ends_receiving_without_a_fight(self):
        files = {name: self.read("daemon/" + name)
                 for name in ("config.json", "member.json", "keypair.json")}
        os.mkdir(self.path("clone"), 0o700)
        for name, text in files.items():
            self.write("clone/" + name, text)
        first = self.running
        self.running = self.daemon(home="clone").start()
        cli.wait_until(lambda: self.health().get("receiving") == "websocket")
        reasons = lambda: first.client.good("GET", "/v1/health")["reasons"]
        cli.wait_until(lambda: any("replaced_by_newer_connection" in one for one in reasons()))
        self.to_eva(1)
        self.wait_for_bodies(["text 1"])
        self.assertEqual(self.health().get("receiving"), "websocket")
        self.assertEqual(first.logged().count("receiving has ended"), 1)
        self.assertEqual(first.client.post("/v1/send", {"to": "#alerts", "message": "x"}).status,
                         202)

    def test_LC_02_the_end_of_the_membership_ends_the_daemon(self):
        self.admin.good("DELETE", "/v1/workspaces/team/members/eva")
        self.assertEqual(self.running.process.wait(60), 9)
        self.assertIn("receiving has ended", self.running.logged())
        self.running.process.stdout.close()


if __name__ == "__main__":
    cli.main(__doc__)
