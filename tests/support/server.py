"""A real `holdfast server` for tests, and a plain HTTP client for it. Standard library only."""

import contextlib
import http.client
import json
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

from support.deadline import DEADLINE_S


def clean_environment():
    """The environment without the variables that the program reads."""
    values = {name: value for name, value in os.environ.items()
              if not name.startswith("HOLDFAST_") and name != "NO_COLOR"}
    return values | {"TZ": "UTC"}


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Calls the condition until its result is true; returns the result."""
    end = time.monotonic() + deadline_s
    pause = threading.Event()
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {deadline_s} s")
        pause.wait(0.005)
    return found


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    @property
    def text(self):
        return self.body.decode("utf-8")

    @property
    def type(self):
        return self.headers.get("content-type", "").split(";")[0]

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The code of a problem."""
        return self.json().get("code") if self.type == "application/problem+json" else None

    def __repr__(self):
        return f"{self.status} {self.type} {self.body[:500]!r}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client:
    """Each call uses a new connection unless one is kept; calls are not repeated."""

    def __init__(self, address, token=None, timeout=DEADLINE_S):
        self.address = address  # (host, port), or the path of a socket
        self.token = token
        self.timeout = timeout

    def connection(self):
        if isinstance(self.address, str):
            return UnixConnection(self.address, self.timeout)
        return http.client.HTTPConnection(*self.address, timeout=self.timeout)

    def call(self, method, path, body=None, headers=None, query=None, token=None, kept=None):
        """body: a value that becomes JSON, or bytes with an explicit Content-Type."""
        headers = dict(headers or {})
        token = token or self.token
        if token and "Authorization" not in headers:
            headers["Authorization"] = "Bearer " + token
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        if query:
            path += "?" + urllib.parse.urlencode(query, doseq=True)
        connection = kept or self.connection()
        try:
            connection.request(method, path, body=body, headers=headers)
            got = connection.getresponse()
            return Answer(got.status, got.getheaders(), got.read())
        finally:
            if kept is None:
                connection.close()

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.call("POST", path, {} if body is None else body, **options)

    def good(self, method, path, body=None, **options):
        """The JSON of a response that must be a success."""
        answer = self.call(method, path, body, **options)
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer}")
        return answer.json()


