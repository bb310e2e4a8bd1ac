"""A real `holdfast broker serve` for tests, and the messages that clients send to it."""

import hashlib
import json

from support import cli, server

ADMIN = "administrator-" + "0" * 32


class Broker(server.Server):
    command = ("broker", "serve")


def canonical(meta):
    """RFC 8785 for the values that these tests use: short texts and small integers."""
    return json.dumps(meta, sort_keys=True, separators=(",", ":")) if meta else ""


def fingerprint(kind, ref, body, reply="", priority="next", meta=None, version=1):
    """As docs/guide/messages.md describes it."""
    parts = [str(version), kind, ref, reply, priority, canonical(meta),
             hashlib.sha256(body.encode()).hexdigest()]
    return hashlib.sha256(b"\0".join(part.encode() for part in parts)).hexdigest()


def message(client_id, body="hello", kind="topic", ref="alerts", mesh="team", **more):
    """A request of POST /v1/messages."""
    priority, meta = more.get("priority", "next"), more.get("meta")
    reply = more.get("reply_to_id", "")
    return {"mesh": mesh, "client_message_id": client_id, "envelope_version": 1,
            "request_fingerprint": fingerprint(kind, ref, body, reply, priority, meta),
            "destination": {"kind": kind, "ref": ref}, "body": body, **more}


class BrokerTest(cli.CliTest):
    """A broker with the workspace `team`: ann and ben are subscribed to the topic alerts, cat is a
    member; inner is a closed topic of ben, jobs a queue. `other` is another workspace."""

    def setUp(self):
        super().setUp()
        self.admin_file = self.write("admin.token", ADMIN + "\n")
        self.broker = Broker(cli.program(), self.store(), *self.options(), "--admin-token-file",
                             self.path("admin.token"), log=self.path("log"))
        self.broker.start()
        self.addCleanup(self.broker.close)
        self.admin = self.broker.client(ADMIN)
        self.members = {}
        for name in ("team", "other"):
            self.admin.good("POST", "/v1/workspaces", {"name": name, **self.settings()})
        for name in ("ann", "ben", "cat"):
            self.members[name] = self.add_member("team", name)
        self.members["dan"] = self.add_member("other", "dan")
        for topic, access in (("alerts", "open"), ("inner", "closed")):
            self.admin.good("POST", "/v1/workspaces/team/topics", {"name": topic, "access": access})
        self.admin.good("POST", "/v1/workspaces/team/queues", {"name": "jobs"})
        for topic, name in (("alerts", "ann"), ("alerts", "ben"), ("inner", "ben")):
            self.admin.good("POST", f"/v1/workspaces/team/topics/{topic}/subscriptions",
                            {"member": name})

    def store(self):
        return self.url("broker.db")

    def options(self):
        return ()

    def settings(self):
        return {}

    def add_member(self, workspace, name):
        return self.admin.good("POST", f"/v1/workspaces/{workspace}/members", {"name": name})

    def client(self, name):
        return self.broker.client(self.members[name]["token"])

    def send(self, request, name="ann"):
        return self.client(name).post("/v1/messages", request)

    def rejected(self, answer, status, error):
        """A problem document with this status and the name of the rejection."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.type, "application/problem+json", answer)
        problem = answer.json()
        self.assertEqual((problem["status"], problem.get("error")), (status, error), answer)
        return problem

    def metric(self, name, labels=""):
        """The value of a metric; None if it has no such line."""
        text = self.admin.get("/metrics").text
        for line in text.splitlines():
            if line.startswith(name + labels + " "):
                return float(line.rsplit(" ", 1)[1])
        return None


def postgres_url(cluster, schema):
    return cluster.url.replace("schema=faults", "schema=" + schema)
