#!/usr/bin/env python3
"""The program `holdfast server`: its messages when it cannot start, the lines of log steps in its
log, and the handling of failed authentication.

Run as: python3 tests/server_program_test.py path/to/holdfast
"""

import contextlib
import json
import pathlib
import socket
import time

from support import cli, server


class StartTest(cli.CliTest):
    """Each message names the option and its value, and states what to do."""

    def refused(self, *options, names, code, exit_code=2):
        said = cli.run("server", "--json", *options)
        self.assertEqual(said.returncode, exit_code, said)
        problem = json.loads(said.stdout or said.stderr)["error"]
        self.assertEqual(problem["code"], code, problem)
        text = " ".join([*problem["context"], problem["message"]])
        for name in names:
            self.assertIn(name, text)

    def test_addresses(self):
        store = ("--store", self.url("s.db"))
        for address in ("nonsense", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:http", "::1:80",
                        ":"):
            self.refused(*store, "--listen", address, names=["--listen", address, "HOST:PORT"],
                         code="invalid_argument")
        self.assertFalse(pathlib.Path(self.path("s.db")).exists(), "nothing was made")
        self.refused(*store, "--listen", "127.0.0.1:0", "--socket", self.path("no/socket"),
                     names=["--socket", self.path("no/socket"), "folder"], code="invalid_argument")
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = "127.0.0.1:%d" % other.getsockname()[1]
            self.refused(*store, "--listen", address, names=["--listen", address, "another port"],
                         code="already_exists")
        self.refused(*store, "--listen", "0.0.0.0:0", code="permission_denied",
                     names=["--listen", "0.0.0.0:0", "token create"])

    def test_certificates(self):
        store = ("--store", self.url("s.db"), "--listen", "127.0.0.1:0")
        missing, text = self.path("no.pem"), self.path("text.pem")
        pathlib.Path(text).write_text("not a certificate\n")
        self.refused(*store, "--tls-cert", missing, "--tls-key", text,
                     names=["--tls-cert", missing, "does not exist"], code="not_found")
        self.refused(*store, "--tls-cert", text, "--tls-key", missing,
                     names=["--tls-key", missing, "does not exist"], code="not_found")
        self.refused(*store, "--tls-cert", text, "--tls-key", text,
                     names=["--tls-cert", text, "PEM"], code="invalid_argument")

    def test_stores(self):
        url = self.url("no/folder/s.db")
        self.refused("--store", url, names=["--store", url, "folder"], code="not_found")
        self.refused("--store", "nonsense", names=["--store", "nonsense", "sqlite:"],
                     code="invalid_url")


class LogStepTest(cli.CliTest):
    def logged(self, *options, form="text"):
        one = server.Server(cli.program(), self.url("s.db"), "--log", form, *options,
                            log=self.path("log"))
        one.start()
        self.addCleanup(one.close)
        one.client().good("POST", "/v1/workflows", {"workflow": "greet", "steps": [
            {"name": "quiet", "log": {"message": "debugging", "level": "debug"}},
            {"name": "hello", "after": "quiet", "log": {"message": "hello {who}",
                                                        "level": "warning"}}]})
        run = one.client().good("POST", "/v1/runs?wait=20000", {
            "workflow": "greet", "input": {"who": "ann\x1b[2J\nfake error"}})
        self.assertEqual(run["status"], "completed")
        server.wait_until(lambda: "hello ann" in one.logged(), "the line of the log step")
        return run["run_id"], one.logged()

    def test_log_steps_are_in_the_log_of_the_server(self):
        run, text = self.logged()
        [line] = [line for line in text.splitlines() if "log step" in line]
        self.assertRegex(line, rf" warning log step run={run} workflow=greet step=hello text=")
        self.assertIn(r'text="hello ann\u001b[2J\nfake error"', line)
        self.assertNotIn("\x1b", text)

    def test_log_steps_as_json_with_their_level(self):
        run, text = self.logged("--log-level", "debug", form="json")
        lines = [json.loads(line) for line in text.splitlines()]
        steps = [(line["level"], line["run"], line["step"], line["text"]) for line in lines
                 if line["message"] == "log step"]
        self.assertEqual(steps, [("debug", run, "quiet", "debugging"),
                                 ("warning", run, "hello", "hello ann\x1b[2J\nfake error")])


class AuthenticationTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.server = server.Server(cli.program(), self.url("s.db"), "--socket",
                                    self.path("socket"), "--max-auth-failures", 10,
                                    log=self.path("log"))
        self.server.start()
        self.addCleanup(self.server.close)
        owner = server.Client(self.path("socket"))
        self.token = owner.good("POST", "/v1/tokens", {"name": "t", "role": "admin"})["token"]
        self.good = self.server.client(self.token)

    def test_failures_are_delayed_limited_counted_and_logged_once(self):
        wrong = self.server.client("hf_0123456789ab_" + "x" * 43)
        answers, times = [], []
        for _ in range(20):
            began = time.monotonic()
            answers.append(wrong.get("/v1/runs"))
            times.append(time.monotonic() - began)
        statuses = [answer.status for answer in answers]
        # One failure is forgotten every six seconds.
        refused = statuses.count(401)
        self.assertEqual(statuses[:10], [401] * 10)
        self.assertIn(429, statuses)
        self.assertEqual(set(statuses[10:]) - {401, 429}, set())
        self.assertGreater(sum(times[:10]), 1, "delays that grow")
        for answer in answers:
            if answer.status == 429:
                self.assertEqual((answer.code, answer.json()["retry"]), ("rate_limited", True))
                self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        # A valid token from the same address is accepted at once.
        began = time.monotonic()
        self.assertEqual(self.good.get("/v1/runs").status, 200)
        self.assertLess(time.monotonic() - began, 5)
        metrics = self.good.get("/metrics").text
        self.assertIn(f'holdfast_authentication_failures_total{{outcome="refused"}} {refused}',
                      metrics)
        self.assertIn(f'outcome="limited"}} {20 - refused}', metrics)
        lines = [line for line in self.server.logged().splitlines()
                 if "authentication failed" in line]
        self.assertEqual(len(lines), 1, "one line per interval")
        self.assertIn("address=127.0.0.1 count=1", lines[0])

    def test_a_delayed_response_does_not_delay_other_requests(self):
        waiting = [self.server.client("wrong").connection() for _ in range(10)]
        for connection in waiting:
            connection.request("GET", "/v1/runs", headers={"Authorization": "Bearer wrong"})
        began = time.monotonic()
        self.assertEqual(self.good.get("/v1/server").status, 200)
        quick = time.monotonic() - began
        statuses = set()
        for connection in waiting:
            with contextlib.closing(connection):
                statuses.add(connection.getresponse().status)
        slow = time.monotonic() - began
        self.assertEqual(statuses, {401})
        self.assertGreater(slow, 0.5)
        self.assertLess(quick, slow)


if __name__ == "__main__":
    cli.main(__doc__)
