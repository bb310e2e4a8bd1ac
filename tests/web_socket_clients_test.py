#!/usr/bin/env python3
"""WebSocket clients that others wrote, against a real broker: `ws` of npm, and Chromium.

Run as: python3 tests/web_socket_clients_test.py path/to/holdfast
"""

import http.server
import os
import pathlib
import shutil
import subprocess
import threading

from support import broker, cli
from support.broker import message
from support.deadline import DEADLINE_S

FOLDER = pathlib.Path(__file__).resolve().parent / "web_socket_clients"


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>page</title>")

    def log_message(self, *_):
        pass


class Clients(broker.BrokerTest):
    def setUp(self):
        self.pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=self.pages.serve_forever, daemon=True).start()
        self.addCleanup(self.pages.server_close)
        self.addCleanup(self.pages.shutdown)
        super().setUp()
        self.modules = pathlib.Path(self.path("clients"))
        self.modules.mkdir()
        for name in ("package.json", "package-lock.json", "receive.mjs", "browse.mjs"):
            shutil.copy(FOLDER / name, self.modules)
        self.command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")

    def options(self):
        return ("--origin", self.page())

    def page(self, host="127.0.0.1"):
        return f"http://{host}:{self.pages.server_port}"

    def command(self, *words):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("HOLDFAST_")}
        done = subprocess.run(words, cwd=self.modules, env=environment, timeout=DEADLINE_S,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def web_socket(self):
        host, port = self.broker.client().address
        return f"ws://{host}:{port}/v1/ws"

    def send_some(self):
        sizes = (0, 125, 126, 60_000, 65_535)
        for at, size in enumerate(sizes):
            self.assertEqual(self.send(message(f"m-{at}", body="x" * size)).status, 201)
        return [f"message m-{at} {size}" for at, size in enumerate(sizes)]

    def test_ws_of_npm_receives(self):
        wanted = self.send_some()
        lines = self.command("node", "receive.mjs", self.web_socket(),
                             self.members["ben"]["token"], "5")
        self.assertEqual([line for line in lines if line != "pong are you there"],
                         ["hello ben", *wanted, "closed 1000 "])
        self.assertIn("pong are you there", lines)
        self.assertEqual(self.client("ben").get("/v1/deliveries").json(), {"deliveries": []})
        lines = self.command("node", "receive.mjs", self.web_socket(), "wrong", "5")
        self.assertEqual(lines[-2:], ["error unauthenticated", "closed 4001 unauthenticated"])

    def test_chromium_receives_on_a_page_of_an_allowed_origin(self):
        wanted = self.send_some()
        browse = ("node", "browse.mjs")
        token = self.members["ben"]["token"]
        lines = self.command(*browse, self.page(), self.web_socket(), token, "5",
                             self.path("profile-1"))
        self.assertEqual(lines, ["hello ben", *wanted, "closed 1000  true"])
        lines = self.command(*browse, self.page("localhost"), self.web_socket(), token, "5",
                             self.path("profile-2"))
        self.assertEqual(lines, ["closed 1006  false"], "another origin")


if __name__ == "__main__":
    cli.main(__doc__)
