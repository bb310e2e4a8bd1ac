"""Steady load over HTTP on servers that share a store, and the proof that nothing was lost or
applied twice. Clients repeat a start only when the response says that this is safe."""

import collections
import contextlib
import http.client
import itertools
import json
import subprocess
import threading
import time

from support import server

CUT = (OSError, http.client.HTTPException)
WORKFLOW = {"workflow": "steady", "steps": [
    {"name": "first", "exec": ["true"]},
    {"name": "second", "exec": ["true"], "after": ["first"]}]}
PAUSE_S = 0.02
ANSWER_S = 90


class Load:
    """Clients that start runs at the servers in turn, each run with its own number."""

    def __init__(self, servers, clients=4):
        self.servers = servers
        self.numbers = itertools.count()
        self.acknowledged = {}   # number -> run id
        self.unknown = set()     # outcome unknown
        self.refused = 0         # refusals that permit a retry
        self.failures = []
        self.ending = threading.Event()
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self._work, args=(index,), daemon=True)
                        for index in range(clients)]

    def begin(self):
        for thread in self.threads:
            thread.start()

    def end(self):
        self.ending.set()
        for thread in self.threads:
            thread.join(ANSWER_S + server.DEADLINE_S)
            if thread.is_alive():
                raise AssertionError("a client never got an answer")
        if self.failures:
            raise self.failures[0]

    def _work(self, index):
        try:
            while not self.ending.is_set():
                self._start(next(self.numbers), self.servers[index % len(self.servers)])
                self.ending.wait(PAUSE_S)
        except BaseException as failure:  # raised by end()
            self.failures.append(failure)

    def _start(self, number, at):
        """Starts a run; repeats the call while the response permits it."""
        client = at.client(timeout=ANSWER_S)
        while True:
            try:
                answer = client.post("/v1/runs", {"workflow": "steady", "input": {"n": number}})
            except ConnectionRefusedError as gone:
                raise AssertionError(f"a server has exited: {at.logged()[-2000:]}") from gone
            except CUT:
                self.unknown.add(number)
                return
            if answer.status == 201:
                with self.changed:
                    self.acknowledged[number] = answer.json()["run_id"]
                    self.changed.notify_all()
                return
            problem = answer.json()
            if not problem.get("retry"):
                self.unknown.add(number)
                return
            self.refused += 1
            if self.ending.is_set():
                return
            self.ending.wait(0.1)

    def wait_for_progress(self, more=4, deadline_s=server.DEADLINE_S):
        """Waits until this many further starts are acknowledged; returns the seconds it took."""
        begin = time.monotonic()
        with self.changed:
            wanted = len(self.acknowledged) + more
            if not self.changed.wait_for(
                    lambda: len(self.acknowledged) >= wanted or self.failures, deadline_s):
                raise AssertionError(f"no progress within {deadline_s} s")
        if self.failures:
            raise self.failures[0]
        return time.monotonic() - begin


def ready(one):
    """Whether a server reports that it is ready; False if it does not respond."""
    try:
        return one.client(timeout=10).get("/readyz").status == 200
    except CUT:
        return False


def wait_until_ready(servers, deadline_s=server.DEADLINE_S):
    for one in servers:
        server.wait_until(lambda one=one: ready(one), f"{one.url} ready", deadline_s)


@contextlib.contextmanager
def workers(program, servers):
    """One `holdfast worker` for each server."""
    started = []
    try:
        for one in servers:
            started.append(subprocess.Popen(
                [program, "worker", "--server", one.url, "--threads", "2", "--quiet"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=server.clean_environment()))
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def judge(test, program, store, load):
    """Checks the whole journal: each acknowledged start is one run, no start is two runs, all have
    ended, and each step was applied once."""
    entries = server.journal_entries(program, store)
    runs = collections.defaultdict(list)   # number -> run ids
    applied = collections.Counter()
    ended = collections.Counter()
    for _, _, entry in entries:
        data = entry["data"]
        if entry["kind"] == "run_started":
            given = data["input"] if isinstance(data["input"], dict) else json.loads(data["input"])
            runs[given["n"]].append(data["run_id"])
        elif entry["kind"] == "runnable_applied":
            applied[data["runnable_key"]] += 1
        elif entry["kind"] == "run_terminal":
            ended[data["run_id"]] += 1
            test.assertEqual(data["status"], "completed", data)
    for number, run_id in load.acknowledged.items():
        test.assertEqual(runs[number], [run_id], f"start {number} was acknowledged")
    for number, ids in runs.items():
        test.assertEqual(len(ids), 1, f"start {number} was executed more than once")
        test.assertTrue(number in load.acknowledged or number in load.unknown,
                        f"start {number} happened although it was refused")
        test.assertEqual(ended[ids[0]], 1, f"run {ids[0]} has not ended exactly once")
    test.assertEqual({key: count for key, count in applied.items() if count != 1}, {})
    verified = subprocess.run([program, "journal", "verify", store], capture_output=True, text=True,
                              timeout=server.DEADLINE_S, check=False)
    test.assertEqual(verified.returncode, 0, verified.stderr)


def all_ended(client):
    """No run is live."""
    return client.good("GET", "/v1/status")["runs"]["live"] == 0
