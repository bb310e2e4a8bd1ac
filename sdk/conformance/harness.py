"""World: the environment of a case. A real server on a store of its own, a fault proxy in front of
it, and agents that reach the server only through the proxy."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests"))

from support import server as servers  # noqa: E402
from support.deadline import DEADLINE_S  # noqa: E402

from fault_proxy import FaultProxy  # noqa: E402


class Failed(Exception):
    """A client did not do what the case requires."""


class Lacking(Exception):
    """The agent does not support this case."""


def check(condition, what):
    if not condition:
        raise Failed(what)


class Agent:
    """One process of the client under test."""

    def __init__(self, command, url, token=""):
        arguments = [*command, "--server", url] + (["--token", token] if token else [])
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=servers.clean_environment())
        self.events = []
        self.changed = threading.Condition()
        self.ids = 0
        threading.Thread(target=self._listen, daemon=True).start()
        self.can = set(self.wait("ready")["can"])

    def _listen(self):
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "nonsense", "line": line}
            event["_at"] = time.monotonic()
            with self.changed:
                self.events.append(event)
                self.changed.notify_all()
        with self.changed:
            self.events.append({"event": "ended", "_at": time.monotonic()})
            self.changed.notify_all()

    def send(self, **command):
        if command["do"] not in ("release", "stop") and command["do"] not in self.can:
            raise Lacking(command["do"])
        self.process.stdin.write(json.dumps(command, separators=(",", ":")) + "\n")
        self.process.stdin.flush()

    def all(self, kind, **members):
        """Events of a kind with these members, so far."""
        with self.changed:
            return self.all_here(kind, members)

    def wait(self, kind, count=1, deadline_s=DEADLINE_S, **members):
        """The count-th event of that kind."""
        end = time.monotonic() + deadline_s
        with self.changed:
            while True:
                found = self.all_here(kind, members)
                if len(found) >= count:
                    return found[count - 1]
                gone = any(one["event"] == "ended" for one in self.events)
                left = end - time.monotonic()
                if gone or left <= 0 or not self.changed.wait(left):
                    raise Failed(f"the agent did not report {kind} {members or ''} "
                                 f"({len(found)} of {count}); {'it ended; ' if gone else ''}"
                                 f"its last events: {self.events[-5:]}")

    def all_here(self, kind, members):
        return [one for one in self.events if one["event"] == kind and
                all(one.get(name) == value for name, value in members.items())]

    def request(self, **command):
        """Sends a command and waits for its result."""
        number = self.begin(**command)
        return self.result(number)

    def begin(self, **command):
        self.ids += 1
        self.send(id=self.ids, **command)
        return self.ids

    def result(self, number, deadline_s=DEADLINE_S):
        answer = self.answer(number, deadline_s)
        check(answer["event"] == "done", f"a command failed: {answer}")
        return answer["result"]

    def answer(self, number, deadline_s=DEADLINE_S):
        end = time.monotonic() + deadline_s
        with self.changed:
            while True:
                for one in self.events:
                    if one["event"] in ("done", "failed") and one.get("id") == number:
                        return one
                left = end - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    raise Failed(f"no answer to command {number}: {self.events[-5:]}")

    def work(self, handlers, concurrency=2, queues=()):
        self.send(do="work", handlers=handlers, concurrency=concurrency, queues=list(queues))
        return self.wait("working")

    def signal(self, number):
        self.process.send_signal(number)

    def ends(self):
        """Its exit code."""
        try:
            return self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            raise Failed("the agent does not end") from None

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class World:
    def __init__(self, program, agent_command):
        self.program = program
        self.agent_command = agent_command
        self.directory = tempfile.mkdtemp(prefix="holdfast_conformance_")
        self.store = "sqlite:" + os.path.join(self.directory, "s.db")
        self.agents = []
        self.server = servers.Server(program, self.store, "--log-level", "debug",
                                     log=os.path.join(self.directory, "log"))
        self.server.start()
        self.proxy = FaultProxy(self.server.address)
        self.direct = self.server.client()

    def agent(self, token=""):
        one = Agent(self.agent_command, self.proxy.url, token)
        self.agents.append(one)
        return one

    def close(self):
        for one in self.agents:
            one.close()
        self.proxy.close()
        self.server.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def restart(self):
        self.server.start()

    # --- direct calls of the driver to the server, without the proxy

    def register(self, name="job", handler="echo", **step):
        self.direct.good("POST", "/v1/workflows", {
            "workflow": name, "steps": [{"name": "step", "handler": handler, **step}]})

    def start(self, name="job", **given):
        return self.direct.good("POST", "/v1/runs", {"workflow": name, "input": given})["run_id"]

    def outcome(self, run, wait_s=20):
        return self.direct.good("GET", f"/v1/runs/{run}/outcome?wait={wait_s * 1000}")

    def completed(self, run, wait_s=20):
        """The result of its step."""
        outcome = self.outcome(run, wait_s)
        check(outcome["status"] == "completed", f"the run is {outcome} after {wait_s} s")
        return self.direct.good("GET", f"/v1/runs/{run}")["steps"][0]["result"]

    def runs(self):
        return self.direct.good("GET", "/v1/runs?limit=1000")["runs"]

    def facts(self, kind):
        """Of the whole store."""
        return [entry for _, _, entry in self.entries() if entry["kind"] == kind]

    def entries(self):
        return servers.journal_entries(self.program, self.store)

    def leases(self):
        return [lease for one in self.direct.good("GET", "/v1/workers")["workers"]
                for lease in one["leases"]]

    def claims_waiting(self):
        """How many calls wait for work at the server."""
        for line in self.direct.get("/metrics").text.splitlines():
            if line.startswith("holdfast_polls_waiting "):
                return int(float(line.split()[1]))
        return 0

    def until(self, condition, what, deadline_s=DEADLINE_S):
        try:
            return servers.wait_until(condition, what, deadline_s)
        except AssertionError as late:
            raise Failed(str(late)) from None
