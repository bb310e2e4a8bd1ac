#!/usr/bin/env python3
"""Pushes over WebSockets by a real broker: hello, negotiation, deliveries and acknowledgements,
duplicate connections, presence, history, and receivers that are hostile.

Run as: python3 tests/broker_push_test.py path/to/holdfast
"""

import contextlib
import sqlite3
import time

from support import broker, cli, server, ws
from support.broker import message
from support.ws import Closed, Receiver, Refused, WebSocket


class PushTest(broker.BrokerTest):
    def connect(self, name, **options):
        """A receiver; closed at the end of the test."""
        receiver = Receiver(self.broker.client().address, self.members[name]["token"], **options)
        self.addCleanup(receiver.drop)
        return receiver

    def raw(self, **options):
        opened = WebSocket(self.broker.client().address, **options)
        self.addCleanup(opened.drop)
        return opened

    def send_all(self, *names, **options):
        for name in names:
            self.assertEqual(self.send(message(name, **options)).status, 201)

    def to(self, name):
        return {"kind": "dm", "ref": self.members[name]["pubkey"]}

    def change(self, *statements):
        """In the store, beside the broker."""
        with contextlib.closing(sqlite3.connect(self.path("broker.db"), timeout=60)) as db:
            for statement in statements:
                db.execute(statement)
            db.commit()

    def end_leases(self):
        """As if their time had passed; a new message lets the receivers look."""
        self.change("UPDATE delivery_queue SET lease_until = 1 WHERE state = 'leased'")

    def states(self):
        with contextlib.closing(sqlite3.connect(self.path("broker.db"), timeout=60)) as db:
            return [row[0] for row in
                    db.execute("SELECT state FROM delivery_queue ORDER BY delivery_id")]

    def log(self):
        with open(self.path("log"), encoding="utf-8") as text:
            return text.read()


