"""Targets of webhooks: HTTP servers on loopback that record what they are sent."""

import base64
import hashlib
import hmac
import http.server
import json
import threading


def signature(secret, webhook_id, timestamp, body):
    """As Standard Webhooks defines it, without the code of the broker."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{webhook_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


class Hook:
    """One request that a target was sent."""

    def __init__(self, path, headers, body):
        self.path = path
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    @property
    def id(self):
        return self.headers["webhook-id"]

    @property
    def data(self):
        return json.loads(self.body)["data"]

    @property
    def message(self):
        """The sender's id of the message."""
        return self.data["client_message_id"]

    def signed_by(self, secret):
        return signature(secret, self.id, self.headers["webhook-timestamp"],
                         self.body) in self.headers["webhook-signature"].split(" ")


class Target:
    """answer: called with each Hook; gives a status, or (status, headers, body), or None to close
    the connection without an answer."""

    def __init__(self, answer=lambda hook: 200, host="127.0.0.1"):
        self.answer = answer
        self.hooks = []
        target = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook = Hook(self.path, self.headers.items(), body)
                target.hooks.append(hook)
                answer = target.answer(hook)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, text = answer if isinstance(answer, tuple) else (answer, {}, b"")
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # connections end with the broker that is killed

        self.server = Server((host, 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def url(self, path="/hook"):
        return f"http://{self.server.server_address[0]}:{self.server.server_port}{path}"

    @property
    def messages(self):
        return [hook.message for hook in list(self.hooks)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
