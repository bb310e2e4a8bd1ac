#!/usr/bin/env python3
"""Queues over HTTP and on the command line: claimed, waited for, ended, fenced, given up, redriven.
Every answer is compared with the document.

Run as: python3 tests/broker_queue_http_test.py path/to/holdfast
"""

import json
import threading
import time

from support import broker, cli, openapi, server
from support.broker import message

DOCUMENT = openapi.Document(openapi.FILE.with_name("broker_openapi.json"))


class QueueTest(broker.BrokerTest):
    def call(self, client, operation_id, body=None, query=None, status=200, **arguments):
        """The answer, which must be as the document describes it."""
        operation = DOCUMENT.operations[operation_id]
        answer = client.call(operation.method, operation.url(arguments), body, query=query)
        self.assertEqual(operation.answer_faults(answer), [], answer)
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def post(self, client_id, queue="jobs", **more):
        answer = self.send(message(client_id, kind="queue", ref=queue, **more))
        self.assertEqual(answer.status, 201, answer)
        return answer.json()["broker_message_id"]

    def claim(self, name="ben", queue="jobs", **body):
        return self.call(self.client(name), "claim_queue", {"limit": 100, **body}, queue=queue)

    def held(self, claimed, **more):
        return {"lease": claimed["lease"],
                "broker_message_ids": [one["broker_message_id"] for one in claimed["messages"]],
                **more}

    @staticmethod
    def ids(claimed):
        return [one["client_message_id"] for one in claimed["messages"]]


class Consume(QueueTest):
    def test_QU_01_QU_02_a_message_is_claimed_acknowledged_and_fenced(self):
        sent = self.post("m-1", body="text", meta={"a": 1}, priority="now")
        claimed = self.claim(lease_ms=60_000)
        (one,) = claimed["messages"]
        self.assertEqual((one["broker_message_id"], one["delivery"], one["body"], one["meta"],
                          one["queue"], one["sender_name"], one["priority"]),
                         (sent, 1, "text", {"a": 1}, "jobs", "ann", "now"))
        self.assertEqual(self.claim("cat"), {"messages": []})
        late = self.call(self.client("cat"), "ack_queue", self.held(claimed), queue="jobs")
        self.assertEqual(late, {"acked": [], "fenced": [
            {"broker_message_id": sent, "reason": "other_lease"}]})
        for _ in range(2):
            self.assertEqual(self.call(self.client("ben"), "ack_queue", self.held(claimed),
                                       queue="jobs"), {"acked": [sent], "fenced": []})
        self.assertEqual(self.metric("cm_broker_queue_acked_total"), 2)
        self.assertEqual(self.metric("cm_broker_queue_fenced_total"), 1)

    def test_QU_14_a_waiting_claim_gets_what_is_sent_or_given_back_or_due(self):
        def waits(act, wanted):
            found = []
            waiting = threading.Thread(target=lambda: found.append(self.claim(wait_ms=10_000)))
            waiting.start()
            server.wait_until(lambda: self.metric("cm_broker_queue_polls"), "the claim waits")
            act()
            waiting.join(server.DEADLINE_S)
            self.assertEqual(self.ids(found[0]), wanted)
            return found[0]
        waits(lambda: self.post("other", queue="jobs"), ["other"])
        first = self.claim("cat")
        self.assertEqual(first, {"messages": []})
        self.post("m-1")
        mine = self.claim("cat")
        given_back = waits(lambda: self.call(self.client("cat"), "nack_queue", self.held(mine),
                                             queue="jobs"), ["m-1"])
        self.assertEqual(self.call(self.client("ben"), "extend_queue",
                                   self.held(given_back, lease_ms=1000), queue="jobs")["fenced"],
                         [])
        soon = int(time.time() * 1000) + 300
        waits(lambda: self.post("later", not_before=soon), ["later"])
        again = self.claim(wait_ms=10_000)
        self.assertEqual((self.ids(again), again["messages"][0]["delivery"]), (["m-1"], 3))

    def test_QU_03_QU_06_dead_messages_are_listed_redriven_and_discarded(self):
        self.call(self.admin, "create_queue", {"name": "tries", "max_deliveries": 1}, status=201,
                  workspace="team")
        self.assertEqual(self.call(self.client("ben"), "list_dead", queue="tries")["messages"], [])
        sent = [self.post(f"m-{n}", queue="tries") for n in range(3)]
        claimed = self.claim(queue="tries")
        answer = self.call(self.client("ben"), "nack_queue",
                           self.held(claimed, reason="no stock", delay_ms=5), queue="tries")
        self.assertEqual((answer["dead"], answer["returned"]), (sent, []))
        dead = self.call(self.client("ben"), "list_dead", query={"limit": 2}, queue="tries")
        self.assertEqual(([one["broker_message_id"] for one in dead["messages"]],
                          dead["messages"][0]["reason"], dead["next_after"]),
                         (sent[:2], "no stock", sent[1]))
        place = {"workspace": "team", "queue": "tries"}
        preview = self.call(self.admin, "redrive_dead", {"preview": True}, **place)
        self.assertEqual(preview, {"broker_message_ids": sent, "preview": True})
        self.call(self.admin, "redrive_dead", {"broker_message_ids": sent[:1]}, **place)
        self.assertEqual(self.ids(self.claim(queue="tries")), ["m-0"])
        self.call(self.admin, "discard_dead", {"reason": "no stock"}, **place)
        status = self.call(self.admin, "show_queue", **place)
        self.assertEqual((status["dead"], status["leased"], status["ready"]), (0, 1, 0))

    def test_QU_08_who_may_claim(self):
        self.call(self.admin, "create_queue", {"name": "bills", "access": "closed"}, status=201,
                  workspace="team")
        self.post("m-1", queue="bills")
        for operation, body in (("claim_queue", {}), ("get_queue", None), ("list_dead", None)):
            route = DOCUMENT.operations[operation]
            path = route.url({"queue": "bills"})
            self.rejected(self.client("ben").call(route.method, path, body), 403, "not_allowed")
            answer = self.client("dan").call(route.method, path, body)
            self.assertEqual(answer.status, 404, "of another workspace")
        status = self.call(self.admin, "grant_queue", {"member": "ben"}, workspace="team",
                           queue="bills")
        self.assertEqual(status["consumers"], ["ben"])
        self.assertEqual(self.ids(self.claim(queue="bills")), ["m-1"])
        self.call(self.admin, "withdraw_queue", workspace="team", queue="bills", member="ben")
        self.rejected(self.client("ben").post("/v1/queues/bills/claim", {}), 403, "not_allowed")
        self.assertEqual(self.broker.client("wrong").post("/v1/queues/bills/claim", {}).status, 401)
        self.assertEqual(self.broker.client("wrong").post("/v1/queues/none/claim", {}).status, 401)

    def test_QU_09_a_sender_finds_and_withdraws(self):
        self.post("m-1")
        ann = self.client("ann")
        found = self.call(ann, "find_sent", {"client_message_ids": ["m-1", "m-9"]}, queue="jobs")
        self.assertEqual([one["state"] for one in found["messages"]], ["ready", "unknown"])
        self.call(ann, "withdraw_sent", {"client_message_ids": ["m-1"], "dead_reason": "stopped"},
                  queue="jobs")
        found = self.call(ann, "find_sent", {"client_message_ids": ["m-1"]}, queue="jobs")
        self.assertEqual((found["messages"][0]["state"], found["messages"][0]["reason"]),
                         ("dead", "stopped"))

    def test_requests_that_are_not_valid_are_refused(self):
        ben = self.client("ben")
        for action, body in (("claim", {"limit": 0}), ("claim", {"limit": 101}),
                             ("claim", {"wait_ms": 10_001}), ("claim", {"lease_ms": 43_200_001}),
                             ("claim", {"lease": "a b"}), ("claim", {"wait": 1}),
                             ("claim", {"limit": "1"}), ("ack", {}), ("ack", {"lease": "x"}),
                             ("ack", {"lease": "x", "broker_message_ids": []}),
                             ("nack", {"lease": "x", "broker_message_ids": ["a"],
                                       "delay_ms": -1}),
                             ("extend", {"lease": "x", "broker_message_ids": [1]})):
            answer = ben.post(f"/v1/queues/jobs/{action}", body)
            self.assertEqual((answer.status, answer.code), (400, "invalid_argument"), body)
        now = int(time.time() * 1000)
        for more in ({"kind": "topic", "ref": "alerts", "not_before": now},
                     {"kind": "queue", "ref": "jobs", "ordering_key": "x" * 256},
                     {"kind": "queue", "ref": "jobs", "expires_at": 0},
                     {"kind": "queue", "ref": "jobs", "not_before": now, "expires_at": now}):
            self.rejected(self.send(message("m-x", **more)), 400, "invalid_request")


