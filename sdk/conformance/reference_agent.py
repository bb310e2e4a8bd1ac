#!/usr/bin/env python3
"""An agent for driver.py that makes every call to the server by hand. It documents both protocols,
that of the driver (README.md) and that of workers (docs/http-api.md); it is not a client library.

Run by driver.py as: reference_agent.py --server URL [--token TOKEN]
"""

import argparse
import http.client
import json
import os
import queue
import random
import signal
import socket
import sys
import threading
import time
import urllib.parse

PATIENCE_S = 30      # how long a call is repeated
CLAIM_WAIT_MS = 20_000
ANSWER_TIMEOUT_S = 70
SAYING = threading.Lock()


def say(event, **members):
    """Writes one line for the driver."""
    with SAYING:
        print(json.dumps({"event": event, **members}), flush=True)


class Problem(Exception):
    """A refusal that the same request would receive again."""

    def __init__(self, status, body):
        super().__init__(body.get("detail", ""))
        self.status = status
        self.code = body.get("code", "unknown")


class GaveUp(Exception):
    """There was no response within the patience of the caller."""


class Connection:
    """To one server. Calls are repeated until there is a definite response."""

    def __init__(self, url, token):
        self.address = urllib.parse.urlsplit(url)
        self.token = token
        self.local = threading.local()

    def _open(self):
        if getattr(self.local, "http", None) is None:
            self.local.http = http.client.HTTPConnection(
                self.address.hostname, self.address.port, timeout=ANSWER_TIMEOUT_S)
        return self.local.http

    def _drop(self):
        if getattr(self.local, "http", None) is not None:
            self.local.http.close()
        self.local.http = None

    def once(self, method, path, body=None, opened=None):
        """(status, headers, JSON). Raises OSError or HTTPException if there is no response."""
        connection = self._open()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if connection.sock is None:
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if opened is not None:
            opened(connection.sock)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, json.loads(answer.read() or b"{}")

    def call(self, method, path, body=None, again=None, patience_s=PATIENCE_S, opened=None):
        """again: returns members to add to the body of a repetition."""
        end = time.monotonic() + patience_s
        pause_s = 0.05
        while True:
            wait_s = pause_s * random.uniform(0.5, 1)
            try:
                status, headers, answer = self.once(method, path, body, opened)
                if status < 300:
                    return answer
                if status not in (429, 503):
                    raise Problem(status, answer)
                wait_s = max(wait_s, float(headers.get("Retry-After") or 0))
            except (OSError, http.client.HTTPException, ValueError):
                self._drop()  # the response is lost, or there was none
            if time.monotonic() + wait_s > end:
                raise GaveUp(f"{method} {path}: no response")
            threading.Event().wait(wait_s)
            pause_s = min(2 * pause_s, 2)
            if again is not None:
                body = body | again()


class Attempt:
    """A step that this worker has claimed."""

    def __init__(self, given):
        self.given = given
        self.stop = threading.Event()  # the handler must stop, or the claim is lost
        self.lost = False
        self.progress = None

    def proof(self, **more):
        names = ("run_id", "runnable_key", "claim_id", "token")
        return {name: self.given[name] for name in names} | more

    def named(self):
        return {name: self.given[name] for name in ("run_id", "step", "attempt", "runnable_key")}

    def request_stop(self, reason):
        if not self.stop.is_set():
            self.stop.set()
            say("told_to_stop", reason=reason, **self.named())


