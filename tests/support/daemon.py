"""A real `holdfast daemon up` for tests, and a broker whose answers a test chooses."""

import http.server
import json
import os
import subprocess
import threading
import urllib.parse

from support import broker, cli, server
from support.deadline import DEADLINE_S

FEATURES = {"supported": {
    "client_message_id_dedupe": {"version": 2, "mode": "retention_scoped",
                                 "dedupe_retention_days": 365, "request_fingerprint": True},
    "max_payload": {"version": 1, "inline_bytes": 65536, "blob_bytes": 1048576}}}


class Daemon:
    """One process on a folder, which can be stopped, killed and restarted."""

    def __init__(self, program, home, *options, log=os.devnull):
        self.command = [os.path.abspath(program), "daemon", "up", "--foreground", "--json",
                        "--home", home, "--tcp", "on", *options]
        self.home = home
        self.log = log
        self.process = None
        self.urls = []

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=log,
                                            stdout=subprocess.PIPE,
                                            env=server.clean_environment())
        self.urls = []
        while len(self.urls) < 2:
            line = self.process.stdout.readline()
            said = json.loads(line) if line else {}
            if "url" not in said:
                code = self.process.wait(DEADLINE_S)
                raise AssertionError(f"the daemon ended with {code}: {self.logged()[-2000:]}")
            self.urls.append(said["url"])
        return self

    @property
    def client(self):
        """Through the unix socket."""
        return server.Client(self.file("sock"))

    @property
    def address(self):
        parts = urllib.parse.urlsplit(next(url for url in self.urls if url.startswith("http")))
        return parts.hostname, parts.port

    def tcp(self, token=None):
        return server.Client(self.address, token)

    def file(self, name):
        return os.path.join(self.home, name)

    def token(self):
        with open(self.file("local_token"), encoding="utf-8") as file:
            return file.read().strip()

    def logged(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE_S)
        self.process.stdout.close()

    def stop(self):
        """Returns the exit code."""
        self.process.terminate()
        code = self.process.wait(DEADLINE_S)
        self.process.stdout.close()
        return code

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()


class FakeBroker:
    """Answers POST /v1/messages as `answer(message)` says: (status, body, headers), or None to
    close the connection without an answer. Keeps every message that it received. It has no
    WebSocket: GET /v1/deliveries returns the lists of `deliveries` one after the other."""

    def __init__(self):
        self.messages = []
        self.answer = self.accept
        self.features = (200, FEATURES, {})
        self.dedupe = (404, {"error": "none"}, {})
        self.deliveries = []
        self.acked = []
        self.gate = threading.Event()  # cleared: requests about the workspace wait
        self.gate.set()
        self.changed = threading.Condition()
        broker = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.path.startswith("/v1/features"):
                    self.reply(broker.features)
                elif self.path.startswith("/v1/deliveries"):
                    self.reply((200, broker.next_deliveries(), {}))
                else:
                    broker.gate.wait(DEADLINE_S)
                    self.reply(broker.dedupe)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with broker.changed:
                    if self.path == "/v1/deliveries/ack":
                        broker.acked += body["delivery_ids"]
                        broker.changed.notify_all()
                        return self.reply((200, {"acked": body["delivery_ids"], "fenced": []}, {}))
                    broker.messages.append(body)
                    broker.changed.notify_all()
                    answer = broker.answer
                self.reply(answer(body))

            def reply(self, what):
                if what is None:
                    self.close_connection = True
                    return
                status, body, headers = what
                data = json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # the daemon was killed

        self.http = Server(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    @staticmethod
    def accept(message):
        return 201, {"broker_message_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                     "client_message_id": message["client_message_id"],
                     "history_id": "01ARZ3NDEKTSV4RRFFQ69G5FAW", "duplicate": False,
                     "history_available": True, "first_seen_at": 1, "fanout_count": 1}, {}

    def next_deliveries(self):
        """What GET /v1/deliveries returns, after a short wait when there is nothing."""
        with self.changed:
            self.changed.wait_for(lambda: self.deliveries, 0.2)
            waiting = self.deliveries.pop(0) if self.deliveries else []
        return {"lease": "lease", "lease_until": 1, "deliveries": waiting}

    def deliver(self, *deliveries):
        """Returns when all of them, by their numbers, are acknowledged."""
        with self.changed:
            self.deliveries.append(list(deliveries))
            self.changed.notify_all()
            wanted = {one["delivery_id"] for one in deliveries
                      if isinstance(one, dict) and isinstance(one.get("delivery_id"), int)}
            if not self.changed.wait_for(lambda: wanted <= set(self.acked), DEADLINE_S):
                raise AssertionError(f"{wanted - set(self.acked)} are not acknowledged")

    def wait_for(self, count):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.messages) >= count, DEADLINE_S):
                raise AssertionError(f"{len(self.messages)} messages instead of {count}")

    def ids(self):
        return [message["client_message_id"] for message in self.messages]

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def member_files(home, urls):
    """A folder as `daemon join` leaves it."""
    os.mkdir(home, 0o700)
    for name, content in (("config.json", {"brokers": urls, "workspace": "team"}),
                          ("member.json", {"name": "ann", "pubkey": "aa" * 32,
                                           "token": "hfm_test"})):
        path = os.path.join(home, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.chmod(path, 0o600)


class DaemonTest(cli.CliTest):
    def daemon(self, *options, home="daemon"):
        daemon = Daemon(cli.program(), self.path(home), *options, log=self.path(home + ".log"))
        self.addCleanup(daemon.close)
        return daemon

    def send(self, message_id, text="hello", to="#alerts", **more):
        return self.running.client.post("/v1/send", {"to": to, "message": text,
                                                     "client_message_id": message_id, **more})

    def row(self, message_id):
        return self.running.client.good("GET", f"/v1/outbox/{message_id}")["chain"][0]

    def wait_for(self, message_id, status):
        cli.wait_until(lambda: self.row(message_id)["status"] == status,
                       f"{message_id} is {status}")
        return self.row(message_id)


class FakeBrokerTest(DaemonTest):
    """A daemon of the member ann, and a broker whose answers the test chooses."""

    def setUp(self):
        super().setUp()
        self.fake = FakeBroker()
        self.addCleanup(self.fake.close)
        member_files(self.path("daemon"), [self.fake.url])
        self.running = self.daemon().start()


class JoinedTest(broker.BrokerTest, DaemonTest):
    """A real broker, and a daemon that joined it as `eva`."""

    def setUp(self):
        super().setUp()
        link = self.ok("broker", "member", "invite", "team", "--broker", self.broker.url,
                       "--token-file", self.path("admin.token")).strip()
        home = self.path("daemon")
        self.assertIn("joined workspace team", self.ok("daemon", "join", link, "--name", "eva",
                                                       "--home", home))
        self.fails(2, "daemon", "join", link, "--name", "eva", "--home", home, says="already")
        self.running = self.daemon().start()