class Receive(PushTest):
    def test_FO_10_messages_are_pushed_when_they_are_committed_and_acknowledged_once_stored(self):
        ben = self.connect("ben")
        self.assertEqual(ben.ack_of_hello["mesh"], "team")
        self.assertEqual(ben.ack_of_hello["name"], "ben")
        self.assertEqual(ben.ack_of_hello["pubkey"], self.members["ben"]["pubkey"])
        self.assertEqual(ben.ack_of_hello["presence_lease_ms"], 90_000)
        made = self.send(message("m-1", "text", meta={"a": 1}, priority="now")).json()
        push = ben.next("push")
        (one,) = push["deliveries"]
        polled = self.client("ann").get("/v1/deliveries").json()["deliveries"][0]
        self.assertEqual({**polled, "delivery_id": one["delivery_id"]}, one,
                         "a push has what a request would get")
        self.assertEqual(one["broker_message_id"], made["broker_message_id"])
        self.assertEqual(push["lease"], ben.ack_of_hello["lease"])
        self.assertEqual(ben.ack([one]), {"type": "ack", "acked": [one["delivery_id"]],
                                          "fenced": []})
        self.assertEqual(ben.ack([one])["acked"], [one["delivery_id"]])
        self.assertEqual(self.send(message("bad", ref="nowhere")).status, 404)
        self.send_all("m-2")
        self.assertEqual(ws.ids(ben.pushed(1)), ["m-2"], "what was rolled back is not pushed")
        self.assertEqual(self.metric("cm_broker_push_connections"), 1)
        self.assertEqual(self.metric("cm_broker_push_deliveries_total"), 2)

    def test_FO_05_a_recipient_that_was_offline_gets_everything_in_order(self):
        self.send_all(*(f"m-{n}" for n in range(250)))
        self.send_all("urgent", priority="now")
        ben = self.connect("ben")
        self.assertEqual(ws.ids(ben.pushed(100))[:2], ["urgent", "m-0"])
        ben.drop()
        ben = self.connect("ben", hello={"window": 7})
        got = []
        while len(got) < 251:
            deliveries = ben.next("push")["deliveries"]
            self.assertLessEqual(len(deliveries), 7)
            self.assertEqual(ben.ack(deliveries)["fenced"], [])
            got += deliveries
        self.assertEqual(ws.ids(got), ["urgent"] + [f"m-{n}" for n in range(250)])
        self.assertEqual([one["history_seq"] for one in got[1:]], list(range(1, 251)))

    def test_FO_02_without_an_ack_it_is_pushed_again_and_the_next_connection_gets_it_at_once(self):
        ben = self.connect("ben")
        self.send_all("m-1")
        (one,) = ben.pushed(1)
        self.assertEqual(one["attempt"], 1)
        for attempt in (2, 3):  # lost, and closed properly: the lease ends with the connection
            ben.drop() if attempt == 2 else ben.close()
            ben = self.connect("ben")
            (again,) = ben.pushed(1)
            self.assertEqual((again["delivery_id"], again["attempt"]),
                             (one["delivery_id"], attempt))
        self.assertEqual(ben.ack([again])["fenced"], [])

    def test_FO_03_R_02_requests_and_connections_share_leases_and_lanes(self):
        held = None
        self.send_all("m-1", "m-2")
        held = self.client("ben").get("/v1/deliveries", query={"limit": 1}).json()
        ben = self.connect("ben")
        self.send_all("other", kind="dm", ref=self.members["ben"]["pubkey"])
        self.assertEqual(ws.ids(ben.pushed(1)), ["other"], "m-1 is held, and m-2 is behind it")
        self.client("ben").good("POST", "/v1/deliveries/ack", {
            "lease": held["lease"], "delivery_ids": [held["deliveries"][0]["delivery_id"]]})
        (second,) = ben.pushed(1)
        self.assertEqual(second["client_message_id"], "m-2")
        # Now the connection holds it, and its lease ends.
        self.end_leases()
        polled = self.client("ben").get("/v1/deliveries").json()
        self.assertEqual(ws.ids(polled["deliveries"]), ["other", "m-2"])
        late = ben.ack([second])
        self.assertEqual((late["acked"], late["fenced"]), ([], [second["delivery_id"]]))
        self.assertEqual(self.metric("cm_broker_delivery_fenced_total"), 1)

    def test_FO_07_no_one_acknowledges_for_another(self):
        ann, cat = self.connect("ann"), self.connect("cat")
        self.send_all("m-1")
        deliveries = ann.pushed(1)
        self.assertEqual(cat.ack(deliveries)["fenced"], [deliveries[0]["delivery_id"]])
        self.assertEqual(ann.ack(deliveries)["fenced"], [])

    def test_a_lease_that_ends_is_pushed_again_without_a_new_message(self):
        ben = self.connect("ben")
        self.send_all("m-1")
        ben.pushed(1)
        self.end_leases()  # the sweep of leases, every 15 s, finds it
        (again,) = ben.pushed(1)
        self.assertEqual((again["client_message_id"], again["attempt"]), ("m-1", 2))

    def test_FO_06_the_pushes_of_a_slow_reader_wait_and_delay_no_other(self):
        slow = self.connect("ben", receive_buffer=4096)
        fast = self.connect("ann")
        wanted = [f"m-{n}" for n in range(100)]
        self.send_all(*wanted, body="x" * 60_000)
        self.assertEqual(ws.ids(fast.pushed(100)), wanted)
        self.assertLess(self.states().count("leased"), 190, "no more is claimed than can be sent")
        self.assertEqual(ws.ids(slow.pushed(100)), wanted)


