#!/usr/bin/env python3
"""A broker over HTTP: every answer to a message, invalid requests, members and outsiders, reads,
administration, metrics and shutdown.

Run as: python3 tests/broker_http_test.py path/to/holdfast
"""

import base64
import concurrent.futures
import contextlib
import hashlib
import json
import re
import signal
import sqlite3
import threading
import urllib.parse

from support import broker, cli, server
from support.broker import message


class Accept(broker.BrokerTest):
    def test_a_message_is_created_once_and_then_a_duplicate_with_the_same_ids(self):
        first = self.send(message("m-1", mentions=["ben"]))
        self.assertEqual(first.status, 201, first)
        made = first.json()
        self.assertEqual((made["duplicate"], made["fanout_count"], made["client_message_id"]),
                         (False, 2, "m-1"))
        for _ in range(2):
            again = self.send(message("m-1"))
            self.assertEqual(again.status, 200, again)
            self.assertTrue(again.json()["duplicate"])
            for name in ("broker_message_id", "history_id", "first_seen_at"):
                self.assertEqual(again.json()[name], made[name])
        looked_up = self.client("ann").good("GET", "/v1/dedupe/m-1")
        self.assertEqual(looked_up["broker_message_id"], made["broker_message_id"])
        self.assertEqual(looked_up["broker_fingerprint_prefix"],
                         message("m-1")["request_fingerprint"][:16])

    def test_other_content_under_a_used_id_is_a_conflict(self):
        self.assertEqual(self.send(message("m-1")).status, 201)
        problem = self.rejected(self.send(message("m-1", body="other")), 409,
                                "idempotency_key_reused")
        self.assertEqual(problem["conflict"], "request_fingerprint_mismatch")
        self.assertEqual(problem["client_message_id"], "m-1")
        self.assertEqual(problem["broker_fingerprint_prefix"],
                         message("m-1")["request_fingerprint"][:16])
        self.assertEqual(problem["what_next"], "permanent")

    def test_R_07_R_23_every_rejection_before_and_inside_the_transaction_frees_the_id(self):
        """Name, status, request, sender; each is refused, changes nothing, and m-1 works after."""
        key = self.members["ann"]["pubkey"]
        gone = self.add_member("team", "gone")
        self.admin.good("DELETE", "/v1/workspaces/team/members/gone")
        self.admin.good("POST", "/v1/workspaces/team/topics", {"name": "old"})
        self.admin.good("DELETE", "/v1/workspaces/team/topics/old")
        drifted = message("m-1") | {"request_fingerprint": "0" * 63 + "1"}
        stale = message("m-1", first_sent_at=1, attempt=9)
        cases = [
            ("invalid_request", 400, message("m-1", mentions=["a"] * 17), "ann"),
            ("invalid_request", 400, message("m-1", ref="no such/name"), "ann"),
            ("invalid_idempotency_key", 400, message("no spaces"), "ann"),
            ("unknown_workspace", 404, message("m-1", mesh="nowhere"), "ann"),
            ("not_a_member", 403, message("m-1", mesh="other"), "ann"),
            ("not_a_member", 403, message("m-1"), "dan"),
            ("canonical_form_drift", 422, drifted, "ann"),
            ("unsupported_version", 426, message("m-1") | {"envelope_version": 2}, "ann"),
            ("too_large", 413, message("m-1", body="x" * 65537), "ann"),
            ("stale_retry", 410, stale, "ann"),
            ("unknown_destination", 404, message("m-1", ref="nothing"), "ann"),
            ("unknown_destination", 404, message("m-1", kind="queue", ref="nothing"), "ann"),
            ("unknown_destination", 404, message("m-1", kind="dm", ref="ab" * 32), "ann"),
            ("destination_closed", 410, message("m-1", ref="old"), "ann"),
            ("destination_closed", 410, message("m-1", kind="dm", ref=gone["pubkey"]), "ann"),
            ("not_allowed", 403, message("m-1", ref="inner"), "ann"),
        ]
        for error, status, request, sender in cases:
            with self.subTest(error=error, ref=request["destination"]):
                self.rejected(self.send(request, sender), status, error)
                self.assertEqual(self.client("ann").get("/v1/dedupe/m-1").status, 404)
        self.rejected(self.broker.client(gone["token"]).post("/v1/messages", message("m-1")), 403,
                      "member_revoked")
        self.rejected(self.broker.client().post("/v1/messages", message("m-1")), 401,
                      "unauthenticated")
        for kind, ref in (("topic", "alerts"), ("dm", key), ("queue", "jobs")):
            self.assertEqual(self.send(message("m-" + kind, kind=kind, ref=ref)).status, 201)
        self.assertEqual(self.send(message("m-1")).status, 201)
        self.assertEqual(self.admin.good("POST", "/admin/orphan-check", {})["total"], 0)

    def test_a_refusal_says_what_was_wrong_and_what_to_do(self):
        self.assertEqual(self.send(message("m-0")).status, 201)
        good = message("m-1")
        for request, words in (
                (message("m-1", ref="nothing"), ('topic "nothing"', "broker topic create")),
                (message("m-1", kind="queue", ref="none"), ('queue "none"', "queue create")),
                (message("m-1", kind="dm", ref="ab" * 32), ("member", "ab" * 32)),
                (message("m-1", ref="inner"), ('"inner" is closed', "topic subscribe")),
                (message("m-1", body="x" * 65537), ("65537 bytes", "65536")),
                (message("m-1", mesh="nowhere"), ('"nowhere"',)),
                (message("m-1", mesh="other"), ('"other"', "another workspace")),
                (message("m-1", first_sent_at=1), ("365 days", "new id")),
                (message("m-0", body="x"), ('"m-0"', "new id")),
                (good | {"priority": "urgent"}, ('"priority"', '"now", "next" or "low"')),
                (good | {"destination": {"kind": "fax", "ref": "x"}}, ('"destination"', "topic")),
                (good | {"request_fingerprint": "A" * 64}, ("64 lower-case hex digits",)),
                (good | {"first_sent_at": "now"}, ("milliseconds since 1970",)),
                (good | {"meta": [1]}, ("meta", "object"))):
            detail = self.send(request).json()["detail"]
            for word in words:
                self.assertIn(word, detail)
        empty = self.client("ann").call("POST", "/v1/messages", b"")
        self.assertIn("the body is empty", empty.json()["detail"])
        read = self.client("ann").get("/v1/history?ref=inner").json()["detail"]
        self.assertNotIn("send", read)

    def test_malformed_requests_are_refused_by_name(self):
        client = self.client("ann")
        deep = b'{"meta":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}"
        good = message("m-1")
        cases = {
            "not JSON": b"{",
            "an array": b"[]",
            "nothing": b"",
            "not UTF-8": json.dumps(good).encode().replace(b"hello", b"h\xff\xfe"),
            "deeply nested": deep,
            "a repeated field": json.dumps(good)[:-1].encode() + b',"mesh":"team"}',
            "an unknown field": json.dumps(good | {"bdoy": "x"}).encode(),
            "an unknown field inside": json.dumps(
                good | {"destination": {"kind": "topic", "ref": "alerts", "x": 1}}).encode(),
            "a missing field": json.dumps({k: v for k, v in good.items() if k != "body"}).encode(),
            "a wrong type": json.dumps(good | {"body": 5}).encode(),
            "a zero byte": json.dumps(message("m-1", ref="a\0b")).encode(),
            "a number beyond 2^53": json.dumps(good | {"meta": {"n": 2**60}}).encode(),
        }
        for name, body in cases.items():
            with self.subTest(name):
                answer = client.call("POST", "/v1/messages", body,
                                     headers={"Content-Type": "application/json"})
                problem = self.rejected(answer, 400, "invalid_request")
                self.assertGreater(len(problem["detail"]), 20)
        self.assertIn('did you mean \\"body\\"', client.call(
            "POST", "/v1/messages", cases["an unknown field"],
            headers={"Content-Type": "application/json"}).text)
        form = client.call("POST", "/v1/messages", b"a=b",
                           headers={"Content-Type": "application/x-www-form-urlencoded"})
        self.rejected(form, 400, "invalid_request")
        self.assertEqual(client.post("/v1/messages?mesh=team", good).status, 400)
        self.assertEqual(self.metric("cm_broker_accept_total", '{result="created"}'), 0)

    def test_R_29_a_body_above_the_limit_of_the_transport_is_413(self):
        answer = self.client("ann").call("POST", "/v1/messages", b"x" * (1048576 + 1),
                                         headers={"Content-Type": "application/json"})
        self.assertEqual((answer.status, answer.code), (413, "too_large"))

    def test_concurrent_messages_are_all_accepted_and_share_commits(self):
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(lambda n: self.send(message(f"m-{n}")), range(200)))
        self.assertEqual({answer.status for answer in answers}, {201})
        history = self.client("ben").good("GET", "/v1/history?ref=alerts&limit=1000")
        self.assertEqual([one["history_seq"] for one in history["messages"]],
                         list(range(1, 201)))

    def test_a_page_has_at_least_one_entry(self):
        lists = (("ann", "/v1/history?ref=alerts&"), ("ann", "/v1/mentions?"),
                 ("ann", "/v1/deliveries?"), ("ann", "/v1/deliveries/dead?"),
                 (None, "/v1/workspaces/team/deliveries?"))
        for caller, path in lists:
            client = self.admin if caller is None else self.client(caller)
            for limit in ("0", "1001"):
                answer = client.get(f"{path}limit={limit}")
                self.assertEqual((answer.status, answer.code, answer.json().get("field")),
                                 (400, "invalid_argument", "limit"), path)
                self.assertIn("from 1 to 1000", answer.json()["detail"])
            client.good("GET", f"{path}limit=1")

    def test_health_answers_while_messages_wait_for_the_store(self):
        """The store is locked by another process: only its requests wait."""
        lock = sqlite3.connect(self.path("broker.db"), isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        sent = []
        sender = threading.Thread(target=lambda: sent.append(self.send(message("m-1"))))
        sender.start()
        try:
            for _ in range(20):
                self.assertEqual(self.admin.get("/healthz").status, 200)
                self.assertEqual(self.admin.get("/readyz").status, 200)
            self.assertEqual(sent, [])
        finally:
            lock.execute("ROLLBACK")
            lock.close()
            sender.join(server.DEADLINE_S)
        self.assertIn(sent[0].status, (201, 503), sent)


class RateLimit(broker.BrokerTest):
    def settings(self):
        return {"rate_limit_per_window": 3, "window_seconds": 3600}

    def test_a_full_window_is_429_with_a_time_and_known_ids_are_still_answered(self):
        for n in range(3):
            self.assertEqual(self.send(message(f"m-{n}")).status, 201)
        answer = self.send(message("m-9"))
        self.rejected(answer, 429, "rate_limited")
        self.assertGreater(int(answer.headers["retry-after"]), 0)
        self.assertEqual(self.send(message("m-0")).status, 200)
        self.assertEqual(self.metric("cm_broker_rate_limit_rejection_total"), 1)
        self.assertEqual(self.metric("cm_broker_b0_hit_total"), 1)


class Outsiders(broker.BrokerTest):
    MEMBER_PATHS = ("/v1/dedupe/m-1", "/v1/features", "/v1/history?ref=alerts", "/v1/mentions")
    ADMIN_CALLS = (("GET", "/v1/workspaces"), ("POST", "/v1/workspaces"),
                   ("GET", "/v1/workspaces/team"), ("DELETE", "/v1/workspaces/team"),
                   ("GET", "/v1/workspaces/team/members"), ("POST", "/v1/workspaces/team/members"),
                   ("DELETE", "/v1/workspaces/team/members/ann"),
                   ("POST", "/v1/workspaces/team/invitations"),
                   ("GET", "/v1/workspaces/team/topics"), ("POST", "/v1/workspaces/team/topics"),
                   ("DELETE", "/v1/workspaces/team/topics/alerts"),
                   ("POST", "/v1/workspaces/team/topics/inner/subscriptions"),
                   ("DELETE", "/v1/workspaces/team/topics/alerts/subscriptions/ben"),
                   ("GET", "/v1/workspaces/team/queues"), ("POST", "/v1/workspaces/team/queues"),
                   ("POST", "/admin/sweep"), ("POST", "/admin/orphan-check"))

    def test_BR_09_H_10_strangers_get_the_same_answer_for_known_and_unknown_ids(self):
        self.assertEqual(self.send(message("m-1")).status, 201)
        for token in (None, "hfm_" + "A" * 43, self.members["ann"]["token"] + "x", broker.ADMIN):
            stranger = self.broker.client(token)
            known = stranger.post("/v1/messages", message("m-1"))
            unknown = stranger.post("/v1/messages", message("m-2"))
            self.rejected(known, 401, "unauthenticated")
            self.assertEqual(known.body, unknown.body)
            self.assertEqual(known.headers["www-authenticate"], "Bearer")
            for path in self.MEMBER_PATHS:
                self.rejected(stranger.get(path), 401, "unauthenticated")

    def test_H_05_members_see_and_use_only_their_own_ids(self):
        self.assertEqual(self.send(message("m-1")).status, 201)
        self.assertEqual(self.client("ben").get("/v1/dedupe/m-1").status, 404)
        mine = self.send(message("m-1"), "ben")
        self.assertEqual(mine.status, 201, "an id of another member is free")
        self.assertEqual(self.client("dan").get("/v1/dedupe/m-1").status, 404)

    def test_the_sender_is_the_member_of_the_token_and_cannot_be_forged(self):
        for field in ("sender", "sender_member_id", "sender_pubkey", "from"):
            forged = message("m-1") | {field: self.members["ben"]["member_id"]}
            self.rejected(self.send(forged), 400, "invalid_request")
        self.assertEqual(self.send(message("m-1")).status, 201)
        (one,) = self.client("ben").good("GET", "/v1/history?ref=alerts")["messages"]
        self.assertEqual((one["sender_name"], one["sender_pubkey"]),
                         ("ann", self.members["ann"]["pubkey"]))

    def test_a_malformed_or_doubled_authorization_is_refused(self):
        token = self.members["ann"]["token"]
        self.assertEqual(self.broker.client().get("/v1/features", headers={
            "Authorization": "bearer " + token}).status, 200, "schemes have no case")
        for value in (token, "Basic " + token, "Bearer", "Bearer ", "bearer" + token):
            answer = self.broker.client().post("/v1/messages", message("m-1"),
                                               headers={"Authorization": value})
            self.rejected(answer, 401, "unauthenticated")
        connection = self.broker.client().connection()
        body = json.dumps(message("m-1")).encode()
        connection.putrequest("POST", "/v1/messages")
        for value in (token, self.members["ben"]["token"]):
            connection.putheader("Authorization", "Bearer " + value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        self.assertEqual(connection.getresponse().status, 401)
        connection.close()
        self.assertEqual(self.broker.client().get("/v1/features?token=" + token).status, 401)

    def test_only_the_administrator_administers(self):
        before = self.admin.get("/v1/workspaces/team/members").body
        for method, path in self.ADMIN_CALLS:
            body = None if method != "POST" else {"name": "x"}
            for token, status in ((None, 401), ("nonsense" * 4, 401),
                                  (self.members["ann"]["token"], 403)):
                answer = self.broker.client(token).call(method, path, body)
                self.assertEqual(answer.status, status, (method, path, token, answer))
        self.assertEqual(self.admin.get("/v1/workspaces/team/members").body, before)

    def test_histories_are_readable_by_those_they_concern(self):
        ann, ben = self.members["ann"], self.members["ben"]
        self.assertEqual(self.send(message("m-1", kind="dm", ref=ben["pubkey"])).status, 201)
        self.assertEqual(self.send(message("m-2", ref="inner"), "ben").status, 201)
        self.assertEqual(self.send(message("m-3", kind="queue", ref="jobs")).status, 201)

        def read(name, kind, ref):
            return self.client(name).get("/v1/history", query={"kind": kind, "ref": ref})

        self.assertEqual(len(read("ben", "dm", ben["pubkey"]).json()["messages"]), 1)
        self.rejected(read("ann", "dm", ben["pubkey"]), 403, "not_allowed")
        self.rejected(read("ann", "dm", "ab" * 32), 403, "not_allowed")
        self.assertEqual(len(read("ann", "dm", ann["pubkey"]).json()["messages"]), 0)
        self.assertEqual(len(read("ben", "topic", "inner").json()["messages"]), 1)
        self.rejected(read("ann", "topic", "inner"), 403, "not_allowed")
        self.assertEqual(len(read("cat", "queue", "jobs").json()["messages"]), 1)
        self.rejected(read("cat", "topic", "nothing"), 404, "unknown_destination")
        self.rejected(read("dan", "topic", "alerts"), 404, "unknown_destination")


class Reads(broker.BrokerTest):
    def test_HI_02_H_32_history_pages_without_gaps_or_repeats(self):
        for n in range(5):
            self.send(message(f"m-{n}", body=f"text {n}", meta={"n": n}, priority="now"))
        client, after, seen = self.client("ben"), 0, []
        while page := client.good("GET", "/v1/history", query={
                "ref": "alerts", "after": after, "limit": 2})["messages"]:
            seen += page
            after = page[-1]["history_seq"]
            self.broker.kill()
            self.broker.start()
        self.assertEqual([one["body"] for one in seen], [f"text {n}" for n in range(5)])
        self.assertEqual([one["meta"] for one in seen], [{"n": n} for n in range(5)])
        self.assertEqual({one["priority"] for one in seen}, {"now"})
        for query in ("ref=alerts&after=x", "ref=alerts&limit=1001", "", "ref=alerts&kind=nothing",
                      "ref=alerts&colour=1&x=2"):
            self.assertEqual(client.get("/v1/history?" + query).status, 400, query)

    def test_HI_03_what_was_pruned_is_announced_and_keeps_its_number(self):
        for n in range(4):
            self.send(message(f"m-{n}", kind="queue", ref="jobs"))
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db, db:
            db.execute("UPDATE message_history SET created_at = 1 WHERE history_seq < 3")
        self.assertEqual(self.admin.good("POST", "/admin/sweep", {})["messages"], 0, "they wait")
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db, db:
            db.execute("UPDATE queue_entry SET state = 'done'")
        self.assertEqual(self.admin.good("POST", "/admin/sweep", {})["messages"], 2)
        read = self.client("cat").good("GET", "/v1/history?kind=queue&ref=jobs")
        self.assertEqual([(one["history_seq"], one["pruned"], one.get("client_message_id"))
                          for one in read["messages"]],
                         [(1, True, None), (2, True, None), (3, False, "m-2"), (4, False, "m-3")])
        self.assertEqual(read["next_after"], 4)
        self.assertEqual(self.admin.good("POST", "/admin/orphan-check", {})["total"], 0)

    def test_R_03_R_21_H_07_sealed_bodies_are_covered_and_returned_as_they_came(self):
        self.admin.good("POST", "/v1/workspaces", {"name": "vault", "body_form": "sealed"})
        eve = self.broker.client(self.add_member("vault", "eve")["token"])
        self.admin.good("POST", "/v1/workspaces/vault/queues", {"name": "jobs"})
        sealed = bytes(range(256))
        text = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
        fields = [b"1", b"queue", b"jobs", b"", b"next", b"", hashlib.sha256(sealed).hexdigest()
                  .encode()]
        request = message("m-1", body=text, kind="queue", ref="jobs", mesh="vault") | {
            "request_fingerprint": hashlib.sha256(b"\0".join(fields)).hexdigest()}
        self.assertEqual(eve.post("/v1/messages", request).status, 201)
        self.assertEqual(eve.post("/v1/messages", request).status, 200)
        (one,) = eve.good("GET", "/v1/history?kind=queue&ref=jobs")["messages"]
        self.assertEqual(one["body"], text)
        for body in (text + "=", "+/+/", "a", "h\u00e9"):
            problem = self.rejected(eve.post("/v1/messages", request | {"body": body}), 400,
                                    "invalid_request")
            self.assertIn("base64url", problem["detail"])
        of_the_text = message("m-2", body=text, kind="queue", ref="jobs", mesh="vault")
        self.rejected(eve.post("/v1/messages", of_the_text), 422, "canonical_form_drift")

    def test_mentions_are_those_of_the_caller(self):
        made = self.send(message("m-1", mentions=["BEN", "stranger", "ann"])).json()
        (one,) = self.client("ben").good("GET", "/v1/mentions")["mentions"]
        self.assertEqual(one["broker_message_id"], made["broker_message_id"])
        self.assertEqual((one["destination"], one["history_seq"]),
                         ({"kind": "topic", "ref": "alerts"}, 1))
        self.assertEqual(self.client("ann").good("GET", "/v1/mentions")["mentions"], [])
        after = made["broker_message_id"]
        self.assertEqual(self.client("ben").good("GET", f"/v1/mentions?after={after}")["mentions"],
                         [])
        self.assertEqual(self.client("ben").get("/v1/mentions?after=x").status, 400)

    def test_NG_02_NG_03_what_is_offered_is_valid_in_every_kind_of_workspace(self):
        for name, settings, window in (
                ("least", {"dedupe_retention_days": 7, "message_retention_days": 7,
                           "max_inline_bytes": 1024}, {"dedupe_retention_days": 7}),
                ("ever", {"dedupe_mode": "permanent"}, {})):
            self.admin.good("POST", "/v1/workspaces", {"name": name, **settings})
            client = self.broker.client(self.add_member(name, "eve")["token"])
            offered = client.good("GET", "/v1/features?require=client_message_id_dedupe"
                                         "&require=max_payload")
            self.assertEqual(offered.get("missing_required", []), [])
            self.assertEqual(offered["supported"]["client_message_id_dedupe"],
                             {"version": 2, "request_fingerprint": True,
                              "mode": settings.get("dedupe_mode", "retention_scoped"), **window})
            limits = offered["supported"]["max_payload"]
            self.assertEqual((limits["version"], limits["inline_bytes"]),
                             (1, settings.get("max_inline_bytes", 65536)))
            self.assertGreaterEqual(limits["blob_bytes"], 1024)

    def test_NG_01_features_offer_dedupe_with_its_window_and_name_what_is_missing(self):
        got = self.client("ann").good("GET", "/v1/features?require=client_message_id_dedupe"
                                             "&require=time_travel")
        self.assertEqual(got["missing_required"], ["time_travel"])
        self.assertEqual(set(got["supported"]), {"client_message_id_dedupe", "max_payload",
                                                 "concurrent_connection_policy"})
        offered = got["supported"]["client_message_id_dedupe"]
        self.assertEqual((offered["version"], offered["mode"], offered["dedupe_retention_days"],
                          offered["request_fingerprint"]), (2, "retention_scoped", 365, True))
        self.assertEqual(got["supported"]["max_payload"]["inline_bytes"], 65536)

    def test_R_08_health_and_readiness_have_both_names(self):
        for path in ("/healthz", "/health"):
            self.assertEqual(self.broker.client().get(path).json(), {"status": "ok"})
        for path in ("/readyz", "/ready"):
            self.assertEqual(self.broker.client().get(path).json(), {"ready": True})

    def test_unknown_paths_and_methods(self):
        self.assertEqual(self.admin.get("/v1/nothing").status, 404)
        wrong = self.admin.call("PUT", "/v1/messages", {})
        self.assertEqual((wrong.status, wrong.headers["allow"]), (405, "POST"))
        document = self.broker.client().good("GET", "/openapi.json")
        self.assertIn("/v1/messages", document["paths"])


class Withheld(broker.BrokerTest):
    def options(self):
        return ("--withhold-dedupe",)

    def test_R_18_the_switch_withholds_dedupe_and_stored_rows_stay(self):
        self.assertEqual(self.send(message("m-1")).status, 201)
        got = self.client("ann").good("GET", "/v1/features?require=client_message_id_dedupe")
        self.assertEqual(got["missing_required"], ["client_message_id_dedupe"])
        self.assertEqual(self.send(message("m-1")).status, 200)


class Administration(broker.BrokerTest):
    def test_R_05_an_invitation_makes_one_member_once(self):
        made = self.admin.good("POST", "/v1/workspaces/team/invitations", {})
        request = {"invitation": made["invitation"], "name": "eve", "pubkey": "ab" * 32}
        stranger = self.broker.client()
        self.assertEqual(stranger.post("/v1/join", request | {"invitation": "hfi_x"}).status, 404)
        taken = stranger.post("/v1/join", request | {"name": "ann"})
        self.assertEqual((taken.status, taken.code), (409, "already_exists"))
        joined = stranger.post("/v1/join", request)
        self.assertEqual(joined.status, 201, joined)
        self.assertEqual(joined.json()["workspace"], "team")
        self.members["eve"] = joined.json()
        self.assertEqual(self.send(message("m-1"), "eve").status, 201)
        again = stranger.post("/v1/join", request | {"name": "fay", "pubkey": "cd" * 32})
        self.assertEqual(again.status, 404)
        names = [one["name"] for one in
                 self.admin.good("GET", "/v1/workspaces/team/members")["members"]]
        self.assertEqual(names, ["ann", "ben", "cat", "eve"])

    def test_no_secret_is_stored_or_logged(self):
        made = self.admin.good("POST", "/v1/workspaces/team/invitations", {})
        self.send(message("m-1"))
        self.broker.stop()
        secrets = [made["invitation"], broker.ADMIN, self.members["ann"]["token"]]
        for content in cli.snapshot(self.directory).values():
            for secret in secrets:
                if content is not None and content != (broker.ADMIN + "\n").encode():
                    self.assertNotIn(secret.encode(), content)

    def test_objects_are_listed_shown_and_ended(self):
        self.admin.good("POST", "/v1/workspaces/team/topics/alerts/subscriptions",
                        {"member": self.members["cat"]["pubkey"], "role": "reader"})
        topic = self.admin.good("GET", "/v1/workspaces/team/topics/alerts")
        self.assertEqual([(one["member"], one["role"]) for one in topic["subscriptions"]],
                         [("ann", "writer"), ("ben", "writer"), ("cat", "reader")])
        self.rejected(self.send(message("m-1"), "cat"), 403, "not_allowed")
        left = self.admin.good("DELETE", "/v1/workspaces/team/topics/alerts/subscriptions/cat")
        self.assertEqual(len(left["subscriptions"]), 2)
        self.assertEqual(self.send(message("m-1"), "cat").status, 201)
        self.admin.good("DELETE", "/v1/workspaces/other")
        self.assertEqual([one["name"] for one in
                          self.admin.good("GET", "/v1/workspaces")["workspaces"]], ["team"])
        self.rejected(self.send(message("m-2"), "dan"), 401, "unauthenticated")

    def test_RT_04_a_setting_that_loses_ids_before_messages_is_refused_and_counted(self):
        for settings in ({"dedupe_retention_days": 6, "message_retention_days": 6},
                         {"dedupe_retention_days": 30, "message_retention_days": 31},
                         {"window_seconds": 0}, {"max_inline_bytes": 100}):
            answer = self.admin.post("/v1/workspaces", {"name": "bad", **settings})
            self.assertEqual(answer.status, 400, (settings, answer))
        self.assertEqual(self.admin.get("/v1/workspaces/bad").status, 404)
        self.assertGreaterEqual(self.metric("cm_broker_dedupe_misconfig_total"), 3)

    def test_names_and_bodies_are_checked(self):
        for path, body, status in (
                ("/v1/workspaces", {"name": "team"}, 409), ("/v1/workspaces", {"name": "a b"}, 400),
                ("/v1/workspaces", {"nmae": "x"}, 400), ("/v1/workspaces", {}, 400),
                ("/v1/workspaces/none/members", {"name": "x"}, 404),
                ("/v1/workspaces/team/members", {"name": "ANN"}, 409),
                ("/v1/workspaces/team/members", {"name": "x", "pubkey": "XY"}, 400),
                ("/v1/workspaces/team/topics", {"name": "alerts"}, 409),
                ("/v1/workspaces/team/queues", {"name": "jobs"}, 409),
                ("/v1/workspaces/team/topics/alerts/subscriptions", {"member": "none"}, 404)):
            answer = self.admin.post(path, body)
            self.assertEqual(answer.status, status, (path, body, answer))


class Moderation(broker.BrokerTest):
    def redact(self, message_id, workspace="team"):
        return self.admin.post(f"/v1/workspaces/{workspace}/messages/{message_id}/redaction")

    def dedupe_rows(self):
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db:
            return db.execute("SELECT * FROM client_message_dedupe ORDER BY 1, 2, 3").fetchall()

    def test_BR_14_a_message_is_redacted_and_its_dedupe_row_is_not_touched(self):
        request = message("m-1", body="a secret", meta={"of": "ann"}, mentions=["ben"])
        first = self.send(request).json()
        self.send(message("m-2"))
        before = self.dedupe_rows()
        redacted = self.redact(first["broker_message_id"])
        self.assertEqual(redacted.status, 200, redacted)
        self.assertEqual(redacted.json()["history_id"], first["history_id"])
        self.assertEqual(self.redact(first["broker_message_id"]).json(), redacted.json())
        self.assertEqual(self.dedupe_rows(), before)
        again = self.send(request)
        self.assertEqual(again.status, 200)
        self.assertEqual(again.json(), first | {"duplicate": True, "fanout_count": 0})
        self.rejected(self.send(message("m-1", body="")), 409, "idempotency_key_reused")
        one, two = self.client("ben").good("GET", "/v1/history?ref=alerts")["messages"]
        self.assertEqual((one["redacted"], one["history_seq"], one["sender_name"]),
                         (True, 1, "ann"))
        self.assertFalse({"body", "meta"} & set(one))
        self.assertEqual((two["redacted"], two["body"]), (False, "hello"))
        self.assertEqual(len(self.client("ben").good("GET", "/v1/mentions")["mentions"]), 1)
        self.assertEqual(self.admin.good("POST", "/admin/orphan-check", {})["total"], 0)
        self.broker.stop()
        for content in cli.snapshot(self.directory).values():
            self.assertNotIn(b"a secret", content or b"")

    def test_BR_14_only_the_administrator_redacts_what_there_is(self):
        sent = self.send(message("m-1")).json()["broker_message_id"]
        path = f"/v1/workspaces/team/messages/{sent}/redaction"
        self.assertEqual(self.client("ann").post(path).status, 403)
        self.assertEqual(self.broker.client().post(path).status, 401)
        self.assertEqual(self.redact(sent, "other").status, 404)
        self.assertEqual(self.redact("01JD3ZK8Q6X4T2V9B7N5M1C0RA").status, 404)
        self.assertEqual(self.redact("m-1").status, 400)


class Metrics(broker.BrokerTest):
    def test_OB_01_every_metric_has_its_name_and_labels(self):
        self.send(message("m-1", priority="now"))
        self.send(message("m-1", priority="now"))
        self.send(message("m-2", ref="nothing"))
        self.broker.client("hfm_unknown").post("/v1/messages", message("m-3"))
        for name, labels, value in (
                ("broker_messages_routed_total", '{priority="now"}', 1),
                ("broker_messages_routed_total", '{priority="next"}', 0),
                ("broker_messages_rejected_total", '{reason="unknown_destination"}', 1),
                ("broker_messages_rejected_total", '{reason="unauthenticated"}', 1),
                ("broker_messages_rejected_total", '{reason="rate_limited"}', 0),
                ("broker_connections_rejected_total", "", 0), ("broker_queue_depth", "", 2),
                ("cm_broker_push_connections", "", 0), ("cm_broker_push_opened_total", "", 0),
                ("cm_broker_push_refused_total", "", 0), ("cm_broker_push_slow_total", "", 0),
                ("cm_broker_push_concurrent_total", "", 0),
                ("cm_broker_push_deliveries_total", "", 0),
                ("cm_broker_webhook_attempts_total", '{outcome="delivered"}', 0),
                ("cm_broker_webhook_attempts_total", '{outcome="forbidden_address"}', 0),
                ("cm_broker_webhook_exhausted_total", "", 0),
                ("cm_broker_webhook_disabled_total", "", 0),
                ("cm_broker_webhook_in_flight", "", 0),
                ("broker_ttl_sweeps_total", "", 1), ("broker_db_healthy", "", 1)):
            self.assertEqual(self.metric(name, labels), value, (name, labels))
        self.assertGreaterEqual(self.metric("broker_connections_total"), 4)
        self.assertGreaterEqual(self.metric("broker_connections_active"), 1)

    def test_RL_10_no_table_of_the_store_counts_messages(self):
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db:
            columns = {f"{table}.{column}" for (table,) in db.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
                for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        self.assertEqual({name for name in columns if re.search("limit|count|window", name)},
                         {"mesh.rate_limit_per_window", "mesh.window_seconds",
                          "topic_message.fanout_count", "message_queue.fanout_count"})

    def test_OB_02_OB_03_delivery_gauges_equal_the_tables(self):
        for n in range(3):
            self.send(message(f"m-{n}"))
        self.send(message("m-9", kind="dm", ref=self.members["cat"]["pubkey"]))
        queued = '{channel="ws",state="queued"}'
        self.assertEqual(self.metric("cm_broker_delivery_depth", queued), 7)
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db:
            (rows,) = db.execute("SELECT count(*) FROM delivery_queue").fetchone()
            (first,) = db.execute("SELECT min(created_at) FROM delivery_queue").fetchone()
        self.assertEqual(rows, 7)
        (newest,) = [one["created_at"] for one in
                     self.client("cat").good("GET", "/v1/history", query={
                         "kind": "dm", "ref": self.members["cat"]["pubkey"]})["messages"]]
        oldest = self.metric("cm_broker_delivery_oldest_seconds")
        self.assertGreaterEqual(oldest, (newest - first) / 1000)
        self.assertLess(oldest, server.DEADLINE_S)

    def test_R_14_H_42_H_43_counters_have_their_names_and_no_id_is_a_label(self):
        self.send(message("m-1"))
        self.send(message("m-1"))
        self.send(message("m-1", body="other"))
        self.send(message("m-2", ref="nothing"))
        self.send(message("no id"))
        for result, count in (("created", 1), ("duplicate", 1), ("conflict", 1), ("b1", 1),
                              ("b2", 1), ("error", 0)):
            self.assertEqual(self.metric("cm_broker_accept_total", '{result="%s"}' % result), count)
        text = self.admin.get("/metrics").text
        for name in ("accept_seconds_count", "b0_hit_total", "dedupe_fingerprint_mismatch_total",
                     "dedupe_orphan_check_total", "dedupe_orphan_found", "limiter_errors_total",
                     "atomicity_violation_found", "dedupe_misconfig_total",
                     "rate_limit_rejection_total", "rate_limit_consumed_then_rejected_total",
                     "rate_limit_consumed_then_b2_rejected_total"):
            self.assertRegex(text, rf"(?m)^cm_broker_{name} ")
        self.assertNotIn("m-1", text)
        self.assertEqual(set(re.findall(r"(\w+)=\"", text)), {"result", "le", "job", "channel",
                                                              "state", "priority", "reason",
                                                              "outcome"})

    def test_RT_06_jobs_show_when_they_last_succeeded(self):
        self.admin.good("POST", "/admin/sweep", {})
        self.admin.good("POST", "/admin/orphan-check", {})
        for job in ("sweep", "orphan_check"):
            label = '{job="%s"}' % job
            self.assertGreater(self.metric("cm_broker_job_last_success_timestamp", label), 1.7e9)
            self.assertEqual(self.metric("cm_broker_job_failures_total", label), 0)

    def test_OR_13_orphans_raise_the_metric_and_the_exit_code(self):
        self.send(message("m-1"))
        self.assertEqual(self.admin.good("POST", "/admin/orphan-check", {})["total"], 0)
        with contextlib.closing(sqlite3.connect(self.path("broker.db"))) as db, db:
            db.execute("DELETE FROM topic_message")
        found = self.admin.good("POST", "/admin/orphan-check", {})
        self.assertEqual({one["check"] for one in found["found"]}, {"O1", "O5", "O6"})
        self.assertEqual(self.metric("cm_broker_dedupe_orphan_found"), found["total"])
        self.assertEqual(self.metric("cm_broker_atomicity_violation_found"), found["total"])
        remote = ("broker", "check", "--broker", self.broker.url, "--token-file",
                  self.path("admin.token"))
        self.assertIn("O1", self.ends(1, *remote))
        self.broker.stop()
        before = cli.snapshot(self.directory)
        self.assertIn("O1", self.ends(1, "broker", "check"))
        self.assertEqual(json.loads(self.ends(1, "broker", "check", "--json")), found)
        after = cli.snapshot(self.directory)
        self.assertEqual(before[self.path("broker.db")], after[self.path("broker.db")])


class Shutdown(broker.BrokerTest):
    def test_a_broker_that_was_killed_before_its_first_checkpoint_starts_again(self):
        self.assertEqual(self.send(message("m-1")).status, 201)
        self.broker.kill()
        self.broker.start()
        self.assertEqual(self.send(message("m-1")).status, 200)

    def test_a_stopped_broker_answers_what_it_took_and_starts_again(self):
        self.assertEqual(self.send(message("m-1")).status, 201)
        self.assertEqual(self.broker.stop(signal.SIGTERM), 0)
        self.assertIn("stopped", self.broker.logged())
        self.broker.start()
        self.assertEqual(self.send(message("m-1")).status, 200)

    def test_the_listener_is_loopback_unless_another_address_is_given(self):
        self.assertEqual(urllib.parse.urlsplit(self.broker.url).hostname, "127.0.0.1")


if __name__ == "__main__":
    cli.main(__doc__)
