"""A real `holdfast daemon up` for tests, and a broker whose answers a test chooses."""

import http.server
import json
import os
import subprocess
import threading
import urllib.parse

from support import server
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
    close the connection without an answer. Keeps every message that it received."""

    def __init__(self):
        self.messages = []
        self.answer = self.accept
        self.features = (200, FEATURES, {})
        self.dedupe = (404, {"error": "none"}, {})
        self.changed = threading.Condition()
        broker = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.reply(broker.features if self.path.startswith("/v1/features")
                           else broker.dedupe)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with broker.changed:
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

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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

    def wait_for(self, count):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.messages) >= count, DEADLINE_S):
                raise AssertionError(f"{len(self.messages)} messages instead of {count}")

    def ids(self):
        return [message["client_message_id"] for message in self.messages]

    def close(self):
        self.http.shutdown()
        self.http.server_close()
