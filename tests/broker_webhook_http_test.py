#!/usr/bin/env python3
"""Webhooks of a real broker: signatures, retries, limits, hostile targets, administration. Every
answer is compared with the document.

Run as: python3 tests/broker_webhook_http_test.py path/to/holdfast
"""

import contextlib
import socket
import sqlite3
import threading
import time

from support import broker, cli, openapi, server
from support.broker import fingerprint, message
from support.webhook import Target

DOCUMENT = openapi.Document(openapi.FILE.with_name("broker_openapi.json"))
DAY_MS = 86_400_000


class WebhookTest(broker.BrokerTest):
    def options(self):
        return ("--webhook-allow", "127.0.0.1")

    def call(self, operation_id, body=None, query=None, client=None, **arguments):
        """The answer, which must be as the document describes it."""
        operation = DOCUMENT.operations[operation_id]
        arguments = {"workspace": "team", **arguments}
        answer = (client or self.admin).call(operation.method, operation.url(arguments), body,
                                             query=query)
        self.assertEqual(operation.answer_faults(answer), [], answer)
        return answer

    def good(self, operation_id, body=None, **more):
        answer = self.call(operation_id, body, **more)
        self.assertLess(answer.status, 300, answer)
        return answer.json()

    def target(self, *answer):
        target = Target(*answer)
        self.addCleanup(target.close)
        return target

    def make(self, url, **more):
        """The id and the secret of a new webhook."""
        made = self.good("create_webhook", {"url": url, **more})
        return made["webhook"]["webhook_id"], made["secret"]

    def hooks(self, target, count):
        server.wait_until(lambda: len(target.hooks) >= count, f"{count} requests")
        return target.hooks[:count]

    def show(self, webhook):
        return self.good("get_webhook", webhook=webhook)

    def attempts(self, webhook, count):
        """When so many were recorded, the oldest first."""
        def listed():
            found = self.good("list_webhook_attempts", webhook=webhook)["attempts"]
            return found if len(found) >= count else None
        return server.wait_until(listed, f"{count} attempts")[::-1]

    def state_of(self, webhook, state, count=1):
        def listed():
            found = self.good("list_webhook_deliveries", webhook=webhook,
                              query={"state": state})["deliveries"]
            return found if len(found) == count else None
        return server.wait_until(listed, f"{count} deliveries are {state}")

    def change(self, sql, *values):
        """In the store, beside the broker."""
        with contextlib.closing(sqlite3.connect(self.path("broker.db"), timeout=60)) as db:
            db.execute(sql, values)
            db.commit()

    def make_due(self):
        """As if the pauses had ended."""
        self.change("UPDATE webhook_delivery SET next_attempt_at = 1 WHERE state = 'queued'")
        self.change("UPDATE webhook_endpoint SET hold_until = 0")
        self.send(message(f"wake-{time.monotonic_ns()}", kind="queue", ref="jobs"))


