#!/usr/bin/env python3
"""schema/openapi.json itself: it is valid and complete, and the server refuses every request that
the document does not allow. It is generated from the list of operations that the server routes by.

Run as: python3 tests/openapi_document_test.py path/to/holdfast
"""

import copy
import json
import re

from support import cli, openapi, server

NO_RUN = "00000000-0000-7000-8000-000000000000"

# Members of requests that their examples do not have.
NOTED = {"actor": "ann", "comment": "hello"}
DECISION = NOTED | {"metadata": {"a": 1}, "idempotency_key": "k"}
RULE = {"max_attempts": 2, "delay_ms": 1, "max_delay_ms": 2, "backoff": "fixed",
        "jitter_percent": 1}
MORE = {
    "start_run": NOTED | {"queue": "q", "trigger": "manual", "search_attributes": {"a": 1}},
    "bulk_runs": NOTED | {"limit": 5, "mode": "stop", "allow_irreversible": True, "key": "k"},
    "cancel_run": {"idempotency_key": "k"},
    "signal_run": {"actor": "ann", "idempotency_key": "k"},
    "resume_run": DECISION, "approve_run": DECISION, "reject_run": DECISION,
    "replay_run": NOTED | {"input": {"n": 1}, "allow_irreversible": True, "run_id": NO_RUN,
                           "definition": "newest"},
    "migrate_run": NOTED,
    "mutate_graph": NOTED | {
        "additions": [{"kind": "node", "id": "a", "handler": "h", "input": {}, "queue": "q",
                       "from": "b", "to": "c", "retry": RULE | {"codes": [{"code": "c"} | RULE]}}],
        "removals": [{"kind": "edge", "id": "e"}]},
    "trigger_schedule": NOTED | {"input": {"n": 1}, "idempotency_key": "k"},
    "deliver_schedule": NOTED | {"signal_id": "s"},
    "claim_work": {"again": False, "wait_ms": 0},
    "report_work": {"reports": [
        {"run_id": NO_RUN, "runnable_key": "a", "claim_id": "b", "token": "c", "outcome": "retry",
         "result": {}, "code": "busy", "message": "later", "reason": "early", "key": "k",
         "input": {}, "details": {}, "graph": {}, "schedule_in_ms": 1, "retry_after_ms": 1}]},
    "start_child": {"queue": "q", "trigger": "t", "metadata": {"a": 1},
                    "cancel_with_parent": True},
    "create_token": {"expires_at": 4102444800000},
}


