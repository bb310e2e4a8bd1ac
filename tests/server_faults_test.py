#!/usr/bin/env python3
"""A server that is stopped, killed, disconnected and slowed down: nothing acknowledged is lost,
nothing counts twice, and slow clients do not delay others.

Run as: python3 tests/server_faults_test.py path/to/holdfast
"""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import threading
import time
import uuid

from support import cli, server

CUT = (OSError, http.client.HTTPException)
WORK = {"workflow": "work", "steps": [{"name": "work"}]}
LEAVE = {"workflow": "leave", "steps": [{"name": "boss", "approval": True}]}


class Threads:
    """Threads that repeat the same work until they are stopped; join() raises the first failure."""

    def __init__(self):
        self.ending = threading.Event()
        self.threads = []
        self.failures = []

    def begin(self, work, count=1):
        def run():
            try:
                work()
            except BaseException as failure:  # shown by the test
                self.failures.append(failure)
        for _ in range(count):
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            self.threads.append(thread)

    def end(self):
        self.ending.set()
        self.join()

    def join(self):
        end = time.monotonic() + server.DEADLINE_S
        while not self.failures and any(thread.is_alive() for thread in self.threads):
            assert time.monotonic() < end, "a thread does not end"
            self.threads[-1].join(0.02)
            self.threads.sort(key=threading.Thread.is_alive)
        if self.failures:
            raise self.failures[0]


class FaultsTest(cli.CliTest):
    options = ()

    def setUp(self):
        super().setUp()
        self.store = self.url("s.db")
        self.server = server.Server(cli.program(), self.store, *self.options, log=self.path("log"))
        self.server.start()
        self.addCleanup(self.server.close)
        self.client = self.server.client()
        for definition in (WORK, LEAVE):
            self.client.good("POST", "/v1/workflows", definition)
        self.load = Threads()
        self.addCleanup(self.load.ending.set)

    def entries(self, store=None):
        return server.journal_entries(cli.program(), store or self.store)

    def started(self):
        """Ids of the runs in the journal."""
        return [entry["data"]["run_id"] for _, _, entry in self.entries()
                if entry["kind"] == "run_started"]

    def verify(self, store=None):
        self.assertIn("is intact", self.ok("journal", "verify", store or self.store))

    def begin_writers(self, count, acknowledged):
        """Writers that start runs under new ids on persistent connections until they are
        disconnected."""
        def write():
            with contextlib.closing(self.client.connection()) as kept:
                while not self.load.ending.is_set() and self.wrote(kept, acknowledged):
                    pass
        self.load.begin(write, count)

    def wrote(self, kept, acknowledged):
        """Starts a run; False when the server is unavailable."""
        run = str(uuid.uuid4())
        try:
            answer = self.client.post("/v1/runs", {"workflow": "leave", "run_id": run}, kept=kept)
        except CUT:
            return False
        if answer.status == 503:
            assert "retry-after" in answer.headers, answer
            return False
        assert answer.status == 201, answer
        acknowledged.append(run)
        return True