class Worker:
    """Claims as many attempts as it has threads for, keeps the claims, reports the results."""

    def __init__(self, connection, command):
        self.connection = connection
        self.plans = command["handlers"]
        self.gates = {name: threading.Event() for name in self.plans}
        self.concurrency = command.get("concurrency", 1)
        self.queues = command.get("queues", [])
        self.identity = {"id": f"reference-{os.getpid()}-{os.urandom(6).hex()}",
                         "secret": os.urandom(32).hex(), "name": "reference", "version": "1"}
        self.requests = 0
        self.stopping = threading.Event()
        self.claiming = None  # the socket of the waiting claim
        self.lock = threading.Lock()
        self.held = {}  # by claim id
        self.free = threading.Semaphore(self.concurrency)
        self.waiting = queue.Queue()
        self.ended = threading.Event()
        for name, plan in self.plans.items():
            if not plan.get("hold"):
                self.gates[name].set()

    def run(self):
        """Works until stop() is called; attempts claimed by then are still reported."""
        threads = [threading.Thread(target=self.execute_all) for _ in range(self.concurrency)]
        heartbeats = threading.Thread(target=self.keep_claims)
        for thread in [*threads, heartbeats]:
            thread.start()
        say("working", worker=self.identity["id"])
        try:
            while not self.stopping.is_set():
                self.claim()
        except Problem as problem:
            say("failed", id=None, code=problem.code)
        for _ in threads:
            self.waiting.put(None)
        for thread in threads:
            thread.join()
        self.ended.set()
        heartbeats.join()
        say("stopped")

    def stop(self):
        self.stopping.set()
        with self.lock:
            waits = self.claiming
        if waits is not None:
            try:
                waits.shutdown(socket.SHUT_RDWR)  # the claim is requested again, without waiting
            except OSError:
                pass

    def claim(self):
        if not self.free.acquire(timeout=0.1):
            return
        slots = 1
        while slots < self.concurrency and self.free.acquire(blocking=False):
            slots += 1
        self.requests += 1
        request = {"worker": self.identity, "request": str(self.requests), "queues": self.queues,
                   "handlers": sorted(self.plans), "max": slots, "wait_ms": CLAIM_WAIT_MS}
        attempts = []
        try:
            attempts = self.claimed(request)
        except GaveUp:
            say("gave_up", what="claim")
        for given in attempts:
            attempt = Attempt(given)
            with self.lock:
                self.held[given["claim_id"]] = attempt
            self.waiting.put(attempt)
        for _ in range(slots - len(attempts)):
            self.free.release()

    def claimed(self, request):
        """The response to this request; a repetition is marked with `again`."""
        def opened(sock):
            with self.lock:
                self.claiming = sock

        def again():
            return {"again": True} | ({"wait_ms": 0} if self.stopping.is_set() else {})
        try:
            answer = self.connection.call("POST", "/v1/work/claim", request, again,
                                          patience_s=10 * PATIENCE_S, opened=opened)
        finally:
            with self.lock:
                self.claiming = None
        if answer["draining"]:
            threading.Event().wait(0.1)  # the server is about to stop; wait for the next one
        return answer["attempts"]

    def execute_all(self):
        while (attempt := self.waiting.get()) is not None:
            try:
                self.execute(attempt)
            finally:
                with self.lock:
                    del self.held[attempt.given["claim_id"]]
                self.free.release()

    def execute(self, attempt):
        given = attempt.given
        plan = self.plans[given["handler"]]
        say("called", handler=given["handler"], input=given.get("input"),
            idempotency_key=given["idempotency_key"], **attempt.named())
        attempt.progress = plan.get("progress")
        gate = self.gates[given["handler"]]
        while not gate.wait(0.02) and not attempt.stop.is_set():
            pass
        answers = plan.get("answers") or [{"outcome": "ok"}]
        answer = dict(answers[min(given["attempt"], len(answers)) - 1])
        if answer["outcome"] == "ok":
            answer.setdefault("result", {"echo": given.get("input")})
        body = {"worker": self.identity, "reports": [attempt.proof(**answer)]}
        try:
            [result] = self.connection.call("POST", "/v1/work/report", body,
                                            patience_s=10 * PATIENCE_S)["results"]
        except (Problem, GaveUp) as failure:
            result = {"counted": False, "problem": {"code": getattr(failure, "code", "gave_up")}}
        say("reported", counted=result["counted"], **attempt.named(),
            **({} if result["counted"] else {"code": result["problem"]["code"]}))

    def keep_claims(self):
        """A heartbeat every third of the shortest lease."""
        while True:
            with self.lock:
                held = [one for one in self.held.values() if not one.lost]
            lease_ms = min((one.given["lease_ms"] for one in held), default=600)
            if self.ended.wait(lease_ms / 3000):
                return
            if not held:
                continue
            claims = [one.proof() | ({"progress": one.progress} if one.progress else {})
                      for one in held]
            try:
                results = self.connection.call("POST", "/v1/work/heartbeat", {
                    "worker": self.identity, "claims": claims}, patience_s=lease_ms / 1000)
            except (Problem, GaveUp):
                continue  # the next one may arrive; the report shows the outcome
            for attempt, result in zip(held, results["results"]):
                if result["lost"]:
                    attempt.lost = True
                    attempt.request_stop("cancelled" if result["cancelled"] else "lost")
                elif result["stop"]:
                    attempt.request_stop("stop")


