#!/usr/bin/env python3
"""`holdfast daemon` with a real broker that is killed and restarted, and with one that answers
every status.

Run as: python3 tests/daemon_drain_test.py path/to/holdfast
"""

import os
import stat
import threading

from support import broker, cli
from support.daemon import FakeBroker, FakeBrokerTest, JoinedTest


class Drain(FakeBrokerTest):
    def test_DR_01_a_message_is_sent_with_everything_it_has(self):
        answer = self.send("m-1", "hällo", priority="now", meta={"b": 1, "a": [2]},
                           mentions=["ben"])
        self.assertEqual((answer.status, answer.json()),
                         (202, {"client_message_id": "m-1", "status": "queued"}))
        row = self.wait_for("m-1", "done")
        self.assertEqual((row["attempts"], row["broker_message_id"]),
                         (1, "01ARZ3NDEKTSV4RRFFQ69G5FAV"))
        sent = self.fake.messages[0]
        self.assertEqual({name: sent[name] for name in
                          ("mesh", "destination", "priority", "meta", "body", "mentions",
                           "attempt", "envelope_version", "request_fingerprint")},
                         {"mesh": "team", "destination": {"kind": "topic", "ref": "alerts"},
                          "priority": "now", "meta": {"a": [2], "b": 1}, "body": "hällo",
                          "mentions": ["ben"], "attempt": 1, "envelope_version": 1,
                          "request_fingerprint": broker.fingerprint(
                              "topic", "alerts", "hällo", "", "now", {"b": 1, "a": [2]})})
        again = self.send("m-1", "hällo", priority="now", meta={"a": [2], "b": 1})
        self.assertEqual((again.status, again.json()["duplicate"]), (200, True))

    def test_DR_16_a_repeated_call_causes_no_second_transmission(self):
        for _ in range(5):
            self.assertLess(self.send("m-1").status, 300)
        self.wait_for("m-1", "done")
        self.assertLess(self.send("m-1").status, 300)
        self.send("m-2")
        self.wait_for("m-2", "done")
        self.assertEqual(self.fake.ids(), ["m-1", "m-2"])

    def test_DR_03_DR_05_DR_06_what_each_status_does(self):
        waits = [408, 425, 500, 502, 503, 504, 507]
        dies = [400, 404, 409, 410, 413, 415, 422, 418]
        received = {}

        def answer(message):
            number = int(message["client_message_id"].split("-")[1])
            received[number] = received.get(number, 0) + 1
            if number in dies or received[number] == 1:
                return number, {"error": "planted", "title": "no"}, {}
            return FakeBroker.accept(message)

        self.fake.answer = answer
        for number in waits + dies:
            self.send(f"m-{number}", to=f"queue:q-{number}")
        for number in dies:
            self.assertIn(f"{number} planted", self.wait_for(f"m-{number}", "dead")["last_error"])
            self.assertEqual(received[number], 1)
        for number in waits:
            self.assertEqual(self.wait_for(f"m-{number}", "done")["attempts"], 2)

    def test_DR_02_a_duplicate_whose_message_is_gone_is_done_and_counted(self):
        def answer(message):
            _, body, headers = FakeBroker.accept(message)
            return 200, body | {"duplicate": True, "history_available": False}, headers
        self.fake.answer = answer
        self.send("m-1")
        self.wait_for("m-1", "done")
        self.assertIn('cm_daemon_dedupe_history_pruned_total{mesh="team"} 1',
                      self.running.client.get("/v1/metrics").text)

    def test_DR_07_a_429_pauses_every_lane_for_as_long_as_the_broker_says(self):
        self.fake.answer = lambda message: (429, {"error": "rate_limited"}, {"Retry-After": "600"})
        self.send("m-1", to="queue:a")
        cli.wait_until(lambda: self.row("m-1")["attempts"] == 1)
        health = lambda: self.running.client.good("GET", "/v1/health")
        cli.wait_until(lambda: "the broker requires a pause" in health()["reasons"])
        self.send("m-2", to="queue:b")
        self.assertEqual(self.running.stop(), 0)  # whatever is on its way has ended
        self.assertEqual(self.fake.ids(), ["m-1"])

    def test_DR_07_after_a_pause_everything_is_sent(self):
        received = []

        def answer(message):
            received.append(message)
            if len(received) == 1:
                return 429, {"error": "rate_limited"}, {"Retry-After": "1"}
            return FakeBroker.accept(message)
        self.fake.answer = answer
        for number in range(5):
            self.send(f"m-{number}", to=f"queue:q-{number}")
        for number in range(5):
            self.wait_for(f"m-{number}", "done")

    def test_DR_04_an_attempt_without_answer_is_repeated_with_the_same_bytes(self):
        first = []

        def answer(message):
            if not first:
                first.append(message)
                return None
            return FakeBroker.accept(message)
        self.fake.answer = answer
        self.send("m-1")
        row = self.wait_for("m-1", "done")
        self.assertTrue(row["ambiguous"])
        one, two = self.fake.messages
        self.assertEqual((one.pop("attempt"), two.pop("attempt")), (1, 2))
        self.assertEqual(one, two)

    def test_R_22_a_token_that_is_refused_stops_all_sending_and_is_tried_again(self):
        self.fake.answer = lambda message: (401, {"error": "unauthenticated"}, {})
        self.send("m-1")
        cli.wait_until(lambda: self.row("m-1")["attempts"] >= 1)
        self.send("m-2", to="queue:b")
        self.assertIn(self.row("m-1")["status"], ("pending", "inflight"))
        self.fake.answer = FakeBroker.accept
        self.wait_for("m-1", "done")
        self.wait_for("m-2", "done")

    def test_R_02_messages_of_a_lane_arrive_in_order(self):
        self.fake.answer = lambda message: (503, {}, {})
        for number in range(20):
            self.send(f"m-{number:02}")
        self.fake.wait_for(1)
        self.fake.answer = FakeBroker.accept
        self.wait_for("m-19", "done")
        self.assertEqual([one for one in self.fake.ids() if one != "m-00"],
                         [f"m-{number:02}" for number in range(1, 20)])

    def test_NG_06_NG_08_without_dedupe_nothing_is_sent(self):
        self.assertEqual(self.running.stop(), 0)
        self.fake.features = (200, {"supported": {}}, {})
        self.running.start()
        self.assertEqual(self.send("m-1").status, 202)
        cli.wait_until(lambda: "the negotiation that failed" in self.running.logged())
        self.assertEqual(self.fake.messages, [])
        self.assertFalse(self.running.client.good("GET", "/v1/health")["connected"])
        self.assertIn("degraded", self.ends(8, "daemon", "status", "--home", self.path("daemon")))

    def test_RQ_13_requeue_looks_an_attempt_without_answer_up_at_the_broker(self):
        self.fake.answer = lambda message: None
        self.send("m-1")
        cli.wait_until(lambda: self.row("m-1")["ambiguous"])
        self.fake.answer = lambda message: (400, {"error": "planted"}, {})
        self.wait_for("m-1", "dead")
        row = self.row("m-1")
        self.fake.dedupe = (200, {"client_message_id": "m-1", "broker_message_id": "B",
                                  "history_id": "H", "history_available": True,
                                  "first_seen_at": 1, "broker_fingerprint_prefix":
                                  row["request_fingerprint"][:16]}, {})
        done = self.running.client.good("POST", "/v1/outbox/m-1/requeue", {"auto": True})
        self.assertEqual((done["result"], done["old"]["status"]), ("delivered", "done"))

    def test_CR_01_CR_09_kill_and_stop_leave_no_row_inflight(self):
        hold = threading.Event()
        self.addCleanup(hold.set)
        self.fake.answer = lambda message: hold.wait(60) and FakeBroker.accept(message)
        self.send("m-1")
        self.fake.wait_for(1)
        self.assertEqual(self.row("m-1")["status"], "inflight")
        self.running.kill()
        self.running.start()
        self.fake.wait_for(2)
        row = self.row("m-1")
        self.assertTrue(row["ambiguous"])
        self.assertEqual(row["attempts"], 1)
        self.assertEqual(self.running.stop(), 0)
        hold.set()
        self.running.start()
        self.wait_for("m-1", "done")


