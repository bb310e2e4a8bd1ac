#!/usr/bin/env python3
"""Invalid input to a broker over HTTP: every part of every request missing, of a wrong type, too
long or too deep; bytes that are not UTF-8; members and workspaces that are not the caller's. Each
is refused by name, changes nothing, and shows outsiders nothing.

Run as: python3 tests/broker_input_test.py path/to/holdfast
"""

import contextlib
import copy
import json
import sqlite3

from support import broker, cli
from support.broker import message

JSON = {"Content-Type": "application/json"}
KEY = "ab" * 32
WRONG = (None, True, 7, -1, 1.5, "", "x" * 300, "a\u0000b", "\u20ac", [], [1], {}, {"a": 1})
# What each rejection before and inside the transaction may be called, with its status.
REJECTIONS = {"invalid_request": 400, "invalid_idempotency_key": 400, "not_a_member": 403,
              "not_allowed": 403, "unknown_workspace": 404, "unknown_destination": 404,
              "destination_closed": 410, "stale_retry": 410, "too_large": 413,
              "canonical_form_drift": 422, "unsupported_version": 426}
TABLES = ("client_message_dedupe", "topic_message", "message_queue", "message_history",
          "delivery_queue", "mention_index")


def nested(depth, value=1):
    return json.loads('{"a":' * depth + json.dumps(value) + "}" * depth)


class InputTest(broker.BrokerTest):
    def rows(self):
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as store:
            return {table: store.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
                    for table in TABLES + ("mesh", "member", "topic", "queue", "destination",
                                           "topic_subscription", "invitation")}

    def raw(self, name, path, body, method="POST"):
        client = self.client(name) if name else self.admin
        return client.call(method, path, body, headers=dict(JSON))


class Messages(InputTest):
    def refused(self, answer, about):
        self.assertIn(answer.status, range(400, 500), (about, answer))
        problem = answer.json()
        self.assertIn(problem.get("error"), REJECTIONS, (about, answer))
        self.assertEqual(answer.status, REJECTIONS[problem["error"]], (about, answer))
        self.assertGreater(len(problem["detail"]), 10, (about, answer))
        return problem["error"]

    def test_every_member_missing_or_of_a_wrong_value_is_refused_by_name(self):
        # What is valid, null for "not given" too, gets as far as its destination.
        full = message("m-1", ref="missing", priority="now", meta={"a": 1}, mentions=["ben"],
                       attempt=1, first_sent_at=4102444800000)
        before, seen = self.rows(), set()
        for member in full:
            for value in WRONG:
                changed = copy.deepcopy(full)
                changed[member] = value
                with self.subTest(member=member, value=value):
                    seen.add(self.refused(self.send(changed), (member, value)))
        for member in ("mesh", "client_message_id", "request_fingerprint", "envelope_version",
                       "destination", "body"):
            changed = {name: value for name, value in full.items() if name != member}
            self.rejected(self.send(changed), 400, "invalid_request")
        for member in ("kind", "ref"):
            for value in (*WRONG, "nowhere"):
                changed = copy.deepcopy(full)
                changed["destination"][member] = value
                with self.subTest(member=member, value=value):
                    seen.add(self.refused(self.send(changed), (member, value)))
        self.assertLessEqual({"invalid_request", "invalid_idempotency_key", "unknown_workspace",
                              "canonical_form_drift", "unsupported_version", "unknown_destination"},
                             seen)
        self.assertEqual(self.rows(), before)
        self.assertEqual(self.send(message("m-1")).status, 201)

    def test_texts_that_are_not_json_or_not_utf8_are_refused(self):
        good = json.dumps(message("m-1")).encode()
        before = self.rows()
        cases = {"cut": good[:-5], "two values": good + b"{}",
                 "a trailing comma": good[:-1] + b",}",
                 "single quotes": good.replace(b'"', b"'"), "a comment": b"/* */" + good,
                 "a byte order mark": b"\xef\xbb\xbf" + good,
                 "UTF-16": good.decode().encode("utf-16"),
                 "an overlong form": good.replace(b"hello", b"\xc0\xaf"),
                 "a lone continuation": good.replace(b"hello", b"\x80"),
                 "a surrogate as UTF-8": good.replace(b"hello", b"\xed\xa0\x80"),
                 "a control character": good.replace(b"hello", b"a\nb"),
                 "NaN": good.replace(b'"hello"', b"NaN"),
                 "an escaped name twice": good[:-1] + b',"\\u006desh":"team"}',
                 "an array": b"[" + good + b"]", "a number": b"5", "null": b"null"}
        for name, body in cases.items():
            with self.subTest(name):
                self.rejected(self.raw("ann", "/v1/messages", body), 400, "invalid_request")
        self.assertEqual(self.rows(), before)

    def test_depth_and_size_have_exact_limits(self):
        self.assertEqual(self.send(message("m-deep", meta=nested(64))).status, 201)
        for depth in (65, 99, 5000):
            body = json.dumps(message("m-1"))[:-1] + ',"meta":' + '{"a":' * depth + "1" \
                + "}" * depth + "}"
            self.rejected(self.raw("ann", "/v1/messages", body.encode()), 400, "invalid_request")
        self.assertEqual(self.send(message("m-full", body="x" * 65536)).status, 201)
        self.rejected(self.send(message("m-1", body="x" * 65537)), 413, "too_large")
        self.rejected(self.send(message("m-1", body="\u20ac" * 21846)), 413, "too_large")
        self.assertEqual(self.send(message("i" * 128)).status, 201)
        self.rejected(self.send(message("i" * 129)), 400, "invalid_idempotency_key")
        self.assertEqual(self.send(message("m-16", mentions=["ben"] * 16)).status, 201)
        answer = self.raw("ann", "/v1/messages", b" " * (1048576 + 1))
        self.assertEqual(answer.status, 413)
        self.assertEqual(self.client("ann").get("/v1/dedupe/m-1").status, 404)

    def test_the_version_is_examined_before_the_caller_and_the_caller_before_the_content(self):
        stranger = self.broker.client("nonsense")
        later = message("m-1") | {"envelope_version": 2}
        self.rejected(stranger.post("/v1/messages", later), 426, "unsupported_version")
        drifted = message("m-1") | {"request_fingerprint": "1" * 64}
        self.rejected(stranger.post("/v1/messages", drifted), 401, "unauthenticated")
        self.rejected(self.send(drifted | {"mesh": "other"}), 403, "not_a_member")
        self.rejected(self.send(drifted | {"client_message_id": "no spaces"}), 400,
                      "invalid_idempotency_key")
        big = message("m-1", ref="missing", body="x" * 65537)
        self.rejected(self.send(big), 413, "too_large")