class Sending(WebhookTest):
    def test_WH_01_WH_05_a_message_is_posted_with_a_signature_over_its_raw_bytes(self):
        target = self.target()
        webhook, secret = self.make(target.url("/a/b?token=x"))
        made = self.send(message("m-1", "grüße", meta={"a": 1}, priority="now")).json()
        (hook,) = self.hooks(target, 1)
        self.assertEqual(hook.path, "/a/b?token=x")
        self.assertEqual(hook.headers["content-type"], "application/json")
        self.assertEqual(hook.id, f"msg_{made['broker_message_id']}_{webhook}")
        self.assertLess(abs(int(hook.headers["webhook-timestamp"]) - time.time()), 60)
        self.assertTrue(hook.signed_by(secret))
        self.assertFalse(hook.signed_by("whsec_" + "A" * 32))
        event = broker.json.loads(hook.body)
        self.assertEqual(event["type"], "message.accepted")
        self.assertRegex(event["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(event["data"], {
            "mesh": "team", "broker_message_id": made["broker_message_id"],
            "client_message_id": "m-1",
            "request_fingerprint": fingerprint("topic", "alerts", "grüße", "", "now", {"a": 1}),
            "envelope_version": 1, "destination": {"kind": "topic", "ref": "alerts"},
            "sender_pubkey": self.members["ann"]["pubkey"], "sender_name": "ann",
            "priority": "now", "meta": {"a": 1}, "body": "grüße", "redacted": False,
            "history_seq": 1, "created_at": made["first_seen_at"]})
        (one,) = self.state_of(webhook, "delivered")
        self.assertEqual((one["attempts"], one["failures"]), (1, 0))
        self.assertEqual(self.metric("cm_broker_webhook_attempts_total",
                                     '{outcome="delivered"}'), 1)
        self.assertEqual(self.metric("cm_broker_delivery_depth",
                                     '{channel="webhook",state="delivered"}'), 1)
        self.assertEqual(self.metric("cm_broker_webhooks", '{state="active"}'), 1)

    def test_messages_that_were_accepted_before_are_not_sent(self):
        target = self.target()
        self.send(message("before"))
        self.make(target.url())
        for n in range(30):
            self.send(message(f"m-{n}"))
        self.hooks(target, 30)
        self.assertEqual(sorted(target.messages), sorted(f"m-{n}" for n in range(30)))

    def test_a_webhook_gets_only_the_destinations_it_names(self):
        some, everything = self.target(), self.target()
        self.make(some.url(), destinations=[{"kind": "queue", "ref": "jobs"},
                                            {"kind": "dm", "ref": "ben"}])
        self.make(everything.url())
        self.send(message("topic"))
        self.send(message("queue", kind="queue", ref="jobs"))
        self.send(message("dm", kind="dm", ref=self.members["ben"]["pubkey"]))
        self.send(message("other", kind="dm", ref=self.members["cat"]["pubkey"]))
        self.hooks(everything, 4)
        self.hooks(some, 2)
        self.assertEqual(sorted(some.messages), ["dm", "queue"])

    def test_WH_06_during_a_rotation_both_secrets_sign(self):
        target = self.target()
        webhook, old = self.make(target.url())
        rotated = self.good("rotate_webhook", {"overlap_seconds": 3600}, webhook=webhook)
        new = rotated["secret"]
        self.assertIn("old_secret_until", rotated["webhook"])
        self.send(message("m-1"))
        (hook,) = self.hooks(target, 1)
        self.assertEqual(len(hook.headers["webhook-signature"].split(" ")), 2)
        self.assertTrue(hook.signed_by(old) and hook.signed_by(new))
        newest = self.good("rotate_webhook", {"overlap_seconds": 0}, webhook=webhook)["secret"]
        self.send(message("m-2"))
        hook = self.hooks(target, 2)[1]
        self.assertEqual(len(hook.headers["webhook-signature"].split(" ")), 1)
        self.assertTrue(hook.signed_by(newest))
        self.assertFalse(hook.signed_by(new))

    def test_secrets_are_shown_once_and_never_logged(self):
        target = self.target(lambda hook: 500)
        webhook, secret = self.make(target.url())
        given = "whsec_" + "Q" * 44
        self.assertEqual(self.good("rotate_webhook", {"secret": given + "="[:0]},
                                   webhook=webhook)["secret"], given)
        self.send(message("m-1"))
        self.attempts(webhook, 1)
        shown = str(self.show(webhook)) + str(self.good("list_webhooks")) + self.broker.logged()
        shown += self.admin.get("/metrics").text
        for text in (secret, given):
            self.assertNotIn(text, shown)


