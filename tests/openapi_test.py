#!/usr/bin/env python3
"""schema/openapi.json describes the server: every documented operation is called on a real server,
and every request and response is checked against the document. A response member that the document
does not name is a fault.

Run as: python3 tests/openapi_test.py path/to/holdfast
"""

import json
import time

from support import cli, openapi, server

NO_RUN = "00000000-0000-7000-8000-000000000000"

WORK = {"workflow": "work", "version": "1", "output": {"done": "done"},
        "steps": [{"name": "work", "retry": {"max_attempts": 3}}]}
WORK_2 = {"workflow": "work", "version": "2", "output": {"done": "done"},
          "steps": [{"name": "work", "retry": {"max_attempts": 5}}]}
LEAVE = """workflow: leave
steps:
  - name: manager
    approval: {reason: "May {who} go?"}
    output: decision
    deadline: {within: 1h}
  - name: book
    log: "booked for {who}"
    after: manager
"""
REVIEW = """workflow: review
steps:
  - {name: look, pause: {reason: "Look at it"}}
  - {name: publish, log: "done", after: look}
"""
INVOICE = """workflow: invoice
steps:
  - name: money
    await_event: {event: paid, correlation: {path: number}, timeout: 14d}
    output: payment
"""
REPORT = """workflow: report
triggers:
  - name: nightly
    cron: {expression: "0 3 * * *", timezone: Europe/Berlin}
steps:
  - {name: write, log: "written"}
"""
JOURNEY = """workflow: journey
steps:
  - {name: flight, compensate: cancel_flight}
  - {name: hotel, after: flight, for_each: {items: nights, as: night}, output: booked}
  - {name: nap, after: hotel, wait: 1d}
"""
CARDS = """workflow: cards
steps:
  - {name: charge, retry: {max_attempts: 3, delay: 10ms}, circuit_breaker: {failures: 1}}
"""
DELIVERY = """workflow: delivery
steps:
  - {name: deliver, retry: {then: park}}
"""
PRINT = """workflow: print
steps:
  - {name: print, exec: [echo, hello], lease: 100ms}
"""
FAMILY = """workflow: family
steps:
  - {name: prepare, log: "preparing"}
  - {name: build, child: leave, after: prepare}
"""


