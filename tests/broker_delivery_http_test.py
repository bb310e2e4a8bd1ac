#!/usr/bin/env python3
"""Deliveries over HTTP: received, waited for, acknowledged, given up and replayed; kills between
the accept and the delivery. Every answer is compared with the document.

Run as: python3 tests/broker_delivery_http_test.py path/to/holdfast
"""

import contextlib
import sqlite3
import threading

from support import broker, cli, openapi, server
from support.broker import fingerprint, message

DOCUMENT = openapi.Document(openapi.FILE.with_name("broker_openapi.json"))


class DeliveryTest(broker.BrokerTest):
    def call(self, client, operation_id, body=None, query=None, **arguments):
        """The answer, which must be as the document describes it."""
        operation = DOCUMENT.operations[operation_id]
        answer = client.call(operation.method, operation.url(arguments), body, query=query)
        self.assertEqual(operation.answer_faults(answer), [], answer)
        return answer

    def receive(self, name, **query):
        answer = self.call(self.client(name), "claim_deliveries", query=query)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def ack(self, name, received):
        answer = self.call(self.client(name), "ack_deliveries", {
            "lease": received["lease"],
            "delivery_ids": [one["delivery_id"] for one in received["deliveries"]]})
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def ids(self, received):
        return [one["client_message_id"] for one in received["deliveries"]]

    def change(self, sql):
        """In the store, beside the broker."""
        with contextlib.closing(sqlite3.connect(self.path("broker.db"), timeout=60)) as db:
            db.execute(sql)
            db.commit()


class Receive(DeliveryTest):
    def test_a_member_receives_acknowledges_and_has_nothing_left(self):
        sent = message("m-1", "text", meta={"a": 1}, priority="now")
        made = self.send(sent).json()
        received = self.receive("ben")
        (one,) = received["deliveries"]
        self.assertEqual(one, {
            "delivery_id": one["delivery_id"], "attempt": 1, "mesh": "team",
            "broker_message_id": made["broker_message_id"], "client_message_id": "m-1",
            "request_fingerprint": fingerprint("topic", "alerts", "text", "", "now", {"a": 1}),
            "envelope_version": 1, "destination": {"kind": "topic", "ref": "alerts"},
            "sender_pubkey": self.members["ann"]["pubkey"], "sender_name": "ann",
            "priority": "now", "meta": {"a": 1}, "body": "text", "redacted": False,
            "history_seq": 1,
            "created_at": made["first_seen_at"]})
        self.assertEqual(self.receive("ben"), {"deliveries": []})
        for _ in range(2):
            self.assertEqual(self.ack("ben", received),
                             {"acked": [one["delivery_id"]], "fenced": []})
        self.assertEqual(self.receive("ben", wait=1), {"deliveries": []})
        self.assertEqual(self.ids(self.receive("ann", limit=5)), ["m-1"])

    def test_BR_14_a_redacted_message_is_delivered_without_its_content(self):
        made = self.send(message("m-1", "a secret", meta={"a": 1})).json()
        self.send(message("m-2", ""))
        sent = made["broker_message_id"]
        self.admin.good("POST", f"/v1/workspaces/team/messages/{sent}/redaction")
        received = self.receive("ben")
        one, two = received["deliveries"]
        self.assertEqual((one["client_message_id"], one["redacted"], one["body"]),
                         ("m-1", True, ""))
        self.assertFalse({"meta", "request_fingerprint"} & set(one))
        self.assertEqual((two["redacted"], two["body"], two["request_fingerprint"]),
                         (False, "", fingerprint("topic", "alerts", "")))
        self.assertEqual(self.ack("ben", received)["fenced"], [])

    def test_R_04_a_waiting_request_gets_what_is_sent(self):
        found = []
        waiting = threading.Thread(target=lambda: found.append(self.receive("ben", wait=10)))
        waiting.start()
        server.wait_until(lambda: self.metric("cm_broker_delivery_polls"), "the request waits")
        self.send(message("m-1", kind="dm", ref=self.members["ben"]["pubkey"]))
        waiting.join(server.DEADLINE_S)
        self.assertEqual(self.ids(found[0]), ["m-1"])

    def test_FO_07_no_one_acknowledges_for_another(self):
        self.send(message("m-1"))
        received = self.receive("ben")
        ids = [one["delivery_id"] for one in received["deliveries"]]
        for name in ("ann", "cat", "dan"):
            self.assertEqual(self.ack(name, received), {"acked": [], "fenced": ids})
        self.assertEqual(self.metric("cm_broker_delivery_fenced_total"), 3)
        self.assertEqual(self.ack("ben", received)["acked"], ids)
        self.assertEqual(self.metric("cm_broker_delivery_acked_total"), 1)

    def test_requests_that_are_not_valid_are_refused(self):
        ben = self.client("ben")
        for query in ({"wait": 11}, {"wait": "x"}, {"limit": 0}, {"limit": 1001}, {"after": 1}):
            answer = self.call(ben, "claim_deliveries", query=query)
            self.assertEqual((answer.status, answer.code), (400, "invalid_argument"), query)
        for body in ({}, {"lease": "x"}, {"lease": "", "delivery_ids": [1]},
                     {"lease": "x", "delivery_ids": []}, {"lease": "x", "delivery_ids": [0]},
                     {"lease": "x", "delivery_ids": [-1]}, {"lease": "x", "delivery_ids": ["1"]},
                     {"lease": "x", "delivery_ids": [1] * 1001},
                     {"lease": "x", "delivery_ids": [2 ** 63]},
                     {"lease": "x", "delivery_ids": [1], "more": 1}):
            answer = self.call(ben, "ack_deliveries", body)
            self.assertEqual(answer.status, 400, (body, answer))
        self.assertEqual(self.call(ben, "replay_deliveries", {"delivery_ids": []}).status, 400)

    def test_only_members_receive_and_only_the_administrator_lists(self):
        for client, status in ((self.broker.client(), 401), (self.broker.client("wrong"), 401),
                               (self.admin, 401)):
            for operation in ("claim_deliveries", "list_dead_deliveries"):
                self.assertEqual(self.call(client, operation).status, status)
        self.assertEqual(self.call(self.client("ben"), "list_deliveries",
                                   workspace="team").status, 403)
        self.send(message("m-1"))
        self.admin.good("DELETE", "/v1/workspaces/team/members/ben")
        self.assertEqual(self.call(self.client("ben"), "claim_deliveries").status, 403)