class Hello(PushTest):
    def refused(self, opened):
        error = opened.receive()
        self.assertEqual(error["type"], "error")
        return error["error"], opened.closed()

    def hello(self, **more):
        opened = self.raw()
        opened.receive()
        opened.send({"type": "hello", "mesh": "team", **more})
        return opened

    def test_R_04_a_hello_is_signed_with_the_key_of_the_member(self):
        key = ws.Key()
        self.admin.good("POST", "/v1/workspaces/team/members", {"name": "eve", "pubkey": key.text})
        opened = self.raw()
        challenge = opened.receive()
        hello = key.hello("team", challenge["nonce"], challenge["now"])
        opened.send(hello)
        self.assertEqual(opened.receive()["name"], "eve")
        # Captured, it opens no other connection.
        again = self.raw()
        other = again.receive()
        self.assertNotEqual(other["nonce"], challenge["nonce"])
        again.send(hello)
        self.assertEqual(self.refused(again), ("unauthenticated", 4001))
        for fault in ({"signature": "0" * 128}, {"signature": "x"}, {"mesh": "other"},
                      {"pubkey": self.members["ben"]["pubkey"]}):
            opened = self.raw()
            nonce = opened.receive()
            opened.send({**key.hello("team", nonce["nonce"], nonce["now"]), **fault})
            self.assertEqual(self.refused(opened), ("unauthenticated", 4001), fault)
        for skew in (-61_000, 61_000):
            opened = self.raw()
            nonce = opened.receive()
            opened.send(key.hello("team", nonce["nonce"], nonce["now"] + skew))
            self.assertEqual(self.refused(opened), ("unauthenticated", 4001), skew)
        opened = self.raw()
        nonce = opened.receive()
        opened.send(ws.Key().hello("team", nonce["nonce"], nonce["now"]))
        self.assertEqual(self.refused(opened), ("unauthenticated", 4001), "not a member")

    def test_R_04_or_has_the_token_of_the_member(self):
        self.assertEqual(self.refused(self.hello(token="wrong")), ("unauthenticated", 4001))
        dan = self.members["dan"]["token"]
        self.assertEqual(self.refused(self.hello(token=dan)), ("not_a_member", 4001))
        token = self.members["cat"]["token"]
        for more in ({}, {"token": token, "pubkey": self.members["cat"]["pubkey"]},
                     {"token": token, "window": 0}, {"token": token, "window": 1001},
                     {"token": token, "more": 1}):
            self.assertEqual(self.refused(self.hello(**more))[1], 1008, more)
        self.admin.good("DELETE", "/v1/workspaces/team/members/cat")
        self.assertEqual(self.refused(self.hello(token=token)), ("member_revoked", 4005))
        self.assertGreaterEqual(self.metric("cm_broker_push_refused_total"), 8)

    def test_R_04_features_are_negotiated_before_the_first_push(self):
        self.send_all("m-1")
        opened = self.hello(token=self.members["ben"]["token"])
        self.assertEqual([opened.receive()["type"]], ["hello_ack"])
        opened.send({"type": "feature_negotiation_request", "require": ["max_payload"],
                     "optional": ["unknown"]})
        features = opened.receive()
        self.assertEqual(features["type"], "feature_negotiation_response")
        self.assertEqual(features["missing_required"], [])
        self.assertEqual(features["supported"]["concurrent_connection_policy"]["default_policy"],
                         "prefer_newest")
        listed = self.client("ben").get("/v1/features").json()["supported"]
        self.assertEqual(features["supported"], listed)
        self.assertEqual(opened.receive()["type"], "push")
        with self.assertRaises(Closed) as end:
            self.connect("cat", require=["telepathy"]).receive()
        self.assertEqual((end.exception.code, end.exception.reason), (4010, "feature_unavailable"))
        self.assertIn("telepathy", self.log(), "NG-05: the negotiation is logged")

    def test_without_a_hello_the_connection_ends(self):
        opened = self.raw()
        begin = time.monotonic()
        self.assertEqual(opened.closed(), 4002)
        self.assertLess(time.monotonic() - begin, 60)

    def test_the_upgrade_is_checked(self):
        for headers, status in (({"Upgrade": "h2c"}, 426), ({"Sec-WebSocket-Version": "8"}, 426),
                                ({"Sec-WebSocket-Key": "short"}, 400),
                                ({"Connection": "close"}, 400),
                                ({"Origin": "https://app.example"}, 403)):
            with self.assertRaises(Refused) as refused:
                self.raw(headers=headers)
            self.assertEqual(refused.exception.status, status, headers)
            self.assertEqual("Sec-WebSocket-Version: 13" in refused.exception.head, status == 426)
        self.assertEqual(self.client("ben").get("/v1/ws").status, 426)