class Outsiders(InputTest):
    """Whether an id is used is known to its sender only."""

    def test_no_outsider_can_distinguish_a_used_id_from_a_free_one(self):
        gone = self.add_member("team", "gone")
        for client in (self.client("ann"), self.broker.client(gone["token"])):
            self.assertEqual(client.post("/v1/messages", message("m-used")).status, 201)
        self.admin.good("DELETE", "/v1/workspaces/team/members/gone")
        outsiders = {"no token": self.broker.client(),
                     "an unknown token": self.broker.client("hfm_" + "A" * 43),
                     "the administrator": self.admin,
                     "a member of another workspace": self.client("dan"),
                     "a revoked member": self.broker.client(gone["token"])}
        for name, client in outsiders.items():
            for change in ({}, {"request_fingerprint": "1" * 64}, {"body": "x" * 70000}):
                answers = [client.post("/v1/messages", message(client_id) | change)
                           for client_id in ("m-used", "m-free")]
                with self.subTest(name, change=list(change)):
                    self.assertIn(answers[0].status, (401, 403))
                    self.assertEqual((answers[0].status, answers[0].body),
                                     (answers[1].status, answers[1].body))
            reads = [client.get("/v1/dedupe/" + client_id) for client_id in ("m-used", "m-free")]
            self.assertEqual((reads[0].status, reads[0].body.replace(b"m-used", b"m-free")),
                             (reads[1].status, reads[1].body))

    def test_a_token_of_another_workspace_reads_and_writes_nothing_here(self):
        self.assertEqual(self.send(message("m-1", mentions=["ben"])).status, 201)
        before = self.rows()
        dan = self.client("dan")
        self.rejected(dan.post("/v1/messages", message("m-2")), 403, "not_a_member")
        here = message("m-2", mesh="other")
        self.rejected(dan.post("/v1/messages", here), 404, "unknown_destination")
        to_ann = message("m-2", mesh="other", kind="dm", ref=self.members["ann"]["pubkey"])
        self.rejected(dan.post("/v1/messages", to_ann), 404, "unknown_destination")
        for kind, ref, status in (("topic", "alerts", 404), ("queue", "jobs", 404),
                                  ("dm", self.members["ann"]["pubkey"], 403)):
            answer = dan.get("/v1/history", query={"kind": kind, "ref": ref})
            self.assertEqual(answer.status, status, answer)
        self.assertEqual(dan.good("GET", "/v1/mentions")["mentions"], [])
        self.assertEqual(self.rows(), before)

    def test_ids_and_names_in_paths_and_queries_are_checked(self):
        before = self.rows()
        for path in ("/v1/dedupe/%00", "/v1/dedupe/a%20b", "/v1/dedupe/" + "i" * 129,
                     "/v1/dedupe/%ff%fe", "/v1/history?ref=a%00b", "/v1/history?kind=x&ref=a",
                     "/v1/history?ref=alerts&after=-1",
                     "/v1/history?ref=alerts&limit=1001", "/v1/history?ref=alerts&x=1",
                     "/v1/history?ref=alerts&ref=inner", "/v1/mentions?after=x",
                     "/v1/features?require=%"):
            with self.subTest(path):
                self.assertIn(self.client("ann").get(path).status, (400, 404))
        for path in ("/v1/workspaces/no%2Fname", "/v1/workspaces/" + "x" * 5000,
                     "/v1/workspaces/%00/members", "/v1/workspaces/team/members/%ff"):
            with self.subTest(path[:40]):
                self.assertIn(self.admin.get(path).status, (400, 404, 405, 414))
        self.assertEqual(self.rows(), before)