class Failures(WebhookTest):
    def test_WH_02_WH_04_WH_05_a_failed_attempt_is_repeated_after_its_pause(self):
        answers = [(307, {"Location": "http://127.0.0.1:1/"}, b"elsewhere"), (500, {}, b"oops"),
                   (200, {}, b"ok")]
        target = self.target(lambda hook: answers[min(len(target.hooks), 3) - 1])
        webhook, _ = self.make(target.url(), destinations=[{"kind": "topic", "ref": "alerts"}])
        self.send(message("m-1"))
        first, second = self.hooks(target, 2)  # five seconds later
        self.attempts(webhook, 2)
        self.make_due()
        third = self.hooks(target, 3)[2]
        self.assertEqual({first.id, second.id}, {third.id})
        self.assertEqual(first.body, third.body)
        stamps = [int(hook.headers["webhook-timestamp"]) for hook in (first, second)]
        self.assertGreaterEqual(stamps[1] - stamps[0], 4, "the timestamp is the attempt's")
        log = self.attempts(webhook, 3)
        self.assertEqual([(one["attempt"], one["outcome"], one["status"]) for one in log],
                         [(1, "redirected", 307), (2, "failed", 500), (3, "delivered", 200)])
        self.assertEqual([one["response"] for one in log], ["elsewhere", "oops", "ok"])
        self.assertGreaterEqual(log[1]["started_at"] - log[0]["started_at"], 5000)
        self.assertLess(log[1]["started_at"] - log[0]["started_at"], 12_000)

    def test_WH_03_gone_disables_and_enabling_sends_what_waits(self):
        target = self.target(lambda hook: 410 if len(target.hooks) == 1 else 200)
        webhook, _ = self.make(target.url(), max_in_flight=1)
        self.send(message("m-1"))
        shown = server.wait_until(
            lambda: (one := self.show(webhook))["state"] == "disabled" and one, "it is disabled")
        self.assertEqual(shown["disabled"], "gone")
        self.assertEqual(shown["last_error"], "status 410")
        self.send(message("m-2"))
        self.assertIn("webhook.disabled", self.broker.logged())
        self.assertEqual(self.metric("cm_broker_webhook_disabled_total"), 1)
        self.assertEqual(self.good("enable_webhook", {}, webhook=webhook)["state"], "active")
        self.hooks(target, 3)
        self.assertEqual(sorted(target.messages), ["m-1", "m-1", "m-2"])

    def test_WH_03_retry_after_holds_the_endpoint(self):
        target = self.target(lambda hook: (429, {"Retry-After": "3600"}, b"")
                             if len(target.hooks) == 1 else 200)
        webhook, _ = self.make(target.url(), max_in_flight=1)
        self.send(message("m-1"))
        (one,) = self.attempts(webhook, 1)
        self.assertEqual(one["outcome"], "throttled")
        shown = self.show(webhook)
        self.assertAlmostEqual(shown["held_until"], one["started_at"] + 3_600_000, delta=60_000)
        self.send(message("m-2"))
        self.state_of(webhook, "queued", 2)
        self.assertEqual(len(target.hooks), 1)

    def test_WH_09_after_five_days_of_failures_it_is_disabled(self):
        target = self.target(lambda hook: 500)
        webhook, _ = self.make(target.url())
        self.send(message("m-1"))
        self.attempts(webhook, 1)
        self.change("UPDATE webhook_endpoint SET failing_since = failing_since - ?", 5 * DAY_MS)
        self.make_due()
        shown = server.wait_until(
            lambda: (one := self.show(webhook))["state"] == "disabled" and one, "it is disabled")
        self.assertEqual(shown["disabled"], "failing")

    def test_a_message_without_success_is_dead_and_can_be_replayed(self):
        target = self.target(lambda hook: 500)
        webhook, _ = self.make(target.url(), destinations=[{"kind": "topic", "ref": "alerts"}])
        self.send(message("m-1"))
        self.attempts(webhook, 1)
        self.change("UPDATE webhook_delivery SET failures = 7")
        self.make_due()
        (dead,) = self.state_of(webhook, "dead")
        self.assertEqual(dead["last_error"], "status 500")
        self.assertIn("delivery.exhausted", self.broker.logged())
        self.assertEqual(self.metric("cm_broker_webhook_exhausted_total"), 1)
        target.answer = lambda hook: 200
        ids = {"broker_message_id": dead["broker_message_id"]}
        preview = self.good("replay_webhook", {**ids, "preview": True}, webhook=webhook)
        self.assertEqual((preview["messages"], preview["dead"]), (1, 1))
        self.state_of(webhook, "dead")
        self.good("replay_webhook", ids, webhook=webhook)
        self.state_of(webhook, "delivered")
        self.assertEqual(len({hook.id for hook in target.hooks}), 1, "the id is the same")

    def test_WH_10_a_range_of_time_is_replayed(self):
        target = self.target()
        webhook, _ = self.make(target.url())
        times = []
        for n in range(5):
            times.append(self.send(message(f"m-{n}")).json()["first_seen_at"])
            server.wait_until(lambda: time.time() * 1000 > times[-1] + 1, "the next millisecond")
        self.state_of(webhook, "delivered", 5)
        ids = {hook.message: hook.id for hook in target.hooks}
        body = {"from": times[1], "until": times[3]}
        self.assertEqual(self.good("replay_webhook", {**body, "preview": True},
                                   webhook=webhook)["messages"], 2)
        self.assertEqual(self.good("replay_webhook", {**body, "choice": "dead"},
                                   webhook=webhook)["messages"], 0)
        self.assertEqual(self.good("replay_webhook", body, webhook=webhook)["messages"], 2)
        again = self.hooks(target, 7)[5:]
        self.assertEqual(sorted(hook.message for hook in again), ["m-1", "m-2"])
        self.assertEqual([hook.id for hook in again], [ids[hook.message] for hook in again])