class Interface(FakeBrokerTest):
    def test_SEC_01_SEC_02_SEC_04_who_may_call(self):
        token = self.running.token()
        self.assertEqual(self.running.client.get("/v1/health").status, 200)
        for used, status in ((None, 401), ("wrong" * 10, 401), (token, 200)):
            self.assertEqual(self.running.tcp(used).get("/v1/health").status, status)
        tcp = self.running.tcp(token)
        self.assertEqual(tcp.get("/v1/health", query={"token": token}).status, 400)
        for headers in ({"Host": "evil.example"}, {"Origin": "http://localhost"}):
            answer = tcp.get("/v1/health", headers=headers)
            self.assertEqual(answer.status, 403)
            self.assertNotIn("access-control-allow-origin", answer.headers)
        self.assertEqual(tcp.call("OPTIONS", "/v1/send", headers={"Origin": "null"}).status, 403)
        self.assertIn("security", self.running.logged())
        self.assertNotIn(token, self.running.logged())

    def test_SEC_03_the_folder_and_its_files_are_for_their_owner(self):
        modes = {name: stat.S_IMODE(os.stat(self.running.file(name)).st_mode)
                 for name in ("", "sock", "local_token", "outbox.db", "pid", "lock", "http.port")}
        self.assertEqual(modes, {"": 0o700, "sock": 0o600, "local_token": 0o600,
                                 "outbox.db": 0o600, "pid": 0o600, "lock": 0o600,
                                 "http.port": 0o644})

    def test_SEC_06_after_a_rotation_both_tokens_work_for_a_while(self):
        old = self.running.token()
        self.ok("daemon", "rotate-token", "--home", self.path("daemon"))
        new = self.running.token()
        self.assertNotEqual(old, new)
        for token in (old, new):
            self.assertEqual(self.running.tcp(token).get("/v1/version").status, 200)

    def test_IPC_01_IPC_02_IPC_03_a_bad_request_leaves_no_row(self):
        tcp = self.running.tcp()
        self.assertEqual(tcp.post("/v1/send", {"to": "#a", "message": "x",
                                               "client_message_id": "m-1"}).status, 401)
        client = self.running.client
        good = {"to": "#a", "message": "x", "client_message_id": "m-1"}
        for body in (b"{", [], {**good, "to": None}, {"to": "#a"}, {"message": "x"},
                     {**good, "priority": "soon"}, {**good, "meta": [1]}, {**good, "nmae": 1},
                     {**good, "to": "a b"}, {**good, "client_message_id": "a b"},
                     {**good, "mentions": ["x"] * 17}, {**good, "message": 7},
                     {**good, "reply_to_id": "a", "replyToId": "b"}):
            answer = client.call("POST", "/v1/send", body)
            self.assertEqual(answer.status, 400, (body, answer))
        self.assertEqual(client.post("/v1/send", good | {"message": "x" * 65_537}).status, 413)
        self.assertEqual(client.post("/v1/send", good | {"to": "ghost"}).status, 404)
        self.assertEqual(client.good("GET", "/v1/outbox")["messages"], [])
        self.assertEqual(client.post("/v1/send", good | {"message": "x" * 65_536}).status, 202)

    def test_IPC_06_the_header_is_a_source_of_the_id(self):
        client = self.running.client
        body = {"to": "#a", "message": "x"}
        sent = client.post("/v1/send", body, headers={"Idempotency-Key": '"m-1"'})
        self.assertEqual(sent.json()["client_message_id"], "m-1")
        self.assertEqual(client.post("/v1/send", body | {"client_message_id": "m-2"},
                                     headers={"Idempotency-Key": "m-3"}).status, 400)

    def test_IPC_21_a_conflict_has_both_prefixes(self):
        self.send("m-1")
        answer = self.send("m-1", "other")
        problem = answer.json()
        self.assertEqual((answer.status, problem["error"]), (409, "idempotency_key_reused"))
        self.assertRegex(problem["daemon_fingerprint_prefix"], r"\A[0-9a-f]{16}\Z")
        self.assertRegex(problem["conflict"], r"\Aoutbox_\w+_fingerprint_mismatch\Z")

    def test_CR_08_a_second_daemon_is_refused_also_without_the_pid_file(self):
        os.unlink(self.running.file("pid"))
        self.fails(5, "daemon", "up", "--home", self.path("daemon"), says="already")
        second = self.run_here("daemon", "up", "--foreground", "--home", self.path("daemon"))
        self.assertEqual(second.returncode, 5)
        self.assertEqual(self.running.client.get("/v1/health").status, 200)

    def test_post_to_a_topic_and_metrics(self):
        self.assertEqual(self.running.client.post("/v1/topic/post", {
            "topic": "alerts", "message": "x", "client_message_id": "m-1"}).status, 202)
        self.wait_for("m-1", "done")
        text = self.running.client.get("/v1/metrics").text
        for line in ('cm_daemon_connected{mesh="team"} 1',
                     'cm_daemon_outbox_depth{mesh="team",status="done"} 1',
                     'cm_daemon_send_total{mesh="team",kind="topic",status="202"} 1'):
            self.assertIn(line, text)