class Server:
    """One process, which can be stopped, killed and restarted on the same address."""

    command = ("server",)

    def __init__(self, program, store, *options, listen=True, log=os.devnull):
        self.program = os.path.abspath(program)
        self.store = store
        self.options = [str(option) for option in options]
        self.log = log  # standard error is appended to this file
        self.listen = "127.0.0.1:0" if listen else None
        self.process = None
        self.urls = []

    def start(self, *more):
        arguments = [self.program, *self.command, "--store", self.store, "--json", *self.options,
                     *more]
        if self.listen:
            arguments += ["--listen", self.listen]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=log,
                                            stdout=subprocess.PIPE, env=clean_environment())
        wanted = arguments.count("--listen") + arguments.count("--socket")
        lines = queue.Queue()
        stdout = self.process.stdout

        def read():
            for line in stdout:
                lines.put(line)
            stdout.close()
            lines.put(None)
        threading.Thread(target=read, daemon=True).start()
        self.urls = []
        while len(self.urls) < wanted:
            line = lines.get(timeout=DEADLINE_S)
            if line is None:
                code = self.process.wait(DEADLINE_S)
                raise AssertionError(f"the server ended with {code}: {self.logged()[-2000:]}")
            said = json.loads(line)
            if "url" not in said:
                raise AssertionError(f"the server did not start: {said}")
            self.urls.append(said["url"])
        if self.listen:
            self.listen = "{}:{}".format(*self.address)
        return self

    @property
    def url(self):
        return next(url for url in self.urls if url.startswith("http"))

    @property
    def address(self):
        parts = urllib.parse.urlsplit(self.url)
        return parts.hostname, parts.port

    def client(self, token=None, **options):
        return Client(self.address, token, **options)

    def logged(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def stop(self, number=signal.SIGTERM):
        """Returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()


@contextlib.contextmanager
def running(program, store, *options, **more):
    server = Server(program, store, *options, **more)
    try:
        yield server.start()
    finally:
        server.close()


class Events:
    """A stream of server-sent events, read by a thread; `all` holds the received events."""

    def __init__(self, client, path="/v1/events", after=None, query=None, token=None):
        self.all = []  # (id, event, data as JSON)
        self.problem = None
        self.comments = 0
        self.ended = threading.Event()
        self.changed = threading.Condition()
        headers = {"Accept": "text/event-stream"}
        if after is not None:
            headers["Last-Event-ID"] = after
        token = token or client.token
        if token:
            headers["Authorization"] = "Bearer " + token
        self.connection = client.connection()
        self.connection.request("GET", path + ("?" + urllib.parse.urlencode(query, doseq=True)
                                               if query else ""), headers=headers)
        self.response = self.connection.getresponse()
        if self.response.status != 200:
            self.problem = Answer(self.response.status, self.response.getheaders(),
                                  self.response.read())
            self.ended.set()
            return
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        fields = {}
        try:
            while line := self.response.readline():
                line = line.decode("utf-8").rstrip("\n")
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif fields:
                    with self.changed:
                        self.all.append((fields["id"], fields["event"],
                                         json.loads(fields["data"])))
                        self.changed.notify_all()
                    fields = {}
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            pass  # disconnected; a partial event does not count
        self.ended.set()

    @property
    def last(self):
        return self.all[-1][0] if self.all else None

    def wait_for(self, condition, what="an event"):
        """condition: a predicate on (id, event, data)."""
        with self.changed:
            if not self.changed.wait_for(lambda: any(map(condition, self.all)), DEADLINE_S):
                raise AssertionError(f"{what} did not come; {len(self.all)} others did")

    def close(self):
        with contextlib.suppress(OSError):
            if self.connection.sock is not None:
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.ended.wait(DEADLINE_S)
        self.response.close()
        self.connection.close()


class Worker:
    """The calls of one worker without handlers; the test decides on claims, reports and
    heartbeats."""

    def __init__(self, client, name="tester", handlers=("work",)):
        self.client = client
        self.identity = {"id": f"{name}-{os.urandom(6).hex()}", "name": name, "version": "1",
                         "secret": os.urandom(32).hex()}
        self.handlers = list(handlers)
        self.requests = 0

    def claim_request(self, **more):
        self.requests += 1
        return {"request": str(self.requests), "handlers": self.handlers, **more}

    def claim(self, wait_ms=20000, **more):
        return self.client.good("POST", "/v1/work/claim", {
            "worker": self.identity, **self.claim_request(wait_ms=wait_ms, **more)})

    def report(self, *reports, claim=None):
        body = {"worker": self.identity, "reports": list(reports)}
        return self.client.good("POST", "/v1/work/report",
                                body | ({"claim": claim} if claim else {}))

    def heartbeat(self, *claims):
        return self.client.good("POST", "/v1/work/heartbeat",
                                {"worker": self.identity, "claims": list(claims)})


def proof(attempt, **more):
    """The members that prove a claim."""
    return {name: attempt[name] for name in ("run_id", "runnable_key", "claim_id", "token")} | more


def journal_entries(program, store):
    """(position, index in its batch, entry) of every entry of a journal, from `journal cat`."""
    said = subprocess.run([program, "journal", "cat", store, "--json"], capture_output=True,
                          text=True, env=clean_environment(), timeout=DEADLINE_S, check=True)
    entries, position, index = [], None, 0
    for line in said.stdout.splitlines():
        entry = json.loads(line)
        index = index + 1 if entry["position"] == position else 0
        position = entry["position"]
        entries.append((position, index, entry))
    return entries


TOKEN = re.compile(r"hf_[0-9a-f]+_[A-Za-z0-9_-]+")