class DocumentTest(cli.CliTest):

    @classmethod
    def setUpClass(cls):
        cls.document = openapi.Document()

    def running(self):
        one = server.Server(cli.program(), self.url(), log=self.path("log"))
        self.addCleanup(one.close)
        return one.start()

    def schemas(self):
        """(location, schema) of every object in the document."""
        waiting = [("", self.document.json)]
        while waiting:
            place, part = waiting.pop()
            if isinstance(part, list):
                waiting += [(f"{place}/{i}", one) for i, one in enumerate(part)]
            elif isinstance(part, dict):
                if part.get("type") == "object" and "properties" in part:
                    yield place, part
                waiting += [(f"{place}/{name}", one) for name, one in part.items()
                            if name != "example"]

    def test_schemas_are_valid_and_examples_match(self):
        root = {"components": self.document.json["components"]}
        openapi.jsonschema.Draft202012Validator.check_schema(
            {"$defs": root["components"]["schemas"]})
        count = 0
        for operation in self.document.operations.values():
            contents = [operation.spec.get("requestBody", {"content": {}})["content"]]
            contents += [self.document.resolved(one)["content"]
                         for one in operation.spec["responses"].values()]
            for media in (one for content in contents for one in content.values()):
                if "example" in media:
                    count += 1
                    self.assertEqual(self.document.faults(media["schema"], media["example"],
                                                          of_answer=True), [], operation.id)
        self.assertGreater(count, 60)

    def test_everything_is_described_and_used(self):
        for place, schema in self.schemas():
            self.assertTrue(schema.get("description"), place)
            self.assertEqual(set(schema.get("required", [])) - set(schema["properties"]), set())
            for name, member in schema["properties"].items():
                self.assertTrue(member.get("description") or "$ref" in member, f"{place}/{name}")
        for operation in self.document.operations.values():
            self.assertTrue(operation.spec["summary"] and operation.spec["description"])
            self.assertEqual(set(re.findall(r"{(\w+)}", operation.path)),
                             {one["name"] for one in operation.parameters if one["in"] == "path"})
        for kind in ("schemas", "parameters", "responses"):
            for name in self.document.json["components"][kind]:
                self.assertIn(f'"#/components/{kind}/{name}"', self.document.text)

    def test_requests_are_closed(self):
        """The document, like the server, refuses unknown members in requests."""
        for operation in self.document.operations.values():
            body = operation.spec.get("requestBody", {"content": {}})["content"]
            if operation.id != "register_workflow" and "application/json" in body:
                schema = self.document.resolved(body["application/json"]["schema"])
                self.assertIs(schema["additionalProperties"], False, operation.id)

    def test_the_document_can_be_embedded_in_the_program(self):
        self.assertNotIn(')openapi"', self.document.text)
        self.assertIsNone(re.search(r"@[\w./+-]+@", self.document.text))
        self.assertEqual(self.document.text,
                         json.dumps(self.document.json, indent=2, ensure_ascii=False) + "\n")

    def test_the_server_has_no_undocumented_routes(self):
        client = self.running().client()
        for path in ("/", "/v1", "/v2/runs", "/v1/runs/x/nonsense", "/v1/nonsense",
                     "/v1//runs", "/v1/runs//facts", "/v1/queues/a/b", "/openapi.json/x"):
            answer = client.get(path)
            self.assertEqual((answer.status, answer.code), (404, "not_found"), path)
        for path in self.document.json["paths"]:
            real = re.sub(r"{\w+}", "x", path)
            methods = self.methods_at(real)
            for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - methods:
                answer = client.call(method, real)
                self.assertEqual((answer.status, answer.code), (405, "invalid_argument"),
                                 (method, path))
                self.assertEqual(set(answer.headers["allow"].split(", ")), methods)
                self.assertEqual(answer.json()["status"], 405)

    def methods_at(self, real):
        """/v1/runs/batch also matches the route of a run named batch."""
        return {operation.method for operation in self.document.operations.values()
                if re.fullmatch(re.sub(r"{\w+}", "[^/]+", operation.path), real)}

    def test_the_server_refuses_what_the_document_refuses(self):
        """Each member of each request with each type that it must not have. Only a member that may
        be any JSON value may be null."""
        wrong = [None, True, -1, 1.5, "", "x", [], [1], {}]
        tried = 0
        client = self.running().client()
        client.token = client.good("POST", "/v1/tokens", {"name": "a", "role": "admin"})["token"]
        for operation in self.document.operations.values():
            media = operation.spec.get("requestBody", {"content": {}})["content"]
            # Each start of a batch is refused separately.
            if "application/json" not in media or operation.id in ("register_workflow",
                                                                   "start_runs"):
                continue
            sound = media["application/json"]["example"] | MORE.get(operation.id, {})
            arguments = {name: NO_RUN for name in re.findall(r"{(\w+)}", operation.path)}
            self.assertEqual(operation.body_faults("application/json", sound), [], operation.id)
            self.assertNotEqual(client.call(operation.method, operation.url(arguments),
                                            sound).status, 400, operation.id)
            bodies = [self.changed(sound, path, value) for path in self.members(sound)
                      for value in wrong]
            bodies += [self.changed(sound, (*path, "nonsense"), 1)
                       for path in [(), *self.members(sound)] if self.is_object(sound, path)]
            for body in bodies:
                if operation.body_faults("application/json", body):
                    tried += 1
                    answer = client.call(operation.method, operation.url(arguments), body)
                    self.assertEqual((answer.status, answer.type),
                                     (400, "application/problem+json"), (operation.id, body))
                    self.assertEqual(operation.answer_faults(answer), [], operation.id)
        self.assertGreater(tried, 500)

    def test_query_parameters_are_those_of_the_document(self):
        """Unknown parameters and invalid values are refused. No stream is opened."""
        client = self.running().client()
        for operation in self.document.operations.values():
            if operation.spec.get("security") == []:
                continue  # open to all callers, and without arguments
            media = operation.spec.get("requestBody", {"content": {}})["content"]
            body = media["application/json"]["example"] if media else None
            arguments = {name: NO_RUN for name in re.findall(r"{(\w+)}", operation.path)}
            wrong = [("nonsense", "1")] + [
                (one["name"], value) for one in operation.parameters if one["in"] == "query"
                for value in ("-1", "x", "99999999999999999999", "1.5")
                if operation.parameter_faults("query", {one["name"]: value})]
            for name, value in wrong:
                answer = client.call(operation.method, operation.url(arguments), body,
                                     query={name: value})
                self.assertEqual((answer.status, answer.code), (400, "invalid_argument"),
                                 (operation.id, name, value))
                self.assertEqual(answer.json()["field"], name)

    @staticmethod
    def is_object(body, path):
        for name in path:
            body = body[name]
        return isinstance(body, dict)

    def members(self, value, path=()):
        """The paths of all members and items."""
        if isinstance(value, (dict, list)):
            for name, inner in (value.items() if isinstance(value, dict) else enumerate(value)):
                yield (*path, name)
                yield from self.members(inner, (*path, name))

    @staticmethod
    def changed(body, path, value):
        body = copy.deepcopy(body)
        place = body
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        return body


if __name__ == "__main__":
    cli.main(__doc__)