class DrainTest(FaultsTest):
    def test_a_stop_under_load_completes_pending_requests(self):
        acknowledged, claims = [], []
        self.begin_writers(4, acknowledged)

        def claim():
            worker = server.Worker(self.server.client(), handlers=["never"])
            claims.append(worker.claim(wait_ms=60000))
        waiting = Threads()
        waiting.begin(claim, 8)
        server.wait_until(lambda: len(acknowledged) > 100, "some load")
        server.wait_until(lambda: "holdfast_polls_waiting 8" in self.client.get("/metrics").text,
                          "the claims")
        began = time.monotonic()
        self.assertEqual(self.server.stop(), 0)
        self.assertLess(time.monotonic() - began, 40)  # no claim waited for its whole minute
        waiting.join()
        self.load.end()
        self.assertEqual(claims, [{"attempts": [], "draining": True}] * 8)
        # Every acknowledged start was executed, and every executed start was acknowledged.
        self.assertEqual(set(self.started()), set(acknowledged))
        self.verify()
        self.assertIn("stopped", self.server.logged().splitlines()[-1])

    def test_callers_that_wait_for_a_run_get_a_response(self):
        run = self.client.good("POST", "/v1/runs", {"workflow": "leave"})["run_id"]
        answers = []
        waiting = Threads()
        waiting.begin(lambda: answers.append(
            self.client.get(f"/v1/runs/{run}/outcome?wait=60000")))
        waiting.begin(lambda: answers.append(
            self.client.post("/v1/runs?wait=60000", {"workflow": "leave"})))
        server.wait_until(lambda: len(self.client.good("GET", "/v1/runs")["runs"]) == 2, "the runs")
        began = time.monotonic()
        self.assertEqual(self.server.stop(), 0)
        waiting.join()
        self.assertLess(time.monotonic() - began, 40)  # no call waited for its whole minute
        self.assertEqual([answer.json()["terminal"] for answer in answers], [False, False])

    def test_event_streams_end_in_order(self):
        events = server.Events(self.client, query={"after": "0"})
        self.addCleanup(events.close)
        events.wait_for(lambda event: event[1] == "workflow_registered")
        self.assertEqual(self.server.stop(), 0)
        self.assertTrue(events.ended.wait(server.DEADLINE_S))

    def test_interrupt_stops_like_sigterm(self):
        self.assertEqual(self.server.stop(signal.SIGINT), 0)
        self.verify()


