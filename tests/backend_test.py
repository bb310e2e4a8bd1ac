#!/usr/bin/env python3
"""A queue that Redis carries to its workers: `holdfast worker --backend`, a script, outages of
Redis, and what `explain` and `/readyz` report.

Run as: python3 tests/backend_test.py path/to/holdfast
"""

import json
import pathlib
import subprocess
import sys

from support import cli, redis, server

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples/redis-worker/worker.py"
ORDER = {"workflow": "order", "steps": [
    {"name": "greet", "queue": "remote", "lease_ms": 2000},
    {"name": "print", "exec": ["sh", "-c", "cat"], "queue": "remote", "after": ["greet"]}]}


class BackendTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.redis = redis.Redis().start()
        self.addCleanup(self.redis.close)
        self.server = self.new_server()

    def new_server(self, token=None):
        one = server.Server(cli.program(), self.url("s.db"), "--work", 1, "--backend",
                            f"remote={self.redis.url}?redeliver_ms=500",
                            log=self.path("server.log"))
        self.addCleanup(one.close)
        one.start()
        self.client = one.client(token)
        self.client.good("POST", "/v1/workflows", ORDER)
        return one

    def begin(self, *command):
        log = open(self.path("worker.log"), "ab")
        with log:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, env=cli.environment(),
                                       preexec_fn=redis.die_with_the_test)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process

    def start(self, **payload):
        return self.client.good("POST", "/v1/runs",
                                {"workflow": "order", "input": payload})["run_id"]

    def outcome(self, run):
        def ended():
            found = self.client.good("GET", f"/v1/runs/{run}/outcome?wait=1000")
            return found if found["terminal"] else None
        return server.wait_until(ended, "the run ends")

    def backend_of(self, queue):
        listed = {one["name"]: one for one in self.client.good("GET", "/v1/queues")["queues"]}
        alone = self.client.good("GET", f"/v1/queues/{queue}")
        # Ages and the next attempt to connect differ: one request is later.
        self.assertIn("reachable", listed[queue]["backend"])
        return alone["backend"]

    def counts(self):
        answer = self.client.get("/readyz")
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json()["backends"]

    def queues_text(self):
        return self.ok("queues", "--server", self.server.url)

    def explanation(self, run):
        return self.client.good("GET", f"/v1/runs/{run}/explain")

    def backend_worker(self, *options):
        handlers = pathlib.Path(self.path("handlers.yaml"))
        handlers.write_text(json.dumps({"handlers": {
            "greet": {"exec": ["sh", "-c", 'echo "{\\"by\\": \\"program\\"}"']}}}))
        return self.begin(cli.program(), "worker", "--backend", self.redis.url, "--queue", "remote",
                          "--handlers", handlers, *options)

    def test_a_worker_that_knows_only_redis_executes_a_run(self):
        self.backend_worker("--name", "carrier")
        done = self.outcome(self.start(name="ann"))
        self.assertEqual(done["status"], "completed", done)
        self.assertEqual(done["result"]["by"], "program")

    def test_a_short_script_is_a_worker(self):
        self.begin(sys.executable, EXAMPLE, self.redis.path, "remote")
        run = self.start(name="ann")
        self.backend_worker("--name", "carrier")
        done = self.outcome(run)
        self.assertEqual(done["status"], "completed", done)

    def test_explain_shows_where_a_step_is(self):
        run = self.start(name="ann")

        def item():
            backends = self.explanation(run).get("backends", [])
            return backends[0]["items"][0] if backends and backends[0]["items"] else None
        found = server.wait_until(lambda: (item() or {}).get("state") == "enqueued" and item(),
                                  "the step is enqueued")
        self.assertEqual(found["step"], "greet")
        text = self.client.get(f"/v1/runs/{run}/explain",
                               headers={"Accept": "text/plain"}).text
        self.assertIn("enqueued in", text)
        client = self.redis.client()
        keys = "holdfast:{remote}:"
        _, entries = client("XREADGROUP", "GROUP", "workers", "slow", "COUNT", 1, "BLOCK", 5000,
                            "STREAMS", keys + "ready", ">")[0]
        client("XADD", keys + "signals", "*", "kind", "claim", "id", entries[0][1][1], "worker",
               "slow", "claim", "c1", "token", "t1")
        self.assertEqual(json.loads(client("BLPOP", keys + "answer:c1", 10)[1])["verdict"],
                         "granted")
        self.assertEqual(server.wait_until(
            lambda: (item() or {}).get("state") == "delivered" and item(), "it is delivered")
            ["worker"], "slow")
        client("XADD", keys + "signals", "*", "kind", "fail", "id", entries[0][1][1], "worker",
               "slow", "claim", "c1", "token", "t1", "body", '{"code": "declined"}')
        self.assertEqual(self.outcome(run)["status"], "failed")
        client.close()

    def test_an_outage_of_redis_is_reported_and_loses_nothing(self):
        self.assertTrue(self.backend_of("remote")["reachable"])
        self.assertEqual(self.counts(), {"bound": 1, "unreachable": 0})
        self.assertIn("carried by a lease backend", self.queues_text())
        self.redis.kill()
        run = self.start(name="ann")

        def unreachable():
            state = self.backend_of("remote")
            return state if not state["reachable"] else None
        state = server.wait_until(unreachable, "the outage is reported")
        self.assertGreater(state["next_try_at"], state["unreachable_since"] - 1)
        self.assertEqual(self.counts(), {"bound": 1, "unreachable": 1})
        self.assertIn("its lease backend failed", self.queues_text())
        self.redis.start()
        self.backend_worker()
        self.assertEqual(self.outcome(run)["status"], "completed")
        server.wait_until(lambda: self.counts()["unreachable"] == 0,
                          "the backend is reachable again")

    def test_readiness_names_no_queue(self):
        self.server.close()
        token = self.ok_json("token", "create", "--role", "admin", "--name", "root", "--store",
                             self.url("s.db"))["token"]
        self.server = self.new_server(token=token)
        anonymous = self.server.client()
        self.assertEqual(anonymous.get("/readyz").json(),
                         {"ready": True, "backends": {"bound": 1, "unreachable": 0}})
        for path in ("/v1/queues", "/v1/queues/remote"):
            self.assertEqual(anonymous.get(path).status, 401)
        self.assertTrue(self.backend_of("remote")["reachable"])

    def test_bindings_are_checked(self):
        for option, said in (("remote", "QUEUE=URL"), ("remote=http://x", "redis://"),
                             ("remote=redis://x?lease=1", "unknown parameter"),
                             ("a b=redis://x", "queue")):
            self.fails(2, "server", "--store", self.url("t.db"), "--backend", option, says=said)
        self.fails(2, "worker", "--backend", self.redis.url, says="--queue")


if __name__ == "__main__":
    cli.main(__doc__)
