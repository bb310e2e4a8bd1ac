#!/usr/bin/env python3
"""Malformed requests that could be mistaken for valid ones: filters, keys and limits of the wrong
type, null, empty. Each is refused with the name of the field, and nothing happens.

Run as: python3 tests/server_requests_test.py path/to/holdfast
"""

from support import cli, server


class RequestsTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.server = server.Server(cli.program(), self.url("s.db"), log=self.path("log"))
        self.server.start()
        self.addCleanup(self.server.close)
        self.client = self.server.client()
        for name in ("a", "b"):
            self.client.good("POST", "/v1/workflows", {"workflow": name, "steps": [
                {"name": "work"}]})
        self.runs = [self.start("a"), self.start("b")]

    def start(self, workflow, **more):
        return self.client.good("POST", "/v1/runs", {"workflow": workflow, **more})["run_id"]

    def refused(self, answer, field):
        self.assertEqual((answer.status, answer.code, answer.json()["field"]),
                         (400, "invalid_argument", field), answer)
        self.assertFalse(answer.json()["retry"])

    def ended(self):
        listed = self.client.good("GET", "/v1/runs", query={"status": "cancelled"})["runs"]
        return {one["run_id"] for one in listed}

    # --- bulk operations

    def test_malformed_filter_never_selects_every_run(self):
        filters = {
            "filter": [None, "a", [], ["a"], 7, True],
            "filter.workflow": [{"workflow": value} for value in ("", None, 7, ["a"], {})],
            "filter.statuses": [{"workflow": "a", "statuses": value}
                                for value in ("running", [], None, [None], [""], {"a": 1})],
            "filter.since": [{"since": value} for value in ("", None, 10, ["10m"])],
            "filter.until": [{"until": value} for value in ("", None, 10)],
            "filter.attributes": [{"attributes": value}
                                  for value in ("a=b", ["a=b"], None, 1, True)],
            "filter.worflow": [{"worflow": "a"}],
        }
        for action in ("cancel", "retry"):
            for field, values in filters.items():
                for value in values:
                    with self.subTest(action=action, filter=value):
                        self.refused(self.client.post("/v1/runs/bulk", {
                            "action": action, "filter": value}), field)
                        # Not even with explicit permission for all runs.
                        self.refused(self.client.post("/v1/runs/bulk", {
                            "action": action, "filter": value, "all": True}), field)
        for field, value in (("attributes", {"attributes": {}}), ("since", {"since": "soon"}),
                             ("status", {"statuses": ["done"]})):
            self.refused(self.client.post("/v1/runs/bulk", {"action": "cancel", "filter": value}),
                         field)
        self.assertEqual(self.ended(), set())

    def test_empty_filter_needs_confirmation(self):
        for body in ({}, {"filter": {}}, {"all": False}, {"filter": {}, "all": False},
                     {"dry_run": True}):
            with self.subTest(body=body):
                self.refused(self.client.post("/v1/runs/bulk", {"action": "cancel", **body}),
                             "filter")
        for wrong in (None, "true", 1):
            self.refused(self.client.post("/v1/runs/bulk", {"action": "cancel", "all": wrong}),
                         "all")
        self.refused(self.client.post("/v1/runs/bulk", {
            "action": "cancel", "all": True, "filter": {"workflow": "a"}}), "all")
        self.assertEqual(self.ended(), set())
        one = self.client.good("POST", "/v1/runs/bulk", {
            "action": "cancel", "filter": {"workflow": "a"}})
        self.assertEqual([run["run_id"] for run in one["runs"]], self.runs[:1])
        rest = self.client.good("POST", "/v1/runs/bulk", {"action": "cancel", "all": True})
        self.assertEqual([run["run_id"] for run in rest["runs"]], self.runs[1:])
        self.assertEqual(self.ended(), set(self.runs))

    def test_other_members_of_bulk(self):
        base = {"action": "cancel", "filter": {"workflow": "a"}}
        for field, values in {"limit": [None, "5", -1, 1.5, 0, 1001], "mode": [None, "", "kill", 1],
                              "dry_run": [None, "yes", 1, ""], "key": [None, "", 1],
                              "allow_irreversible": [None, 1]}.items():
            for value in values:
                with self.subTest(field=field, value=value):
                    self.refused(self.client.post("/v1/runs/bulk", base | {field: value}), field)
        self.assertEqual(self.ended(), set())

    # --- other operations

    def test_empty_or_null_is_not_a_default(self):
        run = self.runs[0]
        cases = [
            ("/v1/runs", {"workflow": "a"},
             ["run_id", "idempotency_key", "queue", "trigger", "input", "search_attributes"]),
            (f"/v1/runs/{run}/replay", {}, ["from_step", "run_id", "input"]),
            (f"/v1/runs/{run}/cancel", {}, ["idempotency_key", "mode"]),
            (f"/v1/runs/{run}/signal", {"event": "e"}, ["correlation", "idempotency_key", "data"]),
            (f"/v1/runs/{run}/approve", {}, ["step", "idempotency_key", "metadata"]),
            ("/v1/tokens", {"name": "t", "role": "viewer"}, ["workflows", "expires_at"]),
            ("/v1/tokens", {"name": "t", "role": "worker"}, ["queues"]),
        ]
        for path, base, fields in cases:
            for field in fields:
                for value in ("", None):
                    with self.subTest(path=path, field=field, value=value):
                        self.refused(self.client.post(path, base | {field: value}), field)
        for field in ("workflows", "queues"):
            for value in ([], [""], "a", {}):
                with self.subTest(field=field, value=value):
                    self.refused(self.client.post("/v1/tokens", {
                        "name": "t", "role": "operator", field: value}), field)
        self.assertEqual(self.client.good("GET", "/v1/tokens"), {"tokens": []})
        self.assertEqual(len(self.client.good("GET", "/v1/runs")["runs"]), 2)
        batch = self.client.good("POST", "/v1/runs/batch", {"runs": [
            {"workflow": "a", "idempotency_key": ""}, {"workflow": "a", "input": None}, None]})
        self.assertEqual([one["problem"]["code"] for one in batch["results"]],
                         ["invalid_argument"] * 3)

    def test_empty_idempotency_header_is_refused(self):
        for key in ("", " "):
            self.refused(self.client.post("/v1/runs", {"workflow": "a"},
                                          headers={"Idempotency-Key": key}), "idempotency_key")
        self.refused(self.client.post("/v1/runs", {"workflow": "a", "idempotency_key": "x"},
                                      headers={"Idempotency-Key": "y"}), "idempotency_key")
        self.assertEqual(len(self.client.good("GET", "/v1/runs")["runs"]), 2)

    def test_query_parameters_without_a_value(self):
        for name in ("workflow", "status", "since", "until", "attribute", "limit", "cursor",
                     "order", "archived", "at"):
            with self.subTest(name=name):
                self.refused(self.client.get(f"/v1/runs?{name}="), name)
                self.refused(self.client.get(f"/v1/runs?{name}"), name)
        self.refused(self.client.get("/v1/runs?workflow=a&workflow=b"), "workflow")
        self.refused(self.client.get("/v1/runs?attribute=a"), "attribute")
        self.refused(self.client.get("/v1/runs?attribute=%3Db"), "attribute")
        both = self.client.good("GET", "/v1/runs?status=running&status=started")["runs"]
        self.assertEqual(len(both), 2)
        self.refused(self.client.get("/v1/events?workflow="), "workflow")
        self.refused(self.client.get(f"/v1/runs/{self.runs[0]}/facts?from="), "from")


if __name__ == "__main__":
    cli.main(__doc__)