class Command(PushTest):
    def test_the_command_line_prints_and_acknowledges_what_arrives(self):
        self.write("ben.token", self.members["ben"]["token"] + "\n")
        self.write("wrong.token", "hfm_of-another-broker\n")
        receive = ("broker", "message", "receive", "team", "--broker", self.broker.url)
        self.send_all("m-1", "m-2", "m-3", body="a text")
        self.assertEqual(self.ok(*receive, "--token-file", "ben.token", "--count", "2"),
                         "ann topic:alerts m-1: a text\nann topic:alerts m-2: a text\n")
        one = self.ok_json(*receive, "--token-file", "ben.token", "--count", "1")
        # It may have been pushed before, behind the second.
        self.assertEqual((one["client_message_id"], one["destination"]), ("m-3", "topic:alerts"))
        self.assertIn(one["attempt"], (1, 2))
        self.assertEqual(self.states().count("delivered"), 3)
        self.fails(2, *receive, "--token-file", "wrong.token", says="no member has this token")
        self.fails(2, *receive)
        self.fails(5, "broker", "message", "receive", "team", "--broker", "http://127.0.0.1:1",
                   "--token-file", "ben.token")


class Origins(PushTest):
    def options(self):
        return ("--origin", "https://app.example", "--origin", "http://localhost:8080")

    def test_pages_of_allowed_origins_may_connect(self):
        for origin in ("https://app.example", "http://localhost:8080"):
            self.assertEqual(self.raw(headers={"Origin": origin}).receive()["type"], "challenge")
        with self.assertRaises(Refused):
            self.raw(headers={"Origin": "http://app.example"})


class Newest(PushTest):
    def test_LC_01_the_newest_connection_replaces_the_older_one(self):
        old = self.connect("ben")
        self.send_all("m-1")
        old.pushed(1)
        new = self.connect("ben")
        with self.assertRaises(Closed) as end:
            old.receive()
        self.assertEqual((end.exception.code, end.exception.reason),
                         (4003, "replaced_by_newer_connection"))
        (again,) = new.pushed(1)
        self.assertEqual((again["client_message_id"], again["attempt"]), ("m-1", 2))
        self.assertEqual(new.ack([again])["fenced"], [])
        self.assertIn("member_concurrent_connection", self.log())
        self.assertEqual(self.metric("cm_broker_push_concurrent_total"), 1)
        server.wait_until(lambda: [(one["name"], one["connections"]) for one in
                                   self.client("ann").good("GET", "/v1/peers")["peers"]] ==
                          [("ben", 1)], "the older one has left")


class Oldest(PushTest):
    def options(self):
        return ("--connections", "prefer_oldest")

    def test_LC_01_the_oldest_connection_stays(self):
        old = self.connect("ben")
        opened = self.raw()
        opened.receive()
        opened.send({"type": "hello", "mesh": "team", "token": self.members["ben"]["token"]})
        with self.assertRaises(Closed) as end:
            opened.receive()
        self.assertEqual((end.exception.code, end.exception.reason),
                         (4004, "member_already_connected"))
        self.send_all("m-1")
        self.assertEqual(ws.ids(old.pushed(1)), ["m-1"])
        self.assertIn("member_concurrent_connection", self.log())
        old.close()
        server.wait_until(lambda: self.metric("cm_broker_push_connections") == 0, "it has left")
        self.assertEqual(ws.ids(self.connect("ben").pushed(1)), ["m-1"])


class Concurrent(PushTest):
    def options(self):
        return ("--connections", "allow_concurrent")

    def test_R_02_connections_of_one_member_share_its_lanes(self):
        one, two = self.connect("ben"), self.connect("ben")
        self.send_all("m-1")
        server.wait_until(lambda: "leased" in self.states(), "one of them has it")
        self.send_all("m-2", "m-3")
        self.send_all("direct", kind="dm", ref=self.members["ben"]["pubkey"])
        # Every message arrives once, and those of the lane in order, wherever they go.
        got = []
        for receiver in (one, two):
            receiver.sock.settimeout(3)
        while len(got) < 4:
            for receiver in (one, two):
                try:
                    deliveries = receiver.next("push")["deliveries"]
                except TimeoutError:
                    continue
                got += ws.ids(deliveries)
                receiver.ack(deliveries)
        self.assertEqual(sorted(got), ["direct", "m-1", "m-2", "m-3"])
        self.assertEqual([name for name in got if name != "direct"], ["m-1", "m-2", "m-3"])
        self.assertIn("member_concurrent_connection", self.log())