class Hostile(WebhookTest):
    def raw_target(self, serve):
        """A listener whose connections are handed to `serve`."""
        listener = socket.create_server(("127.0.0.1", 0))
        stop = threading.Event()
        threads = []

        def accept():
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    peer, _ = listener.accept()
                    threads.append(threading.Thread(target=serve, args=(peer, stop), daemon=True))
                    threads[-1].start()
        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()

        def close():
            stop.set()
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            for thread in [acceptor, *threads]:
                thread.join()
        self.addCleanup(close)
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    def test_WH_08_targets_that_hang_trickle_or_flood_delay_only_themselves(self):
        def hang(peer, stop):
            with peer:
                stop.wait()

        def trickle(peer, stop):
            with peer, contextlib.suppress(OSError):
                peer.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stop.wait(0.05):
                    peer.sendall(b"x")

        def flood(peer, stop):
            with peer, contextlib.suppress(OSError):
                peer.recv(65536)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
                while not stop.is_set():
                    peer.sendall(b"x" * 65536)
        bad = [self.make(self.raw_target(serve))[0] for serve in (hang, trickle, hang)]
        flooded, _ = self.make(self.raw_target(flood))
        good = self.target()
        webhook, _ = self.make(good.url())
        began = time.monotonic()
        for n in range(50):
            self.send(message(f"m-{n}"))
        self.state_of(webhook, "delivered", 50)
        self.assertLess(time.monotonic() - began, 14, "nothing waited for a limit of time")
        self.assertEqual(len(good.hooks), 50)
        self.state_of(flooded, "delivered", 50)  # the status is the answer
        self.assertLessEqual(max(len(self.good("list_webhook_deliveries", webhook=one, query={
            "state": "sending"})["deliveries"]) for one in bad), 4, "the limit of an endpoint")
        (first, *_) = self.attempts(bad[1], 1)
        self.assertEqual(first["outcome"], "timed_out")
        self.assertLess(first["duration_ms"], 20_000)

    def test_WH_07_what_is_not_public_is_refused(self):
        for url in ("http://127.0.0.2:8080/", "http://[::1]:8080/", "http://10.0.0.1/",
                    "http://169.254.169.254/latest/meta-data/", "http://[::ffff:127.0.0.2]/",
                    "unix:/tmp/socket", "ftp://127.0.0.1/", "http://127.0.0.1:22/"):
            answer = self.call("create_webhook", {"url": url})
            self.assertEqual((answer.status, answer.code), (400, "invalid_url"), url)

    def test_WH_07_a_name_is_judged_by_its_address_at_the_attempt(self):
        victim = socket.create_server(("127.0.0.2", 0))
        self.addCleanup(victim.close)
        victim.settimeout(0)
        # Another way to write 127.0.0.2, which is not an address to a parser of URLs.
        webhook, _ = self.make(f"http://127.2:{victim.getsockname()[1]}/")
        self.send(message("m-1"))
        (one,) = self.attempts(webhook, 1)
        self.assertEqual((one["outcome"], one.get("status")), ("forbidden_address", None))
        self.assertIn("--webhook-allow", one["error"])
        with self.assertRaises(BlockingIOError):
            victim.accept()

    def test_WH_02_a_redirect_to_an_inner_service_is_not_followed(self):
        inner = self.target()
        target = self.target(lambda hook: (302, {"Location": inner.url()}, b""))
        webhook, _ = self.make(target.url())
        self.send(message("m-1"))
        (one,) = self.attempts(webhook, 1)
        self.assertEqual(one["outcome"], "redirected")
        self.assertEqual(inner.hooks, [])

    def test_WH_08_the_breaker_holds_an_endpoint_that_fails(self):
        target = self.target(lambda hook: 500)
        webhook, _ = self.make(target.url(), max_in_flight=5)
        for n in range(30):
            self.send(message(f"m-{n}"))
        shown = server.wait_until(
            lambda: (one := self.show(webhook))["breaker"] == "open" and one, "it is open")
        self.assertGreater(shown["held_until"], time.time() * 1000)
        self.assertEqual(shown["state"], "active")
        self.assertLessEqual(len(target.hooks), 10)

    def test_the_excerpt_of_a_response_is_bounded_text(self):
        target = self.target(lambda hook: (400, {}, b"\xff\x00\xc3" + b"y" * 5000))
        webhook, _ = self.make(target.url())
        self.send(message("m-1"))
        (one,) = self.attempts(webhook, 1)
        self.assertEqual(one["outcome"], "rejected")
        self.assertTrue(one["response"].startswith("\ufffd \ufffdyyy"), one["response"][:10])
        self.assertLessEqual(len(one["response"].encode()), 1024)

    def test_the_rate_of_an_endpoint_is_limited(self):
        target = self.target()
        webhook, _ = self.make(target.url(), rate_per_second=5)
        began = time.monotonic()
        for n in range(15):
            self.send(message(f"m-{n}"))
        self.state_of(webhook, "delivered", 15)
        self.assertGreater(time.monotonic() - began, 1.5)