class Commands(QueueTest):
    def ok_queue(self, *args):
        return self.ok("broker", "queue", *args, "--broker", self.broker.url)

    def test_every_command(self):
        self.write("ben.token", self.members["ben"]["token"] + "\n")
        admin = ("--token-file", self.path("admin.token"))
        ben = ("--token-file", self.path("ben.token"))
        self.ok_queue("create", "team", "bills", "--access", "closed", "--max-deliveries", "1",
                      "--lease", "2m", *admin)
        self.ok_queue("grant", "team", "bills", "ben", *admin)
        self.ok_queue("configure", "team", "bills", "--lease", "90s", *admin)
        self.assertIn("closed to ben", self.ok_queue("status", "team", "bills", *admin))
        self.assertEqual(self.ok_queue("claim", "bills", *ben), "no message\n")
        sent = self.post("m-1", queue="bills")
        claimed = json.loads(self.ok_queue("claim", "bills", "--wait", "5", "--json", *ben))
        lease = claimed["lease"]
        self.assertIn("1 extended", self.ok_queue("extend", "bills", lease, sent, "--lease", "5m",
                                                  *ben))
        self.assertIn("0 given back, 1 dead", self.ok_queue("nack", "bills", lease, sent,
                                                            "--reason", "no stock", *ben))
        late = cli.run("broker", "queue", "ack", "bills", lease, sent, "--broker",
                                self.broker.url, *ben)
        self.assertEqual(late.returncode, 4, late)
        self.assertIn("already_ended", late.stderr)
        self.assertIn("no stock", self.ok_queue("dead", "team", "bills", *admin))
        self.assertIn("would be redriven", self.ok_queue("redrive", "team", "bills", "--all",
                                                         "--preview", *admin))
        self.assertIn("1 message redriven", self.ok_queue("redrive", "team", "bills", "--id", sent,
                                                          *admin))
        again = json.loads(self.ok_queue("claim", "bills", "--json", *ben))
        self.assertIn("1 acknowledged", self.ok_queue("ack", "bills", again["lease"], sent, *ben))
        self.assertIn("0 messages discarded", self.ok_queue("discard", "team", "bills", "--all",
                                                            *admin))
        self.ok_queue("revoke", "team", "bills", "ben", *admin)
        self.ok_queue("create", "team", "steps", "--for-runs", *admin)
        listed = self.ok_queue("list", "team", *admin)
        self.assertIn("steps-signals", listed)
        self.assertIn("lanes", listed)


if __name__ == "__main__":
    cli.main(__doc__)