class Presence(PushTest):
    def names(self, frame):
        return [peer["name"] for peer in frame["peers"]]

    def test_R_15_members_see_who_joins_and_leaves(self):
        ann = self.connect("ann", hello={"presence": True})
        self.assertEqual(self.names(ann.next("peer_join")), ["ann"])
        dan = self.connect("dan", mesh="other", hello={"presence": True})
        ben = self.connect("ben")
        self.assertEqual(self.names(ann.next("peer_join")), ["ben"], "dan is elsewhere")
        self.assertEqual(self.client("ben").good("POST", "/v1/profile", {
            "status": "busy", "summary": "tests"}),
            {"status": "busy", "summary": "tests", "visible": True})
        update = ann.next("peer_update")["peers"][0]
        self.assertEqual((update["name"], update["status"], update["summary"]),
                         ("ben", "busy", "tests"))
        peers = self.client("cat").good("GET", "/v1/peers")["peers"]
        self.assertEqual([one["name"] for one in peers], ["ann", "ben"])
        ben.close()
        self.assertEqual(self.names(ann.next("peer_leave")), ["ben"])
        self.client("cat").good("GET", "/v1/deliveries")
        self.assertEqual(self.names(ann.next("peer_join")), ["cat"], "a request is a sign of life")
        self.client("cat").good("POST", "/v1/profile", {"visible": False})
        self.assertEqual(self.names(ann.next("peer_leave")), ["cat"])
        self.assertEqual([one["name"] for one in
                          self.client("dan").good("GET", "/v1/peers")["peers"]], ["dan"])
        lost = self.connect("ben")
        self.assertEqual(self.names(ann.next("peer_join")), ["ben"])
        lost.drop()
        server.wait_until(lambda: self.metric("cm_broker_push_connections") == 2, "it is lost")
        peers = self.client("ann").good("GET", "/v1/peers")["peers"]
        self.assertEqual([(one["name"], one["connections"]) for one in peers],
                         [("ann", 1), ("ben", 0)], "its presence lasts for the lease")
        for body in ({"status": "x" * 65}, {"summary": "x" * 1025}, {"more": 1}):
            self.assertEqual(self.client("ben").post("/v1/profile", body).status, 400)
        dan.close()


class History(PushTest):
    def resume(self, receiver, after, ref="alerts"):
        """What is sent until the history is complete: messages and gaps; and the cursor."""
        receiver.send({"type": "resume", "cursor": [
            {"destination": {"kind": "topic", "ref": ref}, "after": after}]})
        found = []
        while True:
            got = receiver.receive()
            if got["type"] == "history":
                found += [(one["history_seq"], one["body"]) for one in got["messages"]]
            elif got["type"] == "history_gap":
                found.append((got["from"], got["to"], "gap"))
            elif got["type"] == "resumed":
                return found, got["cursor"]["after"]
            elif got["type"] == "error":
                return got["error"], got["destination"]["ref"]

    def test_HI_02_a_cursor_continues_without_gap_or_repeat_across_connections(self):
        bodies = {}
        for n in range(1, 251):
            bodies[n] = f"body {n}" + "x" * (n % 7) * 1000
            self.send_all(f"m-{n}", body=bodies[n])
        ben = self.connect("ben")
        first, cursor = self.resume(ben, 0)
        self.assertEqual(first, sorted(bodies.items()))
        self.assertEqual(cursor, 250)
        ben.drop()
        self.send_all("m-251", body="later")
        ben = self.connect("ben")
        self.assertEqual(self.resume(ben, cursor), ([(251, "later")], 251))
        self.assertEqual(self.resume(ben, 251), ([], 251))
        self.assertEqual(self.resume(ben, 248)[0], sorted(bodies.items())[248:] + [(251, "later")])

    def test_HI_03_a_pruned_range_is_announced_in_its_place(self):
        self.send_all(*(f"m-{n}" for n in range(1, 9)), body="kept")
        pruned = "SELECT broker_message_id FROM message_history WHERE history_seq IN (1, 2, 5)"
        self.change(f"DELETE FROM topic_message WHERE broker_message_id IN ({pruned})",
                    "UPDATE message_history SET pruned_at = 1 WHERE history_seq IN (1, 2, 5)")
        ben = self.connect("cat")
        self.assertEqual(self.resume(ben, 0),
                         ([(1, 2, "gap"), (3, "kept"), (4, "kept"), (5, 5, "gap"), (6, "kept"),
                           (7, "kept"), (8, "kept")], 8))
        self.assertEqual(self.resume(ben, 1)[0][0], (2, 2, "gap"))

    def test_a_member_resumes_only_what_it_may_read(self):
        cat = self.connect("cat")
        self.assertEqual(self.resume(cat, 0, "inner"), ("not_allowed", "inner"))
        self.assertEqual(self.resume(cat, 0, "nowhere"), ("unknown_destination", "nowhere"))
        self.assertEqual(self.resume(cat, 0), ([], 0))