class KillTest(FaultsTest):
    RUNS = 120

    def stubborn(self, path, body, again=None):
        """Repeats the request until it succeeds; `again` is added to repetitions."""
        end = time.monotonic() + server.DEADLINE_S
        while time.monotonic() < end:
            try:
                answer = self.client.post(path, body)
            except CUT:
                answer = None
            if answer is not None and answer.status < 300:
                return answer.json()
            assert answer is None or answer.status == 503, answer
            body = body | (again or {})
            threading.Event().wait(0.02)
        raise AssertionError("no answer")

    def begin_starters(self, runs):
        keys = iter(range(self.RUNS))
        lock = threading.Lock()

        def start():
            while True:
                with lock:
                    key = next(keys, None)
                if key is None:
                    return
                runs[key] = self.stubborn("/v1/runs", {
                    "workflow": "work", "input": {"key": key}, "idempotency_key": f"k{key}"})
        self.load.begin(start, 3)

    def begin_workers(self, counted):
        def work():
            worker = server.Worker(self.client)
            while len(counted) < self.RUNS:
                attempts = self.stubborn("/v1/work/claim", {
                    "worker": worker.identity, **worker.claim_request(max=4, wait_ms=500)},
                    {"again": True})["attempts"]
                reports = [server.proof(one, outcome="ok", result={"by": worker.identity["id"],
                                                                  "key": one["input"]["key"]})
                           for one in attempts]
                if not reports:
                    continue
                results = self.stubborn("/v1/work/report", {
                    "worker": worker.identity, "reports": reports})["results"]
                for report, result in zip(reports, results):
                    assert result["counted"], result
                    assert report["run_id"] not in counted, "counted twice"
                    counted[report["run_id"]] = report["result"]
        self.load.begin(work, 3)

    def test_nothing_that_was_acknowledged_is_lost(self):
        runs, counted = {}, {}
        self.begin_starters(runs)
        self.begin_workers(counted)
        for part in (1, 2, 3):
            server.wait_until(lambda part=part: len(counted) > part * self.RUNS // 5, "some work")
            self.server.kill()
            self.server.start()
        self.load.join()
        self.assertEqual(len({run["run_id"] for run in runs.values()}), self.RUNS)
        self.assertEqual(set(counted), {run["run_id"] for run in runs.values()})
        for key, run in runs.items():
            outcome = self.client.good("GET", f"/v1/runs/{run['run_id']}/outcome?wait=20000")
            self.assertEqual(outcome["status"], "completed")
            self.assertEqual(counted[run["run_id"]]["key"], key)
            self.assertEqual(self.client.good("GET", f"/v1/runs/{run['run_id']}")["steps"][0]
                             ["result"], counted[run["run_id"]])
        self.assertEqual(self.server.stop(), 0)
        kinds = [entry["kind"] for _, _, entry in self.entries()]
        self.assertEqual(kinds.count("run_started"), self.RUNS)
        self.assertEqual(kinds.count("attempt_completed"), self.RUNS)
        self.verify()

    def test_the_next_server_returns_the_same_claim_again(self):
        self.client.good("POST", "/v1/runs", {"workflow": "work"})
        worker = server.Worker(self.client)
        first = worker.claim(max=3)["attempts"]
        self.server.kill()
        self.server.start()
        second = self.client.good("POST", "/v1/work/claim", {
            "worker": worker.identity, "request": "1", "again": True, "handlers": ["work"],
            "max": 3, "wait_ms": 0})["attempts"]
        self.assertEqual(second, first)
        [result] = worker.report(server.proof(second[0], outcome="ok"))["results"]
        self.assertTrue(result["counted"])


class LateTest(FaultsTest):
    def test_a_report_for_an_ended_run_gets_its_verdict_with_the_next_claim(self):
        for _ in range(10):
            run = self.client.good("POST", "/v1/runs", {"workflow": "work"})["run_id"]
            worker = server.Worker(self.client)
            [late] = worker.claim()["attempts"]
            self.client.good("POST", f"/v1/runs/{run}/cancel", {})
            self.client.good("POST", "/v1/runs", {"workflow": "work"})
            answer = worker.report(server.proof(late, outcome="ok"), claim=worker.claim_request())
            [result] = answer["results"]
            self.assertFalse(result["counted"])
            self.assertEqual(result["problem"]["code"], "terminal_run")
            [next_attempt] = answer["attempts"]
            worker.report(server.proof(next_attempt, outcome="ok"))


class EventsTest(FaultsTest):
    def expected(self, entries):
        """The events that a listener must have received: all but those about access tokens."""
        return [(f"{position}.{index}", entry["thread"], entry["seq"], entry["kind"])
                for position, index, entry in entries if not entry["thread"].startswith("access:")]

    def begin_listener(self, got):
        """Follows the events of the store, and reconnects after each restart."""
        over = threading.Event()

        def listen():
            while not over.is_set():
                try:
                    events = server.Events(self.client, after=got[-1][0] if got else "0")
                except CUT:
                    over.wait(0.01)
                    continue
                if events.problem is not None:  # connected while the server was shutting down
                    assert events.problem.code == "unavailable", events.problem
                    events.close()
                    continue
                events.ended.wait(server.DEADLINE_S)
                events.close()
                got.extend((place, data["thread"], data["seq"], data["kind"])
                           for place, _, data in events.all)
        listener = Threads()
        listener.begin(listen)
        return listener, over

    def test_nothing_is_lost_or_duplicated_across_restarts(self):
        got = []
        listener, over = self.begin_listener(got)
        for end in (self.server.kill, self.server.stop, self.server.kill):
            acknowledged = []
            self.begin_writers(3, acknowledged)
            server.wait_until(lambda: len(acknowledged) > 40, "some load")
            end()
            self.load.join()  # they end with their connections
            self.server.start()
        # A listener from the start of this run shows when all earlier events were sent.
        last = self.client.good("POST", "/v1/runs", {"workflow": "leave"})["run_id"]
        check = server.Events(self.client, f"/v1/runs/{last}/events", after="0")
        check.wait_for(lambda event: event[1] == "run_started")
        server.wait_until(lambda: "holdfast_event_listeners 2" in self.client.get("/metrics").text,
                          "the listener reconnected")
        check.close()
        self.server.stop()
        over.set()
        listener.join()
        wanted = self.expected(self.entries())
        self.assertGreater(len(wanted), 500)
        self.assertEqual(len(set(got)), len(got), "an event came twice")
        # A stream may end before its last events were sent; a new stream delivers them.
        self.server.start()
        rest = server.Events(self.client, after=got[-1][0])
        server.wait_until(lambda: len(got) + len(rest.all) >= len(wanted), "the last events")
        rest.close()
        got += [(place, data["thread"], data["seq"], data["kind"]) for place, _, data in rest.all]
        self.assertEqual(got, wanted)

    def test_resumed_in_the_middle_of_a_batch(self):
        self.client.good("POST", "/v1/runs", {"workflow": "work"})
        wanted = self.expected(self.entries())
        for place in {wanted[0][0], wanted[len(wanted) // 2][0], wanted[-2][0]}:
            rest = [one[0] for one in wanted if [*map(int, one[0].split("."))] >
                    [*map(int, place.split("."))]]
            events = server.Events(self.client, after=place)
            server.wait_until(lambda: len(events.all) >= len(rest), f"all after {place}")
            events.close()
            self.assertEqual([one[0] for one in events.all], rest)

    def test_events_of_another_process_are_delivered(self):
        events = server.Events(self.client, query={"kind": "run_started"})
        self.addCleanup(events.close)
        run = self.ok("start", "leave", "--store", self.store).strip()
        events.wait_for(lambda event: event[2]["run_id"] == run)


class SlowTest(FaultsTest):
    options = ("--io-threads", "1")

    def timed(self, count):
        """How long this many calls of another client take."""
        began = time.monotonic()
        for _ in range(count):
            self.assertEqual(self.client.get("/v1/server").status, 200)
            self.assertEqual(self.client.post("/v1/runs", {"workflow": "leave"}).status, 201)
        return time.monotonic() - began

    def connected(self, request, receive_buffer=None):
        peer = socket.socket()
        self.addCleanup(peer.close)
        if receive_buffer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        peer.connect(self.server.address)
        peer.sendall(request)
        return peer

    def test_clients_that_do_not_read_do_not_delay_others(self):
        text = "x" * 100_000
        for _ in range(60):
            self.client.good("POST", "/v1/runs", {"workflow": "leave", "input": {"text": text}})
        usual = self.timed(10)
        head = b"HTTP/1.1\r\nHost: localhost\r\n"
        for _ in range(4):
            self.connected(b"GET /v1/events?after=0 " + head + b"\r\n", 4096)
            self.connected(b"GET /v1/backup " + head + b"\r\n", 4096)
        for _ in range(4):  # and clients that do not finish their request
            self.connected(b"POST /v1/runs " + head + b"Content-Length: 1000\r\n\r\n{")
            self.connected(b"GET /v1/ru")
        self.assertLess(self.timed(10), max(10 * usual, 25))
        events = server.Events(self.client, query={"after": "0"})
        self.addCleanup(events.close)
        run = self.client.good("POST", "/v1/runs", {"workflow": "leave"})["run_id"]
        events.wait_for(lambda event: event[2].get("run_id") == run)

    def test_waiting_claims_do_not_delay_others(self):
        for number in range(50):
            worker = server.Worker(self.client, handlers=["never"])
            request = {"worker": worker.identity, **worker.claim_request(wait_ms=60000)}
            body = json.dumps(request).encode()
            self.connected(b"POST /v1/work/claim HTTP/1.1\r\nHost: localhost\r\n"
                           b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" %
                           len(body) + body)
        self.assertLess(self.timed(10), 25)
        run = self.client.good("POST", "/v1/runs", {"workflow": "work"})["run_id"]
        [attempt] = server.Worker(self.client).claim()["attempts"]
        self.assertEqual(attempt["run_id"], run)


class LimitsTest(FaultsTest):
    options = ("--max-body", "20000")

    def response_to(self, request):
        """(status, problem) of the response to these bytes."""
        with socket.create_connection(self.server.address, server.DEADLINE_S) as peer:
            try:
                peer.sendall(request)
            except OSError:
                pass  # the server does not read all of it
            answer = http.client.HTTPResponse(peer)
            answer.begin()
            return answer.status, json.loads(answer.read())

    def test_bodies_that_are_too_large(self):
        large = json.dumps({"workflow": "leave", "input": {"text": "x" * 30_000}}).encode()
        status, problem = self.response_to(b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n"
                                           b"Content-Length: %d\r\n\r\n" % len(large) + large)
        self.assertEqual((status, problem["code"]), (413, "too_large"))
        status, problem = self.response_to(b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n"
                                           b"Transfer-Encoding: chunked\r\n\r\n" +
                                           b"4000\r\n" + b"x" * 0x4000 + b"\r\n" +
                                           b"4000\r\n" + b"x" * 0x4000 + b"\r\n0\r\n\r\n")
        self.assertEqual((status, problem["code"]), (413, "too_large"))
        self.assertEqual(self.client.good("GET", "/v1/runs")["runs"], [])

    def test_headers_that_are_too_large(self):
        status, problem = self.response_to(b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX-Long: " +
                                           b"x" * 40_000 + b"\r\n\r\n")
        self.assertEqual((status, problem["code"]), (431, "too_large"))

    def test_results_that_are_too_large_fail_the_step(self):
        """A limit on results, not on requests: the step fails, the worker continues."""
        self.server.stop()
        self.server.options = []
        self.server.start()
        run = self.client.good("POST", "/v1/runs", {"workflow": "work"})["run_id"]
        worker = server.Worker(self.client)
        [attempt] = worker.claim()["attempts"]
        [result] = worker.report(server.proof(attempt, outcome="ok",
                                              result="x" * (4 * 1024 * 1024 + 1)))["results"]
        self.assertTrue(result["counted"])
        outcome = self.client.good("GET", f"/v1/runs/{run}/outcome?wait=20000")
        self.assertEqual((outcome["status"], outcome["error"]["code"]),
                         ("failed", "result_too_large"))


class BackupTest(FaultsTest):
    def test_backup_while_others_write_is_the_journal_as_of_one_position(self):
        acknowledged = []
        self.begin_writers(3, acknowledged)
        server.wait_until(lambda: len(acknowledged) > 50, "some load")
        pathlib.Path(self.path("by_http.jsonl")).write_bytes(self.client.get("/v1/backup").body)
        before = len(acknowledged)
        self.ok("backup", "--server", self.server.url, "--out", "by_command.jsonl")
        server.wait_until(lambda: len(acknowledged) > before + 20, "further writes")
        self.load.end()
        self.assertEqual(self.server.stop(), 0)
        original = self.entries()
        for name in ("by_http", "by_command"):
            target = self.url(name + ".db")
            self.ok("restore", f"{name}.jsonl", "--store", target)
            self.verify(target)
            restored = self.entries(target)
            self.assertGreater(len(restored), 100)
            self.assertEqual(restored, original[:len(restored)])
            # As of one position: no batch is partial.
            self.assertNotEqual(original[len(restored)][0], restored[-1][0])
        with server.running(cli.program(), self.url("by_http.db"), log=self.path("log2")) as again:
            self.assertGreater(again.client().good("GET", "/v1/status")["runs"]["total"], 40)

    def test_a_truncated_backup_is_refused(self):
        for _ in range(20):
            self.client.good("POST", "/v1/runs", {"workflow": "leave"})
        whole = self.client.get("/v1/backup").body
        pathlib.Path(self.path("cut.jsonl")).write_bytes(whole[:whole.rindex(b"\n", 0, -1) + 1])
        result = self.run_here("restore", "cut.jsonl", "--store", self.url("cut.db"), "--json")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["error"]["code"], "invalid_export")


if __name__ == "__main__":
    cli.main(__doc__)