class OpenapiTest(cli.CliTest):
    @classmethod
    def setUpClass(cls):
        cls.document = openapi.Document()

    def setUp(self):
        super().setUp()
        self.server = server.Server(cli.program(), self.url("s.db"), log=self.path("log"))
        self.server.start()
        self.addCleanup(self.server.close)
        self.client = self.server.client()
        self.called = set()

    # --- calls

    def call(self, operation_id, *, body=None, query=None, headers=None, valid=True, client=None,
             **arguments):
        """Calls the operation and checks the response, and the request if it is valid."""
        operation = self.document.operations[operation_id]
        headers = dict(headers or {})
        content_type = headers.get("Content-Type", "application/json")
        given = body.decode() if isinstance(body, bytes) else body
        named = {name: value for name, value in headers.items()
                 if name not in ("Content-Type", "Accept")}
        faults = (operation.body_faults(content_type, given) +
                  operation.parameter_faults("query", query or {}) +
                  operation.parameter_faults("header", named))
        if valid:
            self.assertEqual(faults, [], f"the request of {operation_id}")
        answer = (client or self.client).call(operation.method, operation.url(arguments), body,
                                              headers, query)
        self.assertEqual(operation.answer_faults(answer), [], f"{operation_id}: {answer}")
        if answer.status < 300:
            self.called.add(operation_id)
        return answer

    def good(self, operation_id, status=200, **more):
        answer = self.call(operation_id, **more)
        self.assertEqual(answer.status, status, answer)
        return answer.json() if answer.type == "application/json" else answer.text

    def text(self, operation_id, **more):
        """The response as plain text."""
        answer = self.call(operation_id, headers={"Accept": "text/plain"}, **more)
        self.assertEqual((answer.status, answer.type), (200, "text/plain"), answer)
        return answer.text

    def refused(self, status, code, operation_id, valid=True, **more):
        answer = self.call(operation_id, valid=valid, **more)
        self.assertEqual((answer.status, answer.code), (status, code), answer)
        self.assertEqual(answer.json()["status"], status)
        return answer.json()

    def both_forms(self, operation_id, **more):
        """The response as JSON, after a call for plain text."""
        self.assertTrue(self.text(operation_id, **more, query={"width": 60, "colour": "1"}))
        return self.good(operation_id, **more)

    def register(self, definition):
        if isinstance(definition, str):
            return self.good("register_workflow", 201, body=definition.encode(),
                             headers={"Content-Type": "application/yaml"})
        return self.good("register_workflow", 201, body=definition)

    def start(self, workflow, given=None, **more):
        return self.good("start_run", 201,
                         body={"workflow": workflow, "input": given or {}, **more})["run_id"]

    def events(self, operation_id, count, query=None, **arguments):
        operation = self.document.operations[operation_id]
        self.assertEqual(operation.parameter_faults("query", query or {}), [])
        stream = server.Events(self.client, operation.url(arguments), query=query)
        self.addCleanup(stream.close)
        self.assertIsNone(stream.problem)
        self.assertEqual(operation.answer_faults(
            server.Answer(200, stream.response.getheaders(), b"")), [])
        server.wait_until(lambda: len(stream.all) >= count, f"{count} events")
        media = operation.spec["responses"]["200"]["content"]["text/event-stream"]
        for place, kind, data in stream.all:
            self.assertEqual(self.document.faults(media["x-event-data"], data, of_answer=True), [])
            self.assertEqual(place, f"{data['position']}.{data['index']}")
            self.assertEqual(kind, data["kind"])
        self.called.add(operation_id)
        return stream.all

    # --- all operations

    def test_every_operation_is_as_described(self):
        for part in (self.workflows, self.runs, self.decisions, self.work, self.parked,
                     self.circuit_breaker,
                     self.compensation, self.children, self.past, self.many, self.schedules,
                     self.store, self.streams, self.tokens):
            with self.subTest(part.__name__):
                part()
        self.assertEqual(set(self.document.operations) - self.called, set())

    def workflows(self):
        checked = self.good("register_workflow", body=WORK, query={"dry_run": "1"})
        self.assertTrue(checked["dry_run"])
        self.assertFalse(self.register(WORK)["existed"])
        self.assertTrue(self.good("register_workflow", body=WORK)["existed"])
        for definition in (LEAVE, REVIEW, INVOICE, REPORT, JOURNEY, FAMILY, PRINT):
            self.register(definition)
        self.assertEqual(len(self.both_forms("list_workflows")["workflows"]), 8)
        self.register(WORK_2)
        self.assertEqual(self.both_forms("get_workflow", workflow="work")["version"], "2")
        self.assertEqual(self.good("get_workflow", workflow="work@1")["version"], "1")
        versions = self.both_forms("list_versions", workflow="work")["versions"]
        self.assertEqual([one["version"] for one in versions], ["2", "1"])
        changes = self.good("diff_workflow", workflow="work", query={"from": "1", "to": "2"})
        self.assertIn("steps.work.retry.max_attempts", [one["path"] for one in changes["changes"]])
        self.text("diff_workflow", workflow="work", query={"from": "1"})
        self.refused(404, "unknown_workflow", "get_workflow", workflow="unknown")
        said = self.refused(400, "invalid_definition", "register_workflow",
                            body={"workflow": "bad", "steps": [{"name": "a", "wait": "never"},
                                                               {"name": "a"}]})
        self.assertGreater(len(said["errors"]), 1)
        self.refused(400, "invalid_argument", "register_workflow", valid=False, body=b"x",
                     headers={"Content-Type": "text/html"})

    def runs(self):
        run = self.start("work", {"n": 1}, idempotency_key="one", actor="ann", comment="hello",
                         search_attributes={"customer": "ann"})
        same = {"workflow": "work", "input": {"n": 1}, "idempotency_key": "one", "actor": "ann",
                "comment": "hello", "search_attributes": {"customer": "ann"}}
        self.assertEqual(self.good("start_run", body=same), {"run_id": run, "existed": True})
        del same["idempotency_key"]
        self.assertTrue(self.good("start_run", body=same,
                                  headers={"Idempotency-Key": "one"})["existed"])
        self.refused(409, "idempotency_conflict", "start_run", body={
            "workflow": "work", "input": {"n": 2}, "idempotency_key": "one"})
        self.refused(404, "unknown_workflow", "start_run", body={"workflow": "unknown"})
        said = self.refused(400, "invalid_argument", "start_run", valid=False,
                            body={"workflow": "work", "inptu": {}})
        self.assertEqual(said["field"], "inptu")
        self.refused(400, "invalid_json", "start_run", valid=False, body=b"{")
        self.refused(400, "invalid_argument", "start_run", valid=False, body=b"[]")
        self.refused(400, "invalid_argument", "start_run", valid=False,
                     body={"workflow": "work"}, query={"wait": "long"})
        self.refused(400, "invalid_argument", "start_run", valid=False,
                     body={"workflow": "work"}, query={"nonsense": "1"})
        waited = self.good("start_run", 201, query={"wait": 50},
                           body={"workflow": "leave", "input": {"who": "Ann"}})
        self.assertEqual((waited["terminal"], waited["existed"]), (False, False))
        self.client.post(f"/v1/runs/{waited['run_id']}/cancel")
        ended = self.good("start_run", 201, query={"wait": 60000}, body={"workflow": "report"})
        self.assertEqual((ended["status"], ended["terminal"]), ("completed", True))
        batch = self.good("start_runs", body={"runs": [
            {"workflow": "work", "input": {"n": 2}}, {"workflow": "unknown"}]})["results"]
        self.assertEqual([sorted(one) for one in batch], [["existed", "run_id"], ["problem"]])
        self.assertEqual(batch[1]["problem"]["code"], "unknown_workflow")
        page = self.good("list_runs", query={"workflow": "work", "limit": 1, "order": "oldest",
                                             "status": ["running", "started"],
                                             "attribute": ["customer=ann"], "since": "1h"})
        self.assertEqual([one["run_id"] for one in page["runs"]], [run])
        page = self.good("list_runs", query={"limit": 1})
        self.assertIsNotNone(page["next"])
        self.good("list_runs", query={"limit": 1, "cursor": page["next"]})
        self.both_forms("list_runs")
        self.refused(400, "invalid_argument", "list_runs", query={"cursor": "nonsense"})
        self.refused(400, "invalid_argument", "list_runs", valid=False, query={"order": "up"})
        for operation in ("get_run", "explain_run", "get_graph", "get_timeline"):
            self.both_forms(operation, run=run)
            self.good(operation, run=run[-6:])
            self.refused(404, "run_not_found", operation, run=NO_RUN)
            self.refused(400, "invalid_argument", operation, run=run, query={"at": "nonsense"})
        self.good("get_graph", run=run, query={"history": "1"})
        self.assertIn("digraph", self.text("get_graph", run=run, query={"form": "dot"}))
        self.text("get_timeline", run=run, query={"events": "1"})
        facts = self.good("get_facts", run=run, query={"limit": 2})
        self.assertEqual((len(facts["facts"]), facts["next"]), (2, 2))
        self.assertNotIn("next", self.good("get_facts", run=run, query={"from": 2}))
        self.refused(404, "run_not_found", "get_facts", run=NO_RUN)
        self.assertFalse(self.good("get_outcome", run=run)["terminal"])
        self.assertFalse(self.good("get_outcome", run=run, query={"wait": 20})["terminal"])
        self.refused(404, "run_not_found", "get_outcome", run=NO_RUN)
        self.assertEqual(self.good("set_attributes", run=run, body={
            "changes": {"customer": None, "size": 3}})["run_id"], run)
        self.assertEqual(self.good("get_run", run=run)["search_attributes"], {"size": 3})

    def decisions(self):
        run = self.start("leave", {"who": "Ann"}, idempotency_key="leave")
        waiting = self.both_forms("explain_run", run=run)
        self.assertEqual(waiting["reason"], "manual_intervention_required")
        approvals = self.good("list_approvals")["approvals"]
        self.assertIn((run, "manager", "approval"),
                      [(one["run_id"], one["step"], one["kind"]) for one in approvals])
        self.good("get_run", run=run)
        decision = {"step": "manager", "actor": "bob", "comment": "fine", "metadata": {"a": 1},
                    "idempotency_key": "yes"}
        self.assertTrue(self.good("approve_run", run=run, body=decision)["terminal"])
        self.assertTrue(self.good("approve_run", run=run, body=decision)["terminal"])
        self.refused(409, "terminal_run", "reject_run", run=run, body={"actor": "bob"})
        self.assertEqual(self.good("get_outcome", run=run)["status"], "completed")
        self.good("archive_run", run=run, body={"reason": "done"})
        self.assertEqual(self.good("get_run", run=run)["archived"]["reason"], "done")
        self.assertIn(run, [one["run_id"] for one in
                            self.good("list_runs", query={"archived": "true"})["runs"]])
        self.good("unarchive_run", run=run, body={})
        rejected = self.start("leave", {"who": "Cid"})
        self.assertIn("rejected", self.text("reject_run", run=rejected, body={"actor": "bob"}))
        self.assertEqual(self.good("get_outcome", run=rejected)["status"], "failed")
        again = self.good("replay_run", 201, run=rejected, body={"actor": "ann"})["run_id"]
        self.assertEqual(self.good("get_run", run=again)["replayed_from"], rejected)
        paused = self.start("review")
        self.assertTrue(self.good("resume_run", run=paused, body={"actor": "ann"})["terminal"])
        self.growing(self.start("review"))
        waits = self.start("invoice", {"number": "n-1"})
        self.good("get_run", run=waits)
        self.refused(400, "invalid_argument", "signal_run", valid=False, run=waits, body={})
        paid = {"event": "paid", "data": {"amount": 3}, "correlation": "n-1",
                "idempotency_key": "p-1", "actor": "bank"}
        self.assertTrue(self.good("signal_run", run=waits, body=paid)["terminal"])
        self.assertEqual(len(self.good("get_run", run=waits)["event_waits"]), 1)
        self.refused(404, "run_not_found", "cancel_run", run=NO_RUN, body={})
        self.assertTrue(self.good("cancel_run", run=again, body={
            "mode": "stop", "actor": "ann", "comment": "no"})["terminal"])

    def growing(self, run):
        more = {"mutation_id": "m", "expected_version": 0, "actor": "ann", "additions": [
            {"kind": "node", "id": "extra", "handler": "unserved", "input": {"x": 1}},
            {"kind": "node", "id": "late", "handler": "unserved", "retry": {"max_attempts": 2}},
            {"kind": "edge", "id": "e", "from": "extra", "to": "late"}]}
        self.good("mutate_graph", run=run, body=more)
        self.assertIn("has mutation m", self.text("mutate_graph", run=run, body=more))
        self.refused(409, "invalid_graph_mutation", "mutate_graph", run=run,
                     body=more | {"additions": []})
        gone = {"mutation_id": "n", "removals": [{"kind": "edge", "id": "e"},
                                                 {"kind": "node", "id": "late"}]}
        self.good("mutate_graph", run=run, body=gone)
        graph = self.good("get_graph", run=run)
        self.assertEqual(graph["graph_version"], 2)
        self.assertIn("m", [node["added_by"]["mutation_id"] for node in graph["nodes"]
                            if "added_by" in node])
        self.assertEqual(len(self.good("get_run", run=run)["graph_mutations"]), 2)
        self.good("migrate_run", run=run, body={"to": "newest", "actor": "ann"})
        self.refused(404, "unknown_workflow", "migrate_run", run=run, body={"to": "f"})
        self.good("cancel_run", run=run, body={})

    def claimed(self, handlers, count=1):
        """Claims this many attempts with a new worker; returns the worker and the attempts."""
        worker = server.Worker(self.client, handlers=handlers)
        attempts = []
        while len(attempts) < count:
            body = {"worker": worker.identity, **worker.claim_request(max=count - len(attempts),
                                                                      wait_ms=20000)}
            got = self.good("claim_work", body=body)["attempts"]
            self.assertTrue(got, "nothing to claim")
            attempts += got
        return worker, attempts

    def work(self):
        self.client.post("/v1/runs/bulk", {"action": "cancel", "filter": {"workflow": "work"}})
        run = self.start("work", {"password": "geheim"})
        worker, [attempt] = self.claimed(["work"])
        self.assertEqual((attempt["run_id"], attempt["attempt"]), (run, 1))
        self.good("get_run", run=run)
        beat = {"worker": worker.identity, "claims": [server.proof(attempt, progress={"done": 1})]}
        [kept] = self.good("heartbeat_work", body=beat)["results"]
        self.assertEqual((kept["lost"], kept["stop"]), (False, False))
        [lease] = [one for each in self.good("list_workers")["workers"] for one in each["leases"]]
        self.assertEqual(lease["progress"], {"done": 1})
        stranger = {"worker": worker.identity,
                    "claims": [server.proof(attempt) | {"token": "wrong"}]}
        [lost] = self.good("heartbeat_work", body=stranger)["results"]
        self.assertTrue(lost["lost"])
        report = {"worker": worker.identity, "reports": [
            server.proof(attempt, outcome="retry", code="busy", message="later",
                         retry_after_ms=0, details={"a": 1})]}
        self.assertEqual(self.good("report_work", body=report)["results"],
                         [{"claim_id": attempt["claim_id"], "counted": True}])
        again, [second] = self.claimed(["work"])
        self.assertEqual(second["attempt"], 2)
        body = {"worker": again.identity,
                "reports": [server.proof(second, outcome="ok", result={"done": True})],
                "claim": again.claim_request(max=5)}
        self.assertEqual(self.good("report_work", body=body)["attempts"], [])
        self.assertEqual(self.good("get_outcome", run=run)["result"], {"done": True})
        [late] = self.good("report_work", body={"worker": worker.identity, "reports": [
            server.proof(attempt, outcome="ok")]})["results"]
        self.assertEqual((late["counted"], "problem" in late), (False, True))
        self.refused(400, "invalid_argument", "claim_work", valid=False, body={
            "worker": worker.identity, "request": "x", "handlers": []})
        self.refused(400, "invalid_argument", "claim_work", valid=False, body={
            "worker": {"id": "a", "secret": "short"}, "request": "x", "handlers": ["a"]})
        self.call("report_work", valid=False, body={"worker": worker.identity, "reports": [{}]})
        nothing = {"worker": worker.identity, **worker.claim_request(wait_ms=0)}
        self.assertEqual(self.good("claim_work", body=nothing)["attempts"], [])
        for outcome, more in [("fail", {"code": "broken", "message": "it broke"}),
                              ("defer", {"reason": "early", "schedule_in_ms": 3600000}),
                              ("continue_as_new", {"input": {"n": 2}, "key": "k"})]:
            run = self.start("work")
            worker, [attempt] = self.claimed(["work"])
            self.good("report_work", body={"worker": worker.identity, "reports": [
                server.proof(attempt, outcome=outcome, **more)]})
            for operation in ("get_run", "explain_run", "get_timeline", "get_graph"):
                self.good(operation, run=run)
        ended = self.good("get_outcome", run=run)
        self.assertEqual(ended["status"], "continued")
        self.start("print")
        worker, [attempt] = self.claimed(["__exec__"])
        self.assertEqual(attempt["spec"]["exec"]["command"], ["echo", "hello"])
        self.good("heartbeat_work", body={"worker": worker.identity, "claims": [
            server.proof(attempt, progress={"half": True})]})
        _, [taken_over] = self.claimed(["__exec__"])
        self.assertEqual((taken_over["runnable_key"], taken_over["progress"]),
                         (attempt["runnable_key"], {"half": True}))
        [lost] = self.good("heartbeat_work", body={"worker": worker.identity, "claims": [
            server.proof(attempt)]})["results"]
        self.assertEqual((lost["lost"], lost["cancelled"]), (True, False))

    def compensation(self):
        traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        run = self.good("start_run", 201, headers={"traceparent": traced, "tracestate": "a=b"},
                        body={"workflow": "journey", "input": {"nights": [1, 2]}})["run_id"]
        worker, [flight] = self.claimed(["flight"])
        self.assertEqual(flight["trace"], {"traceparent": traced, "tracestate": "a=b"})
        self.good("report_work", body={"worker": worker.identity, "reports": [
            server.proof(flight, outcome="ok", result={"seat": "1A"})]})
        worker, nights = self.claimed(["hotel"], 2)
        self.assertEqual([one["item"] for one in nights], [0, 1])
        self.good("cancel_run", run=run, body={"mode": "compensate"})
        answer = self.good("heartbeat_work", body={"worker": worker.identity, "claims": [
            server.proof(nights[0])]})
        self.assertTrue(answer["results"][0]["stop"])
        self.good("report_work", body={"worker": worker.identity, "reports": [
            server.proof(one, outcome="ok") for one in nights]})
        self.good("explain_run", run=run)
        back, [undo] = self.claimed(["cancel_flight"])
        self.good("report_work", body={"worker": back.identity, "reports": [
            server.proof(undo, outcome="ok")]})
        self.assertEqual(self.good("get_outcome", run=run)["status"], "cancelled")
        self.assertIn("compensation", self.both_forms("get_run", run=run))
        self.both_forms("get_graph", run=run)
        self.both_forms("get_timeline", run=run)

    def children(self):
        parent = self.start("family", {"who": "Eve"})
        self.both_forms("explain_run", run=parent)
        self.both_forms("get_graph", run=parent)
        [child] = self.both_forms("get_run", run=parent)["children"]
        self.assertIn("parent", self.good("get_run", run=child["run_id"]))
        self.start("work")
        worker, [attempt] = self.claimed(["work"])
        body = {"worker": worker.identity, "parent": server.proof(attempt), "workflow": "review",
                "key": "a", "input": {}, "metadata": {"why": "so"}, "cancel_with_parent": True}
        run = self.good("start_child", 201, body=body)
        self.assertEqual(self.good("start_child", body=body), {**run, "existed": True})
        self.refused(404, "unknown_workflow", "start_child", body=body | {"workflow": "unknown"})
        lost = body | {"parent": body["parent"] | {"token": "wrong"}, "key": "b"}
        self.refused(409, "stale_claim", "start_child", body=lost)
        self.good("report_work", body={"worker": worker.identity, "reports": [
            server.proof(attempt, outcome="ok")]})

    def parked(self):
        self.register(DELIVERY)
        runs = [self.park() for _ in range(3)]
        self.assertEqual(self.good("get_run", run=runs[0])["status"], "parked")
        page = self.good("list_dead_letters", query={
            "queue": "default", "reason": "parked", "limit": 2})
        self.assertEqual([one["run_id"] for one in page["dead_letters"]], runs[:2])
        rest = self.good("list_dead_letters", query={"cursor": page["next"]})
        self.assertEqual([one["run_id"] for one in rest["dead_letters"]], runs[2:])
        self.assertEqual(self.good("list_dead_letters", query={"code": "other"}),
                         {"dead_letters": []})
        body = {"step": "deliver", "input": {"to": "ann"}, "actor": "ann", "comment": "moved",
                "runnable_key": f"{runs[0]}:deliver:1", "idempotency_key": "r-1"}
        self.assertFalse(self.good("retry_run", run=runs[0], body=body)["terminal"])
        self.good("retry_run", run=runs[0], body=body)
        self.refused(409, "stale_manual_resolution", "discard_run", run=runs[0],
                     body={"runnable_key": f"{runs[0]}:deliver:1"})
        self.assertTrue(self.good("discard_run", run=runs[1], body={"actor": "ann"})["terminal"])
        bulk = {"action": "redrive", "filter": {"workflow": "delivery"}}
        plan = self.good("bulk_dead_letters", body=bulk | {"dry_run": True})
        self.assertEqual((plan["matched"], plan["done"], plan["more"]), (1, 0, False))
        done = self.good("bulk_dead_letters", body=bulk | {"actor": "ann"})
        self.assertEqual([one["run_id"] for one in done["dead_letters"]], runs[2:])
        self.refused(400, "invalid_argument", "bulk_dead_letters", body={"action": "discard"})

    def circuit_breaker(self):
        self.register(CARDS)
        run = self.start("cards")
        worker, [attempt] = self.claimed(["charge"])
        self.good("report_work", body={"worker": worker.identity, "reports": [
            server.proof(attempt, outcome="retry", code="bank_down", message="no answer")]})
        (queue,) = [one for one in self.good("get_status")["queues"] if one["open_circuits"]]
        (circuit,) = queue["open_circuits"]
        self.assertEqual((circuit["workflow"], circuit["step"], circuit["failures"]),
                         ("cards", "charge", 1))
        body = {"workflow": "cards", "step": "charge", "actor": "ann", "reason": "repaired"}
        self.assertEqual(self.good("close_circuit_breaker", body=body | {"queue": "other"}),
                         {"closed": []})
        self.assertEqual(self.good("close_circuit_breaker", body=body),
                         {"closed": [queue["name"]]})
        self.assertEqual(self.good("close_circuit_breaker", body=body), {"closed": []})
        self.refused(404, "not_found", "close_circuit_breaker", body=body | {"step": "mail"})
        self.refused(404, "unknown_workflow", "close_circuit_breaker",
                     body=body | {"workflow": "unknown"})
        self.claimed(["charge"])
        self.good("cancel_run", run=run, body={})

    def park(self):
        """A run whose only step has failed for good."""
        run = self.start("delivery")
        worker, [attempt] = self.claimed(["deliver"])
        self.good("report_work", body={"worker": worker.identity, "reports": [
            server.proof(attempt, outcome="fail", code="declined", message="no address")]})
        return run

    def past(self):
        run = self.start("leave", {"who": "Dan"})
        before = self.good("get_run", run=run)["as_of"]["position"]
        self.client.post(f"/v1/runs/{run}/approve", {"actor": "ann"})
        self.assertFalse(self.good("get_run", run=run, query={"at": before})["terminal"])
        self.assertFalse(self.good("explain_run", run=run, query={"at": "r1"})["terminal"])
        changes = self.good("diff_run", run=run, query={"from": before})["changes"]
        self.assertIn("status", [one["path"] for one in changes])
        self.text("diff_run", run=run, query={"from": "r1", "to": before})
        self.good("list_runs", query={"at": before})
        self.good("get_status", query={"at": before})
        self.refused(400, "invalid_argument", "diff_run", run=run, query={"from": "nonsense"})

    def many(self):
        self.client.post("/v1/runs/bulk", {"action": "cancel", "filter": {"workflow": "work"}})
        runs = {self.start("work") for _ in range(3)}
        bulk = {"action": "cancel", "filter": {"workflow": "work", "since": "1h",
                                               "statuses": ["running", "started"]}}
        plan = self.good("bulk_runs", body=bulk | {"dry_run": True, "limit": 2})
        self.assertEqual((plan["matched"], plan["done"], plan["more"]), (2, 0, True))
        done = self.good("bulk_runs", body=bulk | {"actor": "ann", "comment": "all"})
        self.assertEqual({one["run_id"] for one in done["runs"]}, runs)
        retry = {"action": "retry", "filter": {"workflow": "work", "statuses": ["cancelled"]},
                 "limit": 1, "key": "k"}
        [first] = self.good("bulk_runs", body=retry)["runs"]
        self.assertEqual(self.good("bulk_runs", body=retry)["runs"], [first])
        self.refused(400, "invalid_argument", "bulk_runs", valid=False,
                     body={"action": "cancel", "limit": 0})
        self.call("bulk_runs", valid=False, body={"action": "explode"})

    def schedules(self):
        [one] = self.good("list_schedules", query={"next": 3})["schedules"]
        self.assertEqual((one["trigger"], len(one["next"]), one["paused"]), ("nightly", 3, False))
        place = {"workflow": "report", "trigger": "nightly"}
        self.assertTrue(self.good("pause_schedule", **place, body={"actor": "ann"})["paused"])
        [one] = self.good("list_schedules")["schedules"]
        self.assertEqual((one["paused_by"], one["next"]), ("ann", []))
        self.assertFalse(self.good("resume_schedule", **place, body={})["paused"])
        body = {"actor": "ann", "comment": "now", "idempotency_key": "t-1"}
        run = self.good("trigger_schedule", 201, **place, body=body)["run_id"]
        self.assertEqual(self.good("trigger_schedule", **place, body=body),
                         {"run_id": run, "existed": True})
        self.refused(404, "not_found", "pause_schedule", workflow="report", trigger="never",
                     body={})
        self.deliver(place)
        self.refused(400, "invalid_argument", "list_schedules", valid=False, query={"next": 101})

    def deliver(self, place):
        body = {"actor": "k8s", "intended_window": {"start_at": "2026-11-16T02:30:00+01:00",
                                                    "end_at": "2026-11-17T01:30:00Z"}}
        first = self.good("deliver_schedule", 201, **place, body=body)
        self.assertEqual(first["result"], "started")
        body["intended_window"]["start_at"] = "2026-11-16T01:30:00Z"
        self.assertEqual(self.good("deliver_schedule", **place, body=body),
                         {"result": "existing", "run_id": first["run_id"]})
        schedule = self.good("get_run", run=first["run_id"])["context"]["schedule"]
        self.assertEqual(schedule["intended_window"], {"start_at": "2026-11-16T01:30:00.000Z",
                                                       "end_at": "2026-11-17T01:30:00.000Z"})
        self.refused(409, "idempotency_conflict", "deliver_schedule", **place,
                     body=body | {"signal_id": schedule["signal_id"], "intended_window": {
                         "start_at": "2026-11-16T01:30:00Z", "end_at": "2026-11-18T01:30:00Z"}})
        self.refused(400, "invalid_argument", "deliver_schedule", **place, body={})
        self.refused(400, "invalid_argument", "deliver_schedule", **place,
                     body={"intended_window": {"start_at": "soon", "end_at": "later"}})
        self.refused(400, "invalid_trigger", "deliver_schedule", workflow="report",
                     trigger="never", body=body)

    def store(self):
        self.start("work")
        self.assertGreater(self.both_forms("get_status")["runs"]["total"], 5)
        self.both_forms("get_doctor")
        self.assertIn(self.call("get_doctor").headers["holdfast-verdict"], ("good", "fault"))
        queues = self.good("list_queues")["queues"]
        self.assertIn("default", [one["name"] for one in queues])
        self.assertGreater(self.good("get_queue", queue="default")["visible"], 0)
        self.refused(404, "not_found", "get_queue", queue="unknown")
        self.good("list_workers")
        self.assertEqual(self.good("get_health"), {"status": "ok"})
        self.assertEqual(self.good("get_readiness"), {"ready": True})
        metrics = self.good("get_metrics")
        for name in ("holdfast_runs_live", "holdfast_commit_seconds_bucket",
                     "holdfast_http_requests_total"):
            self.assertRegex(metrics, rf"(?m)^{name}[ {{]")
        for line in metrics.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [-+0-9.e]+)$")
        self.assertEqual(self.good("get_server")["you"], {"name": "", "role": "admin"})
        self.assertTrue(self.good("get_openapi") == self.document.json,
                        "the server's document differs from schema/openapi.json")

    def streams(self):
        self.events("stream_events", 20, query={"after": "0"})
        run = self.start("leave", {"who": "Flo"})
        seen = self.events("stream_run_events", 3, query={"after": "0"}, run=run)
        self.assertEqual({one["run_id"] for _, _, one in seen}, {run})
        kinds = self.events("stream_events", 1, query={
            "after": "0", "kind": ["run_terminal"], "workflow": ["leave"], "thread": "run:"})
        self.assertEqual({kind for _, kind, _ in kinds}, {"run_terminal"})
        self.refused(400, "invalid_argument", "stream_events", query={"after": "999999999"})
        self.refused(400, "invalid_argument", "stream_events", valid=False,
                     query={"after": "yesterday"})
        self.refused(404, "run_not_found", "stream_run_events", run="latest-but-one")

    def tokens(self):
        """Runs last: from here on a token is required."""
        made = self.good("create_token", 201, body={"name": "root", "role": "admin"})
        self.refused(401, "unauthenticated", "list_tokens")
        self.client = self.server.client(made["token"])
        more = self.good("create_token", 201, body={
            "name": "w", "role": "worker", "queues": ["default"],
            "expires_at": int(time.time() * 1000) + 3600_000})
        self.refused(409, "already_exists", "create_token", body={"name": "w", "role": "viewer"})
        self.refused(400, "invalid_argument", "create_token",
                     body={"name": "x", "role": "admin", "workflows": ["work"]})
        self.refused(403, "permission_denied", "list_runs",
                     client=self.server.client(more["token"]))
        self.assertTrue(self.good("revoke_token", token=more["id"])["revoked"])
        self.good("revoke_token", token=more["id"])
        self.refused(404, "not_found", "revoke_token", token="unknown")
        tokens = self.good("list_tokens")["tokens"]
        self.assertEqual([one["valid"] for one in sorted(tokens, key=lambda one: one["name"])],
                         [True, False])
        self.assertEqual(self.good("get_server")["you"], {"name": "root", "role": "admin"})
        answer = self.call("get_backup")
        self.called.add("get_backup")
        for line in answer.text.splitlines():
            json.loads(line)


if __name__ == "__main__":
    cli.main(__doc__)