class Hostile(PushTest):
    def test_frames_that_are_not_valid_end_the_connection(self):
        for frame in (b"", b"{", b"[]", b'"hello"', b"{}", b'{"type":1}', b'{"type":"push"}',
                      b'{"type":"client_ack"}', b'{"type":"client_ack","delivery_ids":[]}',
                      b'{"type":"client_ack","delivery_ids":[0]}',
                      b'{"type":"client_ack","delivery_ids":["1"]}',
                      b'{"type":"client_ack","delivery_ids":[1],"more":1}',
                      b'{"type":"hello","mesh":"team","token":"x"}',
                      b'{"type":"resume","cursor":[]}',
                      b'{"type":"resume","cursor":[{"destination":{"kind":"x"},"after":1}]}',
                      b"[" * 10_000, b'{"type":"client_ack","delivery_ids":[%s]}' %
                      b",".join([b"1"] * 1001)):
            ben = self.connect("ben")
            ben.send(frame)
            error = ben.next("error")
            self.assertTrue(error["error"] and error["detail"], frame)
            self.assertEqual(ben.closed(), 1008, frame)
        ben = self.connect("ben")
        ben.sock.sendall(b"\xff" * 100)
        self.assertEqual(ben.closed(), 1002)
        ben = self.connect("ben")
        ben.sock.sendall(ws.frame(ws.TEXT, b"x" * (64 << 10) + b"x"))
        self.assertEqual(ben.closed(), 1009)
        self.assertEqual(self.send(message("m-1")).status, 201, "the broker is well")

    def test_a_flood_of_frames_ends_the_connection(self):
        ben = self.connect("ben")
        frame = ws.frame(ws.TEXT, b'{"type":"client_ack","delivery_ids":[%s]}' %
                         b",".join([b"123456789"] * 900))
        with contextlib.suppress(OSError):
            for _ in range(3000):
                ben.sock.sendall(frame * 10)
        self.assertIn(ben.closed(), (1008, 1013, 1006))
        self.send_all("m-1")
        self.assertEqual(ws.ids(self.connect("ben").pushed(1)), ["m-1"])

    def test_a_member_that_is_revoked_loses_its_connection(self):
        ben = self.connect("ben")
        self.admin.good("DELETE", "/v1/workspaces/team/members/ben")
        self.assertEqual(ben.closed(), 4005)
        with self.assertRaises(Closed) as end:
            self.connect("ben")
        self.assertEqual(end.exception.code, 4005)

    def test_a_broker_that_stops_closes_with_1001(self):
        ben = self.connect("ben")
        self.send_all("m-1")
        ben.pushed(1)
        self.assertEqual(self.broker.stop(), 0)
        self.assertEqual(ben.closed(), 1001)
        self.assertEqual(sorted(self.states()), ["leased", "queued"])
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db:
            until, = db.execute("SELECT lease_until FROM delivery_queue WHERE state = 'leased'")
        self.assertLessEqual(until[0], time.time() * 1000, "its leases ended with it")


if __name__ == "__main__":
    cli.main(__doc__)
