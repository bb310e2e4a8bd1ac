#!/usr/bin/env python3
"""The commands that care for a daemon, its limits, and its description.

Run as: python3 tests/daemon_care_test.py path/to/holdfast
"""

import json
import os
import pathlib
import threading

from support import cli, openapi
from support.daemon import FakeBrokerTest, JoinedTest, member_files

DOCUMENT = openapi.Document(openapi.FILE.with_name("daemon_openapi.json"))


class Limits(FakeBrokerTest):
    def test_SEC_08_the_65th_request_at_the_same_time_is_refused(self):
        cli.wait_until(lambda: self.running.client.good("GET", "/v1/health")["connected"])
        self.fake.gate.clear()
        self.addCleanup(self.fake.gate.set)
        statuses = []

        def occupy():  # again when the request below was there first
            status = 429
            while status == 429:
                status = self.running.client.get("/v1/peers").status
            statuses.append(status)
        threads = [threading.Thread(target=occupy) for _ in range(64)]
        for thread in threads:
            thread.start()

        def refused():
            answer = self.running.client.post("/v1/heartbeat")
            return answer.status == 429 and answer.json()["error"] == "daemon_busy"
        cli.wait_until(refused, "429 daemon_busy")
        self.fake.gate.set()
        for thread in threads:
            thread.join()
        self.assertEqual(len(statuses), 64)
        cli.wait_until(lambda: self.running.client.post("/v1/heartbeat").status == 200)

    def test_SEC_08_64_callers_with_one_request_at_a_time_are_never_refused(self):
        refused = []

        def call():
            client = self.running.client
            kept = client.connection()
            for _ in range(50):
                answer = client.get("/v1/compat", kept=kept)
                if answer.status != 200:
                    refused.append(answer)
            kept.close()
        threads = [threading.Thread(target=call) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(refused, [])

    def test_R_10_the_requests_of_a_token_are_limited_those_of_the_socket_are_not(self):
        tcp, kept = self.running.tcp(self.running.token()), self.running.tcp().connection()
        self.addCleanup(kept.close)
        for _ in range(20_000):
            answer = tcp.get("/v1/compat", kept=kept)
            if answer.status != 200:
                break
        self.assertEqual((answer.status, answer.json()["error"]), (429, "too_many_requests"))
        self.assertEqual(answer.headers["retry-after"], "1")
        self.assertEqual(self.running.client.get("/v1/compat").status, 200)

    def test_the_document_describes_every_answer(self):
        client = self.running.client
        self.assertEqual(client.good("GET", "/openapi.json"), DOCUMENT.json)
        self.send("m-1", meta={"a": 1})
        self.fake.deliver({
            "delivery_id": 1, "attempt": 1, "mesh": "team", "broker_message_id": "B",
            "client_message_id": "m-1", "envelope_version": 1, "sender_name": "ben",
            "destination": {"kind": "topic", "ref": "alerts"}, "sender_pubkey": "bb" * 32,
            "priority": "next", "body": "x", "meta": {"a": [1]}, "redacted": False,
            "history_seq": 1, "created_at": 1_700_000_000_000})
        self.wait_for("m-1", "done")
        calls = {"send": {"body": {"to": "#alerts", "message": "y"}},
                 "post_to_topic": {"body": {"topic": "alerts", "message": "z"}},
                 "list_outbox": {}, "inspect_outbox": {"message": "m-1"},
                 "requeue": {"message": "m-1", "body": {"auto": True}},
                 "abort": {"message": "m-1", "body": {}},
                 "requeue_bulk": {"body": {"dry_run": True}},
                 "compact": {"body": {"ended_before": 1}}, "list_inbox": {},
                 "show_inbox_message": {"id": "1"}, "mark_seen": {"body": {"ids": [1]}},
                 "delete_inbox_message": {"id": "1"}, "heartbeat": {"body": {}}, "health": {},
                 "version": {}, "compat": {}, "reload": {"body": {}},
                 "rotate_token": {"body": {}}}
        for name, given in calls.items():
            operation = DOCUMENT.operations[name]
            body = given.pop("body", None)
            answer = client.call(operation.method, operation.url(given), body)
            self.assertEqual(operation.answer_faults(answer), [], (name, answer))
            self.assertLess(answer.status, 410, (name, answer))
        missing = client.get("/v1/nothing")
        self.assertEqual((missing.status, missing.type), (404, "application/problem+json"))
        self.assertEqual(client.call("PUT", "/v1/send").status, 405)


class Care(FakeBrokerTest):
    def setUp(self):
        super().setUp()
        self.home = ("--home", self.path("daemon"))

    def configure(self, **changes):
        path = pathlib.Path(self.path("daemon"), "config.json")
        config = json.loads(path.read_text(encoding="utf-8")) | changes
        path.write_text(json.dumps(config), encoding="utf-8")

    def test_LC_05_settings_are_read_again_without_a_new_connection(self):
        metrics = lambda: self.running.client.get("/v1/metrics").text.splitlines()
        connects = lambda: [line for line in metrics()
                            if line.startswith("cm_daemon_reconnects_total")]
        cli.wait_until(lambda: self.running.client.good("GET", "/v1/health")["connected"])
        before = connects()
        self.fake.answer = lambda message: (503, {}, {})
        self.assertEqual(self.send("m-1").status, 202)
        self.configure(max_queue_size=1, initial_backoff_ms=1, max_backoff_ms=1)
        self.assertEqual(self.ok("daemon", "reload", *self.home),
                         "the settings were read again\n")
        refused = self.send("m-2", to="queue:b")
        self.assertEqual((refused.status, refused.json()["error"]), (429, "outbox_full"))
        self.fake.wait_for(6)  # the shorter back-off counts
        self.configure(port=1, senders=2)
        self.assertIn("after a restart: port, senders", self.ok("daemon", "reload", *self.home))
        self.configure(max_queue_size=0)
        self.fails(2, "daemon", "reload", *self.home, says="max_queue_size")
        self.assertEqual(self.send("m-3", to="queue:c").status, 429)
        self.assertEqual(connects(), before)

    def test_CL_05_the_doctor_finds_each_planted_fault(self):
        cli.wait_until(lambda: self.run_here("daemon", "status", *self.home).returncode == 0)
        self.assertIn("process: ok\n", self.ok("daemon", "doctor", *self.home))
        os.chmod(self.path("daemon/member.json"), 0o644)
        self.assertIn("chmod 600", self.ends(1, "daemon", "doctor", *self.home))
        os.chmod(self.path("daemon/member.json"), 0o600)
        self.write("daemon/keypair.json", json.dumps({"ed25519_public": "cc" * 32,
                                                      "ed25519_seed": "dd" * 32}))
        os.chmod(self.path("daemon/keypair.json"), 0o600)
        self.assertIn("another key", self.ends(1, "daemon", "doctor", *self.home))
        os.unlink(self.path("daemon/keypair.json"))
        self.fake.answer = lambda message: (404, {"error": "unknown_destination"}, {})
        self.send("m-1")
        self.wait_for("m-1", "dead")
        self.assertIn("1 messages were refused", self.ends(1, "daemon", "doctor", *self.home))
        os.chmod(self.path("daemon"), 0o755)
        self.assertIn("chmod 700", self.ends(1, "daemon", "doctor", *self.home))
        os.chmod(self.path("daemon"), 0o700)
        os.unlink(self.path("daemon/sock"))
        self.assertIn("does not answer", self.ends(1, "daemon", "doctor", *self.home))
        self.running.kill()
        self.assertIn("no daemon runs", self.ends(1, "daemon", "doctor", *self.home))
        self.configure(senders=0)
        shown = json.loads(self.ends(1, "daemon", "doctor", "--json", *self.home))
        self.assertIn("senders is 1 to 256", {one["fault"].rsplit(": ", 1)[-1]
                                              for one in shown["checks"]})

    def test_CR_04_a_damaged_outbox_is_put_aside_on_request(self):
        self.fails(5, "daemon", "recover", *self.home, says="already")
        self.assertEqual(self.running.stop(), 0)
        self.assertEqual(self.ok("daemon", "recover", *self.home),
                         "outbox.db: sound\ninbox.db: sound\n")
        with open(self.running.file("outbox.db"), "r+b") as file:
            file.write(b"x" * 4096)
        refused = self.run_here("daemon", "up", "--foreground", *self.home)
        self.assertEqual(refused.returncode, 3)
        self.assertIn("daemon recover", refused.stderr)
        self.assertIn("outbox.db is damaged", self.ends(1, "daemon", "recover", *self.home))
        fresh = self.run_here("daemon", "recover", "--fresh", "outbox", *self.home)
        self.assertEqual((fresh.returncode, fresh.stdout),
                         (0, "outbox.db: missing; the next start makes one\ninbox.db: sound\n"))
        self.assertIn("is kept as outbox.db.old-", fresh.stderr)
        self.running.start()
        self.assertEqual(self.send("m-1").status, 202)

    def test_logs_of_a_daemon_in_the_background(self):
        self.assertEqual(self.running.stop(), 0)
        self.fails(2, "daemon", "logs", *self.home, says="background")
        self.ok("daemon", "up", *self.home)
        self.addCleanup(self.run_here, "daemon", "down", *self.home)
        cli.wait_until(lambda: "connected" in self.run_here("daemon", "logs", *self.home).stdout)
        lines = self.ok("daemon", "logs", *self.home).splitlines()
        self.assertGreaterEqual(len(lines), 2)
        self.assertEqual(len(self.ok("daemon", "logs", "--lines", "1", *self.home).splitlines()),
                         1)
        self.ok("daemon", "down", *self.home)
        self.assertTrue(self.ok("daemon", "logs", *self.home).rstrip().endswith("stopped"))

    def test_reset_removes_the_folder_on_request_only(self):
        self.fails(5, "daemon", "reset", "--yes", *self.home, says="already")
        self.assertEqual(self.running.stop(), 0)
        self.fails(2, "daemon", "reset", *self.home, says="--yes")
        self.ok("daemon", "reset", "--yes", *self.home)
        self.assertFalse(os.path.exists(self.path("daemon")))
        member_files(self.path("daemon"), [self.fake.url])

    def test_a_service_of_systemd_is_installed_and_removed(self):
        env = cli.environment(XDG_CONFIG_HOME=self.path("config"), CI="")
        unit = pathlib.Path(self.path("config/systemd/user/holdfast-daemon.service"))
        said = self.ok("daemon", "install-service", *self.home, env=env)
        self.assertIn("systemctl --user enable --now holdfast-daemon.service", said)
        text = unit.read_text(encoding="utf-8")
        self.assertIn(f"--home {self.path('daemon')} ", text)
        self.assertIn("RestartPreventExitStatus=9 78\n", text)
        self.ok("daemon", "uninstall-service", env=env)
        self.assertFalse(unit.exists())
        self.fails(2, "daemon", "uninstall-service", env=env)
        self.fails(78, "daemon", "install-service", *self.home, says="CI",
                   env=cli.environment(XDG_CONFIG_HOME=self.path("config"), CI="true"))


class End(JoinedTest):
    def test_R_05_uninstall_and_leave_end_the_membership_at_the_broker(self):
        home = ("--home", self.path("daemon"))
        self.assertEqual(self.running.stop(), 0)
        self.broker.kill()
        self.fails(5, "daemon", "uninstall", "--yes", *home)
        self.broker.start()
        self.fails(2, "daemon", "uninstall", *home, says="--yes")
        self.ok("daemon", "uninstall", "--yes", *home)
        self.assertFalse(os.path.exists(self.path("daemon")))
        members = {one["name"]: one for one in self.admin.good(
            "GET", "/v1/workspaces/team/members")["members"]}
        self.assertIn("revoked_at", members["eva"])


if __name__ == "__main__":
    cli.main(__doc__)
