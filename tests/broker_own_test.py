#!/usr/bin/env python3
"""What members of a broker do for themselves: topics, subscriptions, other members, and the end of
the membership.

Run as: python3 tests/broker_own_test.py path/to/holdfast
"""

from support import broker, cli, openapi

DOCUMENT = openapi.Document(openapi.FILE.with_name("broker_openapi.json"))


class Own(broker.BrokerTest):
    def call(self, name, operation_id, body=None, query=None, **arguments):
        """The answer, which must be as the document describes it."""
        operation = DOCUMENT.operations[operation_id]
        answer = self.client(name).call(operation.method, operation.url(arguments), body,
                                        query=query)
        self.assertEqual(operation.answer_faults(answer), [], answer)
        return answer

    def topics(self, name):
        return {one["name"]: one for one in self.call(name, "list_own_topics").json()["topics"]}

    def test_members_see_the_topics_that_they_may_read(self):
        self.assertEqual(self.topics("cat"), {
            "alerts": {"name": "alerts", "access": "open", "subscribed": False}})
        self.assertEqual(sorted(self.topics("ben")), ["alerts", "inner"])
        self.assertEqual(self.topics("ben")["inner"]["role"], "writer")
        self.admin.good("DELETE", "/v1/workspaces/team/topics/alerts")
        self.assertEqual(self.topics("cat"), {})

    def test_members_subscribe_themselves_to_open_topics_only(self):
        for _ in range(2):
            made = self.call("cat", "subscribe_self", {}, topic="alerts")
            self.assertEqual((made.status, made.json()["subscribed"]), (200, True))
        self.assertLess(self.send(broker.message("m-1")).status, 300)
        got = self.client("cat").good("GET", "/v1/deliveries")["deliveries"]
        self.assertEqual([one["client_message_id"] for one in got], ["m-1"])
        self.rejected(self.call("cat", "subscribe_self", {}, topic="inner"), 403, "not_allowed")
        self.assertEqual(self.call("cat", "subscribe_self", {}, topic="nowhere").status, 404)
        for _ in range(2):
            self.assertEqual(self.call("cat", "unsubscribe_self", topic="alerts").status, 200)
        self.send(broker.message("m-2"))
        self.assertEqual(self.client("cat").good("GET", "/v1/deliveries")["deliveries"], [])

    def test_a_role_that_an_administrator_gave_stays(self):
        self.admin.good("POST", "/v1/workspaces/team/topics/alerts/subscriptions",
                        {"member": "cat", "role": "reader"})
        self.call("cat", "subscribe_self", {}, topic="alerts")
        self.assertEqual(self.topics("cat")["alerts"]["role"], "reader")

    def test_members_are_found_by_name_in_their_own_workspace(self):
        find = lambda **query: self.call("cat", "find_members", query=query).json()["members"]
        ann = {"name": "ann", "pubkey": self.members["ann"]["pubkey"]}
        self.assertEqual(find(name="ANN"), [ann])
        self.assertEqual(find(name=ann["pubkey"]), [ann])
        self.assertEqual([one["name"] for one in find()], ["ann", "ben", "cat"])
        self.assertEqual(find(name="dan"), [])
        self.admin.good("DELETE", "/v1/workspaces/team/members/ann")
        self.assertEqual(find(name="ann"), [])

    def test_R_05_a_member_ends_its_membership(self):
        self.assertEqual(self.call("cat", "end_membership").status, 200)
        self.rejected(self.client("cat").get("/v1/topics"), 403, "member_revoked")


if __name__ == "__main__":
    cli.main(__doc__)