class Sealed(WebhookTest):
    def settings(self):
        return {"body_form": "sealed"}

    def test_R_03_the_body_of_a_sealed_workspace_stays_sealed(self):
        target = self.target()
        self.make(target.url())
        sealed = "c2VhbGVk"  # "sealed" in base64url: the fingerprint covers the bytes
        request = message("m-1", "sealed")
        request["body"] = sealed
        self.assertEqual(self.send(request).status, 201)
        (hook,) = self.hooks(target, 1)
        self.assertEqual(hook.data["body"], sealed)


class Administration(WebhookTest):
    def test_a_webhook_is_listed_changed_disabled_and_deleted(self):
        target, other = self.target(), self.target()
        webhook, _ = self.make(target.url(), description="for orders",
                               destinations=[{"kind": "dm", "ref": "BEN"}])
        shown = self.show(webhook)
        self.assertEqual(shown["destinations"],
                         [{"kind": "dm", "ref": self.members["ben"]["pubkey"]}])
        self.assertEqual(self.good("list_webhooks")["webhooks"], [shown])
        changed = self.good("update_webhook", {
            "url": other.url(), "destinations": [], "max_in_flight": 9, "rate_per_second": 50},
            webhook=webhook)
        self.assertEqual((changed["url"], changed["destinations"], changed["max_in_flight"],
                          changed["rate_per_second"], changed["description"]),
                         (other.url(), [], 9, 50, "for orders"))
        self.send(message("m-1"))
        self.hooks(other, 1)
        off = self.good("disable_webhook", {}, webhook=webhook)
        self.assertEqual((off["state"], off["disabled"]), ("disabled", "by_operator"))
        self.send(message("m-2"))
        self.send(message("m-3"))
        self.good("enable_webhook", {"skip": True}, webhook=webhook)
        self.send(message("m-4"))
        self.hooks(other, 2)
        self.assertEqual(other.messages, ["m-1", "m-4"])
        self.good("delete_webhook", webhook=webhook)
        self.assertEqual(self.call("get_webhook", webhook=webhook).status, 404)
        self.send(message("m-5"))
        self.assertEqual((target.hooks, len(other.hooks)), ([], 2))

    def test_requests_that_are_not_valid_are_refused(self):
        url = "https://hooks.example/"
        for body, status in (({}, 400), ({"url": ""}, 400), ({"url": url, "more": 1}, 400),
                             ({"url": url, "max_in_flight": 0}, 400),
                             ({"url": url, "max_in_flight": 65}, 400),
                             ({"url": url, "rate_per_second": 10_001}, 400),
                             ({"url": url, "max_in_flight": "4"}, 400),
                             ({"url": url, "secret": "whsec_short"}, 400),
                             ({"url": url, "secret": "x" * 40}, 400),
                             ({"url": url, "description": "x" * 501}, 400),
                             ({"url": url, "destinations": [{"kind": "topic", "ref": "no"}]}, 404),
                             ({"url": url, "destinations": [{"kind": "queue", "ref": "no"}]}, 404),
                             ({"url": url, "destinations": [{"kind": "dm", "ref": "dan"}]}, 404),
                             ({"url": url, "destinations": [{"kind": "x", "ref": "no"}]}, 400)):
            answer = self.call("create_webhook", body)
            self.assertEqual(answer.status, status, (body, answer))
        webhook, _ = self.make(url)
        for body in ({}, {"broker_message_id": "x"}, {"from": 2, "until": 1}, {"from": -1},
                     {"broker_message_id": "01JD3ZK8Q6X4T2V9B7N5M1C0RA", "from": 1}):
            self.assertEqual(self.call("replay_webhook", body, webhook=webhook).status, 400, body)
        self.assertEqual(self.call("replay_webhook", {
            "broker_message_id": "01JD3ZK8Q6X4T2V9B7N5M1C0RA"}, webhook=webhook).status, 404)
        self.assertEqual(self.call("rotate_webhook", {"overlap_seconds": 700_000},
                                   webhook=webhook).status, 400)
        self.assertEqual(self.call("get_webhook", webhook="none").status, 404)

    def test_only_the_administrator_manages_webhooks(self):
        webhook, _ = self.make("https://hooks.example/")
        for client, status in ((self.client("ann"), 403), (self.broker.client(), 401)):
            for operation, arguments in (("list_webhooks", {}),
                                         ("get_webhook", {"webhook": webhook})):
                self.assertEqual(self.call(operation, client=client, **arguments).status, status)
        self.assertEqual(self.call("get_webhook", webhook=webhook, workspace="other").status, 404)

    def test_a_stop_leaves_nothing_behind_and_a_restart_continues(self):
        target = self.target(lambda hook: 200)
        webhook, _ = self.make(target.url())
        for n in range(20):
            self.send(message(f"m-{n}"))
        self.assertEqual(self.broker.stop(), 0)
        self.broker.start()
        self.admin = self.broker.client(broker.ADMIN)
        self.state_of(webhook, "delivered", 20)
        self.assertEqual(sorted(set(target.messages)), sorted(f"m-{n}" for n in range(20)))