class Agent:
    def __init__(self, connection):
        self.connection = connection
        self.worker = None
        self.thread = None

    def start(self, command):
        # Always under a key, so that a repeated start counts once.
        key = command.get("key") or os.urandom(16).hex()
        return self.connection.call("POST", "/v1/runs", {
            "workflow": command["workflow"], "input": command.get("input", {}),
            "idempotency_key": key})

    def signal(self, command):
        self.connection.call("POST", f"/v1/runs/{command['run_id']}/signal", {
            "event": command["name"], "data": command.get("data", {}),
            "idempotency_key": os.urandom(16).hex()})
        return {}

    def cancel(self, command):
        self.connection.call("POST", f"/v1/runs/{command['run_id']}/cancel", {
            "idempotency_key": os.urandom(16).hex()})
        return {}

    def outcome(self, command):
        """Polls until the run has ended, or the time has passed."""
        end = time.monotonic() + command.get("timeout_ms", 60_000) / 1000
        while True:
            left_ms = max(0, int((end - time.monotonic()) * 1000))
            found = self.connection.call(
                "GET", f"/v1/runs/{command['run_id']}/outcome?wait={min(left_ms, 20_000)}")
            if found["terminal"] or left_ms == 0:
                return found

    def events(self, command):
        """Runs until the process ends; reports each fact as {"event":"fact"}."""
        last = command.get("after", "0")
        while True:
            stream = http.client.HTTPConnection(self.connection.address.hostname,
                                                self.connection.address.port, timeout=60)
            headers = {"Last-Event-ID": last}
            if self.connection.token:
                headers["Authorization"] = "Bearer " + self.connection.token
            try:
                stream.request("GET", "/v1/events", headers=headers)
                answer = stream.getresponse()
                fields = {}
                while line := answer.readline():
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name:
                        fields[name] = value
                    elif "id" in fields:  # complete; a truncated event is sent again
                        say("fact", place=fields["id"], kind=fields["event"])
                        last, fields = fields["id"], {}
            except (OSError, http.client.HTTPException):
                pass
            stream.close()
            threading.Event().wait(0.1)

    def execute(self, command):
        try:
            say("done", id=command["id"], result=getattr(self, command["do"])(command))
        except Problem as problem:
            say("failed", id=command["id"], code=problem.code)
        except GaveUp:
            say("failed", id=command["id"], code="gave_up")

    def stop(self):
        if self.worker is not None:
            self.worker.stop()

    def obey(self, command):
        what = command["do"]
        if what == "work":
            self.worker = Worker(self.connection, command)
            thread = threading.Thread(target=self.worker.run)
            thread.start()
            self.thread = thread  # main() ends with it, so it is set only now that it is alive
        elif what == "release":
            self.worker.gates[command["handler"]].set()
        elif what == "stop":
            self.stop()
        else:
            threading.Thread(target=self.execute, args=(command,), daemon=True).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--token", default="")
    given = parser.parse_args()
    agent = Agent(Connection(given.server, given.token))
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=agent.stop).start())
    say("ready", can=["start", "work", "signal", "cancel", "outcome", "events", "progress"])

    def listen():
        for line in sys.stdin:
            agent.obey(json.loads(line))
        agent.stop()
        ended.set()
    ended = threading.Event()
    threading.Thread(target=listen, daemon=True).start()
    # Ends when the worker has stopped, or when there are no more commands.
    while not ended.wait(0.05) and not (agent.thread and not agent.thread.is_alive()):
        pass
    if agent.thread is not None:
        agent.thread.join()


if __name__ == "__main__":
    main()
