#!/usr/bin/env python3
"""Permissions at a server: every role at every operation, compared with the table of
docs/http-api.md; expired, revoked and limited tokens; callers without a token; which actors are
recorded; which secrets are never shown.

Run as: python3 tests/server_roles_test.py path/to/holdfast
"""

import json
import os
import pathlib
import re
import time

from support import cli, openapi, server

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "http-api.md"
ROLES = ["viewer", "client", "worker", "operator", "admin"]
PERMISSIONS = ["look", "start", "steer", "define", "work", "administer"]
OPEN = {"get_health", "get_readiness", "get_openapi"}
FOR_ANY_TOKEN = {"get_server"}
# Called with an invalid argument, because a successful call would never end.
STREAMS = {"stream_events", "stream_run_events"}


def role_table():
    """{(permission, role): allowed}, from the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in text.splitlines() if line.startswith("|")]
    start = rows.index(["Permission", *ROLES])
    table = {}
    for row in rows[start + 2:start + 2 + len(PERMISSIONS)]:
        for role, cell in zip(ROLES, row[1:]):
            table[row[0].split(":")[0], role] = {"yes": True, "": False}[cell]
    return table


class RolesTest(cli.CliTest):
    options = ()

    def setUp(self):
        super().setUp()
        self.store = self.url("s.db")
        self.socket = self.path("socket")
        self.server = server.Server(cli.program(), self.store, "--socket", self.socket,
                                    "--log-level", "debug", "--max-auth-failures", 0,
                                    *self.options, log=self.path("log"))
        self.server.start()
        self.addCleanup(self.server.close)
        self.owner = server.Client(self.socket)
        self.open = self.server.client()
        self.secrets = []

    def token(self, role, name=None, **more):
        """(id, token), created by the owner at the socket."""
        made = self.owner.good("POST", "/v1/tokens", {"name": name or role, "role": role, **more})
        self.secrets.append(made["token"])
        return made["id"], made["token"]

    def client(self, role, name=None, **more):
        return self.server.client(self.token(role, name, **more)[1])

    def register(self, *names):
        for name in names:
            self.owner.good("POST", "/v1/workflows", {"workflow": name, "steps": [
                {"name": "work", "queue": f"{name}_queue"}]})

    def refused(self, status, code, answer):
        self.assertEqual((answer.status, answer.code), (status, code), answer)

    def assert_open(self, answer):
        self.assertNotIn(answer.status, (401, 403), answer)


class TableTest(RolesTest):
    """One assertion for each role at each operation."""

    def test_document_has_the_whole_table(self):
        self.assertEqual(set(role_table()), {(permission, role) for permission in PERMISSIONS
                                             for role in ROLES})

    def call(self, client, operation):
        """A call with an invalid argument, which fails only after it was authorized."""
        arguments = {name: "nothing-of-that-name"
                     for name in re.findall(r"{(\w+)}", operation.path)}
        query = {"after": "nonsense"} if operation.id in STREAMS else None
        body = {"nonsense": 1} if operation.method == "POST" else None
        return client.call(operation.method, operation.url(arguments), body, query=query)

    def test_every_role_at_every_operation(self):
        table = role_table()
        clients = {role: self.client(role) for role in ROLES}
        used = set()
        for operation in openapi.Document().operations.values():
            said = re.search(r"Permission: (\w+)", operation.spec["description"])
            permission = said[1] if said else None
            self.assertEqual(permission is None,
                             operation.id in OPEN | FOR_ANY_TOKEN, operation.id)
            for role, client in clients.items():
                with self.subTest(operation=operation.id, role=role):
                    answer = self.call(client, operation)
                    if permission is None or table[permission, role]:
                        self.assert_open(answer)
                    else:
                        self.refused(403, "permission_denied", answer)
                        self.assertEqual((answer.json()["role"], answer.json()["permission"]),
                                         (role, permission))
                used.add((permission, role))
            with self.subTest(operation=operation.id, role="none"):
                answer = self.call(self.open, operation)
                if operation.id in OPEN:
                    self.assert_open(answer)
                else:
                    self.refused(401, "unauthenticated", answer)
                    self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        self.assertEqual(used - {(None, role) for role in ROLES}, set(table))

    def test_what_is_allowed_works(self):
        self.register("a")
        clients = {role: self.client(role) for role in ROLES}
        run = clients["client"].good("POST", "/v1/runs", {"workflow": "a"})["run_id"]
        self.assertEqual(clients["viewer"].get(f"/v1/runs/{run}").status, 200)
        worker = server.Worker(clients["worker"])
        [attempt] = worker.claim()["attempts"]
        self.assertEqual(clients["operator"].post(f"/v1/runs/{run}/cancel").status, 200)
        [lost] = worker.heartbeat(server.proof(attempt))["results"]
        self.assertEqual((lost["lost"], lost["cancelled"]), (True, True))
        self.assertEqual(clients["admin"].get("/v1/backup").status, 200)
        for role, client in clients.items():
            self.assertEqual(client.get("/v1/server").json()["you"], {"name": role, "role": role})


class TokensTest(RolesTest):
    def test_tokens_that_are_wrong_revoked_or_expired(self):
        token_id, token = self.token("admin", "old")
        client = self.server.client(token)
        self.assertEqual(client.get("/v1/runs").status, 200)
        swapped = token[:-1] + ("A" if token[-1] != "A" else "B")
        for wrong in (swapped, f"hf_{token_id}_", "hf_unknown_x", "nonsense", f"hf_{token_id}"):
            self.refused(401, "unauthenticated", self.open.get("/v1/runs", token=wrong))
        for header in ("Basic YTpi", "bearer", "Bearer", f"Token {token}"):
            self.refused(401, "unauthenticated",
                         self.open.get("/v1/runs", headers={"Authorization": header}))
        self.owner.good("DELETE", f"/v1/tokens/{token_id}")
        self.refused(401, "unauthenticated", client.get("/v1/runs"))
        _, short = self.token("viewer", "short", expires_at=int(time.time() * 1000) + 1500)
        brief = self.server.client(short)
        self.assertEqual(brief.get("/v1/runs").status, 200)
        server.wait_until(lambda: brief.get("/v1/runs").status == 401, "the end of the token")
        self.refused(401, "unauthenticated", brief.get("/v1/runs"))

    def test_tokens_are_still_known_after_a_restart(self):
        token_id, token = self.token("admin", "gone")
        _, kept = self.token("viewer", "kept")
        self.owner.good("DELETE", f"/v1/tokens/{token_id}")
        self.server.kill()
        self.server.start()
        self.refused(401, "unauthenticated", self.open.get("/v1/runs"))
        self.refused(401, "unauthenticated", self.open.get("/v1/runs", token=token))
        self.assertEqual(self.open.get("/v1/runs", token=kept).status, 200)

    def test_authentication_stays_required_when_the_last_token_is_revoked(self):
        token_id, _ = self.token("admin")
        self.owner.good("DELETE", f"/v1/tokens/{token_id}")
        self.refused(401, "unauthenticated", self.open.get("/v1/runs"))

    def test_a_running_server_accepts_a_token_created_by_the_command_line(self):
        said = cli.run("token", "create", "--role", "viewer", "--name", "cli", "--store",
                       self.store, "--json")
        self.assertEqual(said.returncode, 0, said)
        token = server.TOKEN.search(said.stdout)[0]
        server.wait_until(lambda: self.open.get("/v1/runs", token=token).status == 200,
                          "the token that another process created")
        self.refused(401, "unauthenticated", self.open.get("/v1/runs"))

    def test_tokens_limited_to_workflows(self):
        self.register("a", "b", "c")
        runs = {name: self.owner.good("POST", "/v1/runs", {"workflow": name})["run_id"]
                for name in ("a", "b")}
        limited = self.client("operator", workflows=["a"])
        self.assertEqual([one["workflow"] for one in limited.get("/v1/runs").json()["runs"]], ["a"])
        for path in ("", "/explain", "/graph", "/timeline", "/facts", "/outcome"):
            self.assertEqual(limited.get(f"/v1/runs/{runs['a']}{path}").status, 200, path)
            self.refused(403, "permission_denied", limited.get(f"/v1/runs/{runs['b']}{path}"))
        self.refused(403, "permission_denied", limited.get(f"/v1/runs/{runs['b']}/events",
                                                           query={"after": "0"}))
        self.refused(403, "permission_denied", limited.get("/v1/events",
                                                           query={"workflow": "b"}))
        for command in ("cancel", "resume", "approve", "reject", "replay", "archive", "unarchive"):
            self.refused(403, "permission_denied", limited.post(f"/v1/runs/{runs['b']}/{command}"))
        self.refused(403, "permission_denied", limited.post(f"/v1/runs/{runs['b']}/attributes",
                                                            {"changes": {"x": 1}}))
        self.refused(403, "permission_denied", limited.post(f"/v1/runs/{runs['b']}/signal",
                                                            {"event": "x"}))
        self.assertEqual(limited.post("/v1/runs", {"workflow": "a"}).status, 201)
        self.refused(403, "permission_denied", limited.post("/v1/runs", {"workflow": "b"}))
        answers = limited.good("POST", "/v1/runs/batch",
                               {"runs": [{"workflow": "a"}, {"workflow": "b"}]})["results"]
        self.assertIn("run_id", answers[0])
        self.assertEqual(answers[1]["problem"]["code"], "permission_denied")
        self.refused(403, "permission_denied", limited.get("/v1/runs", query={"workflow": "b"}))
        self.refused(403, "permission_denied", limited.post("/v1/runs/bulk", {
            "action": "cancel", "filter": {"workflow": "b"}}))
        done = limited.good("POST", "/v1/runs/bulk", {"action": "cancel", "all": True})["runs"]
        self.assertNotIn(runs["b"], [one["run_id"] for one in done])
        self.assertFalse(self.owner.good("GET", f"/v1/runs/{runs['b']}")["terminal"])
        self.assertEqual(limited.get("/v1/workflows/a").status, 200)
        self.refused(403, "permission_denied", limited.get("/v1/workflows/b"))
        self.refused(403, "permission_denied", limited.get("/v1/workflows/b/versions"))
        self.refused(403, "permission_denied", limited.get("/v1/workflows/a/diff",
                                                           query={"from": "b@1"}))
        self.refused(403, "permission_denied", limited.post("/v1/workflows", {
            "workflow": "b", "steps": [{"name": "evil"}]}))
        self.refused(403, "permission_denied", limited.post("/v1/schedules/b/x/pause"))
        for path in ("/v1/status", "/v1/doctor", "/v1/queues", "/v1/queues/default", "/v1/workers",
                     "/v1/workflows", "/metrics"):
            self.refused(403, "permission_denied", limited.get(path))
        self.assertEqual(limited.get("/v1/approvals").json(), {"approvals": []})
        several = self.client("viewer", workflows=["a", "c"])
        self.refused(403, "permission_denied", several.get("/v1/runs"))
        self.assertEqual(several.get("/v1/runs", query={"workflow": "a"}).status, 200)

    def test_limited_token_cannot_define_children_outside_its_workflows(self):
        self.register("a", "b", "c")
        limited = self.client("operator", workflows=["a", "c"])

        def with_child(child, name="a", **step):
            return {"workflow": name, "steps": [
                {"name": "first", "log": "hello"},
                {"name": "second", "after": "first", "child": child, **step}]}
        outside = [with_child("b"), with_child({"workflow": "b", "detached": True}),
                   with_child("b", for_each={"items": "list"}), with_child("unknown"),
                   with_child("b", name="c")]
        for definition in outside:
            for query in ({}, {"dry_run": "true"}):
                with self.subTest(definition=definition, query=query):
                    answer = limited.post("/v1/workflows", definition, query=query)
                    self.refused(403, "permission_denied", answer)
                    self.assertIn(answer.json()["workflow"], ("b", "unknown"))
                    self.assertEqual(answer.json()["step"], "second")
        text = b"workflow: a\nsteps:\n  - {name: evil, child: b}\n"
        answer = limited.post("/v1/workflows", text, headers={"Content-Type": "application/yaml"})
        self.refused(403, "permission_denied", answer)
        # Runs still use the definition that was registered before.
        run = limited.good("POST", "/v1/runs", {"workflow": "a"})["run_id"]
        self.assertEqual(limited.good("GET", f"/v1/runs/{run}")["status"], "running")
        self.assertEqual(self.owner.good("GET", "/v1/runs", query={"workflow": "b"})["runs"], [])
        self.assertEqual(limited.post("/v1/workflows", with_child("c")).status, 201)
        # The owner may connect the workflows, and the token may then start the connected ones.
        self.owner.good("POST", "/v1/workflows", with_child("b"))
        limited.good("POST", "/v1/runs", {"workflow": "a"})
        children = {"query": {"workflow": "b"}}
        server.wait_until(lambda: self.owner.good("GET", "/v1/runs", **children)["runs"],
                          "the child")
        # The token may not change workflows outside its scope.
        self.refused(403, "permission_denied", limited.post("/v1/workflows", with_child("a", "b")))

    def test_events_of_other_workflows_are_not_delivered(self):
        self.register("a", "b")
        limited = self.client("viewer", workflows=["a"])
        events = server.Events(limited, query={"after": "0"})
        self.addCleanup(events.close)
        other = self.owner.good("POST", "/v1/runs", {"workflow": "b"})["run_id"]
        mine = self.owner.good("POST", "/v1/runs", {"workflow": "a"})["run_id"]
        events.wait_for(lambda event: event[2].get("run_id") == mine)
        self.assertEqual({event[2].get("run_id") for event in events.all}, {mine})
        self.assertNotIn(other, json.dumps(events.all))

    def test_worker_limited_to_queues(self):
        self.register("a", "b")
        for name in ("a", "b"):
            self.owner.good("POST", "/v1/runs", {"workflow": name})
        worker = server.Worker(self.client("worker", queues=["a_queue"]))
        body = {"worker": worker.identity, **worker.claim_request(queues=["b_queue"], wait_ms=0)}
        answer = worker.client.post("/v1/work/claim", body)
        self.refused(403, "permission_denied", answer)
        self.assertEqual(answer.json()["queue"], "b_queue")
        report = {"worker": worker.identity, "reports": [],
                  "claim": worker.claim_request(queues=["b_queue"])}
        self.refused(403, "permission_denied", worker.client.post("/v1/work/report", report))
        got = worker.claim(max=10)["attempts"]
        self.assertEqual([one["queue"] for one in got], ["a_queue"])
        self.assertEqual(worker.claim(max=10, wait_ms=0)["attempts"], [])

    def test_the_fence_of_a_claim_is_not_given_to_other_workers(self):
        self.register("a")
        self.owner.good("POST", "/v1/runs", {"workflow": "a"})
        worker = server.Worker(self.client("worker", "one"))
        other = server.Worker(self.client("worker", "two"))
        [attempt] = worker.claim()["attempts"]
        # The other worker claims to be the first one, but does not know its secret.
        other.identity["id"] = worker.identity["id"]
        again = other.client.good("POST", "/v1/work/claim", {
            "worker": other.identity, "request": "1", "again": True, "handlers": ["work"]})
        self.assertEqual(again["attempts"], [])
        stolen = server.proof(attempt, outcome="ok") | {"token": "x" * 43}
        [result] = other.report(stolen)["results"]
        self.assertFalse(result["counted"])


class RecordTest(RolesTest):
    def actors(self, run):
        """(signal, actor) of each fact that records one."""
        facts = self.owner.good("GET", f"/v1/runs/{run}/facts", query={"limit": 1000})["facts"]
        return [(fact["data"]["signal_type"], fact["data"].get("actor", ""))
                for fact in facts if fact["kind"] == "run_signal_received"]

    def test_actors_are_recorded(self):
        self.register("a")
        shop, boss = self.client("client", "shop"), self.client("operator", "boss")
        run = shop.good("POST", "/v1/runs", {"workflow": "a", "actor": "ann"})["run_id"]
        boss.good("POST", f"/v1/runs/{run}/cancel", {})
        self.assertEqual(self.actors(run), [("start_run", "ann via shop"), ("cancel_run", "boss")])
        run = shop.good("POST", "/v1/runs", {"workflow": "a", "actor": "shop"})["run_id"]
        boss.good("POST", f"/v1/runs/{run}/cancel", {"actor": "bob"})
        self.assertEqual(self.actors(run), [("start_run", "shop"), ("cancel_run", "bob via boss")])
        run = self.owner.good("POST", "/v1/runs", {"workflow": "a", "actor": "cid"})["run_id"]
        self.assertEqual(self.actors(run), [("start_run", "cid")])
        made = {one["name"]: one for one in self.owner.good("GET", "/v1/tokens")["tokens"]}
        owner = self.owner.good("GET", "/v1/server")["you"]
        self.assertEqual((made["shop"]["created_by"], owner["role"]), (owner["name"], "admin"))

    def test_no_secret_is_shown(self):
        self.register("a")
        admin = self.client("admin", "root")
        self.token("viewer", "other")
        worker = server.Worker(self.client("worker", "hand"))
        run = admin.good("POST", "/v1/runs", {
            "workflow": "a", "input": {"password": "geheim-1", "deep": [{"api_key": "geheim-2"}]},
        })["run_id"]
        [attempt] = worker.claim()["attempts"]
        worker.heartbeat(server.proof(attempt, progress={"token": "geheim-3"}))
        shown = [admin.get("/v1/workers").text, admin.get(f"/v1/runs/{run}").text]
        worker.report(server.proof(attempt, outcome="ok", result={"secret": "geheim-4"}))
        self.open.get("/v1/runs", token="hf_000000000000_" + "wrong" * 8)
        self.secrets += [attempt["token"], worker.identity["secret"], "wrong" * 8]
        events = server.Events(admin, query={"after": "0"})
        events.wait_for(lambda event: event[1] == "run_terminal")
        shown += [json.dumps(events.all)]
        events.close()
        paths = ["/v1/tokens", "/metrics", "/v1/status", "/v1/doctor", "/v1/queues", "/v1/workers",
                 "/v1/server", "/v1/runs"]
        paths += [f"/v1/runs/{run}{more}" for more in
                  ("", "/facts", "/explain", "/timeline", "/graph?history=1")]
        for path in paths:
            answer = admin.get(path)
            self.assertEqual(answer.status, 200, path)
            shown.append(answer.text)
        # The outcome is returned as stored, to callers that may start runs.
        outcome = admin.get(f"/v1/runs/{run}/outcome").text
        # The server logs failed authentication and its shutdown.
        self.assertEqual(self.server.stop(), 0)
        shown.append(self.server.logged())
        self.assertIn("authentication failed", shown[-1])
        for text in shown[:-1]:
            self.assertNotIn(self.path(""), text, "the path of the store")
            for data in ("geheim-1", "geheim-2", "geheim-3", "geheim-4"):
                self.assertNotIn(data, text)
        cat = cli.run("journal", "cat", self.store, "--json")
        self.assertEqual(cat.returncode, 0)
        for text in [*shown, outcome, cat.stdout]:
            for secret in self.secrets:
                self.assertNotIn(secret, text)
                if secret.startswith("hf_"):
                    self.assertNotIn(secret.split("_", 2)[2], text)

    def test_socket_is_only_for_its_owner(self):
        self.token("viewer")
        self.assertEqual(os.stat(self.socket).st_mode & 0o777, 0o600)
        you = self.owner.good("GET", "/v1/server")["you"]
        self.assertEqual(you["role"], "admin")
        self.assertTrue(you["name"])
        # A token is also checked at the socket.
        token = self.token("viewer", "small")[1]
        self.refused(403, "permission_denied", self.owner.get("/v1/tokens", token=token))
        if os.geteuid() == 0:
            self.assertEqual(self.as_other_user(), 401)

    def as_other_user(self):
        """The status for another user at the socket, if the file permits the connection."""
        os.chmod(self.directory, 0o755)
        os.chmod(self.socket, 0o666)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(cli.UNPRIVILEGED_ID)
                os.setuid(cli.UNPRIVILEGED_ID)
                status = self.owner.get("/v1/server").status
            except BaseException:  # the child must not continue with the tests
                status = 0
            os.write(writer, str(status).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            status = int(pipe.read())
        os.waitpid(child, 0)
        return status


class WithoutTokensTest(RolesTest):
    def test_requests_from_other_sites_are_refused(self):
        port = self.server.address[1]
        for host in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}",
                     "holdfast.localhost"):
            answer = self.open.get("/v1/server", headers={"Host": host})
            self.assertEqual(answer.status, 200, host)
            self.assertEqual(answer.json()["you"]["role"], "admin")
        for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example",
                     "127.0.0.1.evil.example", "10.0.0.1"):
            self.refused(403, "permission_denied",
                         self.open.get("/v1/server", headers={"Host": host}))
        for origin in ("http://localhost:3000", f"http://127.0.0.1:{port}", "https://[::1]"):
            self.assertEqual(self.open.get("/v1/server", headers={"Origin": origin}).status, 200)
        for origin in ("http://evil.example", "https://localhost.evil.example", "null", "file://",
                       "http://127.0.0.1.evil.example:80", "localhost"):
            self.refused(403, "permission_denied",
                         self.open.post("/v1/runs", {"workflow": "a"}, headers={"Origin": origin}))

    def test_with_a_token_any_host_and_origin_is_accepted(self):
        client = self.client("viewer")
        answer = client.get("/v1/server", headers={"Host": "work.example",
                                                   "Origin": "https://dashboard.example"})
        self.assertEqual(answer.status, 200)

    def test_without_tokens_the_server_does_not_listen_for_other_machines(self):
        result = cli.run("server", "--store", self.url("new.db"), "--listen", "0.0.0.0:0", "--json")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["error"]["code"], "permission_denied")

    def test_the_first_token_enables_authentication_at_once(self):
        self.assertEqual(self.open.get("/v1/runs").status, 200)
        kept = self.open.connection()
        self.addCleanup(kept.close)
        self.assertEqual(self.open.get("/v1/runs", kept=kept).status, 200)
        self.token("viewer")
        self.refused(401, "unauthenticated", self.open.get("/v1/runs", kept=kept))


class RateTest(RolesTest):
    options = ("--rate", "5")

    def test_a_client_over_its_rate_gets_retry_after(self):
        busy, calm = self.client("viewer", "busy"), self.client("viewer", "calm")
        answers = [busy.get("/v1/server") for _ in range(40)]
        limited = [answer for answer in answers if answer.status == 429]
        self.assertGreaterEqual(len(limited), 10)
        self.assertGreaterEqual(sum(answer.status == 200 for answer in answers), 5)
        for answer in limited:
            self.refused(429, "rate_limited", answer)
            self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
            self.assertIs(answer.json()["retry"], True)
        self.assertEqual(calm.get("/v1/server").status, 200)
        server.wait_until(lambda: busy.get("/v1/server").status == 200, "a turn")
        # The owner at the socket is not limited.
        self.assertEqual({self.owner.get("/v1/server").status for _ in range(20)}, {200})


if __name__ == "__main__":
    cli.main(__doc__)