class CommandLine(WebhookTest):
    def cli(self, *words, status=0):
        done = cli.run("broker", "webhooks", *words, "--broker", self.broker.url, "--token-file",
                       self.path("admin.token"))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_the_commands(self):
        target = self.target(lambda hook: 500 if len(target.hooks) == 1 else 200)
        self.assertIn("no webhooks", self.cli("list", "team"))
        made = broker.json.loads(self.cli("create", "team", target.url(), "--topic", "alerts",
                                          "--description", "orders", "--json"))
        webhook = made["webhook"]["webhook_id"]
        self.assertRegex(made["secret"], r"^whsec_")
        self.assertIn(webhook, self.cli("list", "team"))
        self.send(message("m-1"))
        self.attempts(webhook, 1)
        shown = self.cli("show", "team", webhook)
        for text in ("orders", "topic:alerts", "active", "status 500"):
            self.assertIn(text, shown)
        self.assertIn("status 500", self.cli("deliveries", "team", webhook, "--state", "queued"))
        self.assertIn("failed", self.cli("attempts", "team", webhook, "--limit", "1"))
        self.assertIn("1 message would", self.cli("replay", "team", webhook, "--since", "1h",
                                                  "--dry-run"))
        self.assertIn("0 messages will", self.cli("replay", "team", webhook, "--since", "1h",
                                                  "--dead"))
        self.assertIn("1 message will", self.cli("replay", "team", webhook, "--since", "1h"))
        (one,) = self.state_of(webhook, "delivered")
        self.assertIn("1 message will", self.cli("replay", "team", webhook, "--message",
                                                 one["broker_message_id"]))
        self.assertIn("whsec_", self.cli("rotate", "team", webhook, "--overlap", "60"))
        self.assertIn("disabled: by_operator", self.cli("disable", "team", webhook))
        self.assertIn("active", self.cli("enable", "team", webhook, "--skip"))
        self.assertIn("queue:jobs", self.cli("update", "team", webhook, "--queue", "jobs",
                                             "--rate", "7"))
        self.assertIn("all", self.cli("update", "team", webhook, "--all-destinations"))
        self.cli("replay", "team", webhook, status=2)
        self.assertIn("deleted", self.cli("delete", "team", webhook))
        self.cli("show", "team", webhook, status=2)

    def test_a_network_that_cannot_be_read_is_refused_at_the_start(self):
        done = cli.run("broker", "serve", "--store", self.url("other.db"), "--listen",
                       "127.0.0.1:0", "--webhook-allow", "10.0.0.0/33")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("10.0.0.0/33", done.stderr)

    def test_a_store_is_administered_without_a_broker(self):
        self.broker.stop()
        done = cli.run("broker", "webhooks", "create", "team", "https://hooks.example/", "--json",
                       "--store", self.store())
        self.assertEqual(done.returncode, 0, done.stderr)
        webhook = broker.json.loads(done.stdout)["webhook"]["webhook_id"]
        done = cli.run("broker", "webhooks", "deliveries", "team", webhook, "--state", "dead",
                       "--store", self.store())
        self.assertEqual((done.returncode, done.stdout), (0, "no deliveries\n"))


if __name__ == "__main__":
    cli.main(__doc__)