class WithBroker(JoinedTest):
    def bodies(self, kind, ref, name="ann"):
        return [one["body"] for one in self.client(name).good(
            "GET", "/v1/history", query={"kind": kind, "ref": ref, "limit": 1000})["messages"]]

    def test_DR_09_G_02_an_outage_of_the_broker_loses_nothing_and_keeps_the_order(self):
        home = self.path("daemon")
        texts = [f"text {number}" for number in range(30)]
        for number, text in enumerate(texts):
            if number == 10:
                self.broker.kill()
            if number == 20:
                self.running.kill()
                self.running.start()
            self.assertEqual(self.ok("send", "--to", "#alerts", text, "--id", f"m-{number}",
                                     "--home", home), f"m-{number} queued\n")
        self.broker.start()
        self.assertIn("done", self.ok("send", "--to", "#alerts", texts[29], "--id", "m-29",
                                      "--wait", "100s", "--home", home))
        self.assertEqual(self.bodies("topic", "alerts"), texts)

    def test_CL_04_send_with_the_exit_codes_of_its_outcomes(self):
        home = ("--home", self.path("daemon"))
        self.assertIn("done", self.ok("send", "--to", "queue:jobs", "-", "--id", "m-1", "--wait",
                                      "100s", *home, stdin="from standard input"))
        self.assertEqual(self.bodies("queue", "jobs"), ["from standard input"])
        self.fails(4, "send", "--to", "queue:jobs", "other", "--id", "m-1", *home)
        self.fails(4, "send", "--to", "queue:nowhere", "x", "--id", "m-2", "--wait", "100s", *home,
                   says="unknown_destination")
        self.assertIn("m-2", self.ok("outbox", "list", "--failed", *home))
        self.admin.good("POST", "/v1/workspaces/team/queues", {"name": "nowhere"})
        self.assertIn("m-3 is sent in its place",
                      self.ok("outbox", "requeue", "m-2", "--new-client-id", "m-3", *home))
        cli.wait_until(lambda: self.bodies("queue", "nowhere") == ["x"])
        self.fails(2, "outbox", "requeue", "m-3", *home, says="--auto")
        self.assertRegex(self.ok("outbox", "inspect", "m-3", *home), r"m-2 +aborted[^\n]*\n.*m-3 ")
        self.assertEqual(self.ok("daemon", "down", *home), "stopped\n")
        self.fails(7, "send", "--to", "queue:jobs", "x", *home, says="daemon up")

    def test_up_in_the_background_and_down(self):
        home = ("--home", self.path("daemon"))
        self.assertEqual(self.running.stop(), 0)
        self.assertIn("daemon started", self.ok("daemon", "up", *home))
        self.addCleanup(self.run_here, "daemon", "down", *home)
        self.fails(5, "daemon", "up", *home, says="already")
        cli.wait_until(lambda: self.run_here("daemon", "status", *home).returncode == 0)
        self.assertIn("workspace team", self.ok("daemon", "version", *home))
        self.assertEqual(self.ok("daemon", "down", *home), "stopped\n")
        self.assertEqual(self.ok("daemon", "leave", *home), "left the workspace\n")
        self.fails(78, "daemon", "up", *home, says="could not start")


if __name__ == "__main__":
    cli.main(__doc__)