class Administration(InputTest):
    REQUESTS = {
        "/v1/workspaces": {"name": "new", "body_form": "plain", "dedupe_mode": "permanent",
                           "dedupe_retention_days": 30, "message_retention_days": 7,
                           "rate_limit_per_window": 5, "window_seconds": 60,
                           "max_inline_bytes": 2048},
        "/v1/workspaces/team/members": {"name": "eve", "pubkey": KEY},
        "/v1/workspaces/team/topics": {"name": "t", "access": "open", "sender_copy": "include"},
        "/v1/workspaces/team/topics/alerts/subscriptions": {"member": "cat", "role": "reader"},
        "/v1/workspaces/team/queues": {"name": "q"},
        "/v1/join": {"invitation": "hfi_" + "A" * 43, "name": "eve", "pubkey": KEY},
    }

    def test_every_member_of_a_wrong_type_or_unknown_is_refused_and_changes_nothing(self):
        before = self.rows()
        for path, full in self.REQUESTS.items():
            for member in full:
                for value in (None, [], {}, {"a": 1}, True, 1.5, -1, "x" * 300, "a\u0000b"):
                    with self.subTest(path, member=member, value=value):
                        answer = self.admin.post(path, full | {member: value})
                        self.assertIn(answer.status, (400, 404), answer)
                        self.assertGreater(len(answer.json()["detail"]), 10)
            for body in (full | {"mesh_id": "x"}, full | {"member_id": "x"}, full | {"token": "x"}):
                self.assertEqual(self.admin.post(path, body).status, 400, (path, body))
            for body in (b"{", b"[]", b"5", b"\xff", b'{"name":"a","name":"b"}',
                         b'{"a":' * 5000 + b"1" + b"}" * 5000):
                self.assertEqual(self.raw(None, path, body).status, 400, (path, body[:20]))
            self.assertEqual(self.raw(None, path, b" " * (1048576 + 1)).status, 413, path)
        self.assertEqual(self.rows(), before)

    def test_a_member_cannot_be_forged(self):
        """Neither its key nor its name, in any case of letters, is given to a second one."""
        ann = self.members["ann"]
        invitation = self.admin.good("POST", "/v1/workspaces/team/invitations", {})["invitation"]
        before = self.rows()
        for request in ({"name": "eve", "pubkey": ann["pubkey"]}, {"name": "ann", "pubkey": KEY},
                        {"name": "ANN", "pubkey": KEY}):
            made = self.admin.post("/v1/workspaces/team/members", request)
            self.assertEqual(made.status, 409, made)
            joined = self.broker.client().post("/v1/join", request | {"invitation": invitation})
            self.assertEqual(joined.status, 409, joined)
        for key in ("AB" * 32, "ab" * 31, "ab" * 33, "zz" * 32):
            made = self.admin.post("/v1/workspaces/team/members", {"name": "eve", "pubkey": key})
            self.assertEqual(made.status, 400, made)
        self.assertEqual(self.rows(), before)
        used = {"name": "eve", "pubkey": KEY, "invitation": invitation}
        self.assertEqual(self.broker.client().post("/v1/join", used).status, 201)
        again = used | {"name": "eva", "pubkey": "cd" * 32}
        self.assertEqual(self.broker.client().post("/v1/join", again).status, 404)


if __name__ == "__main__":
    cli.main(__doc__)