class Dead(DeliveryTest):
    def test_FO_08_a_dead_delivery_is_listed_and_replayed_by_its_member(self):
        self.send(message("m-1"))
        self.change("UPDATE delivery_queue SET state = 'dead', attempts = 100, "
                    "last_error = 'no acknowledgement'")
        listed = self.call(self.client("ben"), "list_dead_deliveries").json()
        (one,) = listed["deliveries"]
        self.assertEqual((one["state"], one["attempts"], one["recipient"], one["sender"],
                          one["reason"]), ("dead", 100, "ben", "ann", "no acknowledgement"))
        self.assertEqual(self.metric("cm_broker_delivery_depth", '{channel="ws",state="dead"}'), 2)
        ids = {"delivery_ids": [one["delivery_id"]]}
        for name, replayed in (("cat", 0), ("dan", 0), ("ben", 1), ("ben", 0)):
            answer = self.call(self.client(name), "replay_deliveries", ids)
            self.assertEqual(answer.json(), {"replayed": replayed}, name)
        self.assertEqual([(got["client_message_id"], got["attempt"])
                          for got in self.receive("ben")["deliveries"]], [("m-1", 1)])

    def test_FO_08_the_administrator_lists_and_replays(self):
        for n in range(3):
            self.send(message(f"m-{n}"))
        self.receive("ann", limit=1)
        self.change("UPDATE delivery_queue SET state = 'dead' WHERE state = 'queued'")
        listed = self.call(self.admin, "list_deliveries", workspace="team",
                           query={"state": "dead", "member": "ann"}).json()["deliveries"]
        self.assertEqual([one["recipient"] for one in listed], ["ann", "ann"])
        every = self.call(self.admin, "list_deliveries", workspace="team",
                          query={"limit": 2}).json()
        self.assertEqual(len(every["deliveries"]), 2)
        rest = self.call(self.admin, "list_deliveries", workspace="team",
                         query={"after": every["next_after"]}).json()["deliveries"]
        self.assertEqual(len(rest), 4)
        answer = self.call(self.admin, "replay_for_members", workspace="team", body={
            "delivery_ids": [one["delivery_id"] for one in listed]})
        self.assertEqual(answer.json(), {"replayed": 2})
        answer = self.call(self.admin, "replay_for_members", workspace="other", body={
            "delivery_ids": [one["delivery_id"] for one in rest]})
        self.assertEqual(answer.json(), {"replayed": 0})
        self.assertEqual(self.call(self.admin, "list_deliveries", workspace="none").status, 404)
        self.assertEqual(self.call(self.admin, "list_deliveries", workspace="team",
                                   query={"member": "none"}).status, 404)


class Kills(DeliveryTest):
    def test_FO_01_what_was_accepted_before_a_kill_is_delivered_after_it(self):
        for n in range(3):
            self.assertEqual(self.send(message(f"m-{n}")).status, 201)
        held = self.receive("ben", limit=1)
        self.broker.kill()
        self.broker.start()
        self.assertEqual(self.ids(self.receive("ann")), ["m-0", "m-1", "m-2"])
        self.assertEqual(self.receive("ben"), {"deliveries": []}, "m-0 is held until it is acked")
        self.assertEqual(self.ack("ben", held)["fenced"], [])
        self.assertEqual(self.ids(self.receive("ben")), ["m-1", "m-2"])


if __name__ == "__main__":
    cli.main(__doc__)
