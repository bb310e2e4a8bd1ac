"""FaultProxy: a proxy between a client and a server that injects network faults.

It understands enough of HTTP/1.1 to know where a request and its response end, so that it can lose
exactly one of them. Rules are evaluated in order; the first that matches a request decides what
happens to it. `log` records everything that passes.
"""

import contextlib
import json
import re
import select
import socket
import struct
import threading
import time

PASS = "pass"                  # forwarded, with its response
CUT_REQUEST = "cut_request"    # the connection ends before the server receives the request
CUT_ANSWER = "cut_answer"      # the server has executed it; the response is lost
CUT_MIDDLE = "cut_middle"      # half of the response arrives
REFUSE = "refuse"              # the proxy itself responds: status, headers
DOUBT = "doubt"                # executed; the response is 503 with what_next in_doubt
DELAY = "delay"                # the response is delayed: seconds


class Rule:
    """action: one of the constants above. times: how often; None: always. when: a predicate on the
    JSON of the response."""

    def __init__(self, action, path=".*", times=1, when=None, status=503, headers=None, seconds=0.0,
                 every=1):
        self.action = action
        self.path = re.compile(path)
        self.times = times
        self.when = when
        self.status = status
        self.headers = headers or {}
        self.seconds = seconds
        self.every = every  # only each n-th match
        self.seen = 0
        self.used = 0  # how often it was applied


class Noted:
    """A request that passed, and its outcome."""

    def __init__(self, method, path, body):
        self.at = time.monotonic()
        self.method = method
        self.path = path
        self.body = body
        self.status = None
        self.action = PASS


class Ended(Exception):
    """One of the two connections has ended, or must end."""


class Finished(Ended):
    """The same after a clean close: everything sent arrives."""


class Side:
    """A socket, read in parts."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.other = None  # the peer that must stay connected while this one is waited for

    def wait(self):
        """Waits for bytes; ends if the other side closes meanwhile."""
        watched = [self.sock, self.other.sock]
        while True:
            ready, _, _ = select.select(watched, [], [])
            if self.sock in ready:
                return
            if not self.other.sock.recv(1, socket.MSG_PEEK):
                raise Ended
            watched = [self.sock]  # it has sent more already; that waits

    def more(self):
        try:
            if self.other is not None:
                self.wait()
            piece = self.sock.recv(65536)
        except (OSError, ValueError):
            piece = b""
        if not piece:
            raise Ended
        self.buffer += piece

    def up_to(self, mark):
        while mark not in self.buffer:
            self.more()
        end = self.buffer.index(mark) + len(mark)
        part, self.buffer = self.buffer[:end], self.buffer[end:]
        return part

    def exactly(self, count):
        while len(self.buffer) < count:
            self.more()
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def head(self):
        """(bytes, first line, headers by lower-case name)."""
        raw = self.up_to(b"\r\n\r\n")
        first, *lines = raw.decode("latin-1").split("\r\n")
        fields = (line.partition(":") for line in lines if line)
        return raw, first, {name.lower(): value.strip() for name, _, value in fields}

    def body(self, headers, until_end=False):
        """Its pieces as they arrive, including the chunk headers."""
        if "chunked" in headers.get("transfer-encoding", ""):
            while True:
                size = self.up_to(b"\r\n")
                yield size
                yield self.exactly(int(size.split(b";")[0], 16) + 2)
                if int(size.split(b";")[0], 16) == 0:
                    return
        elif "content-length" in headers:
            yield self.exactly(int(headers["content-length"]))
        elif until_end:
            with contextlib.suppress(Ended):
                while True:
                    if not self.buffer:
                        self.more()
                    yield self.exactly(len(self.buffer))

    def finish(self):
        """Closes it after the peer has received everything."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
            self.sock.settimeout(5)
            while self.sock.recv(65536):
                pass
        self.sock.close()

    def reset(self):
        """Resets it: bytes in transit are lost."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.sock.close()


class FaultProxy:
    def __init__(self, target):
        self.target = target  # (host, port) of the server
        self.rules = []
        self.log = []
        self.down = False  # connections are refused
        self.byte_delay_s = 0.0  # throttle: the delay before each byte
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self.listener.getsockname()
        self.sides = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return "http://{}:{}".format(*self.address)

    def add(self, *rules):
        with self.lock:
            self.rules += rules

    def clear(self):
        with self.lock:
            self.rules = []

    def cut_all(self):
        """Resets every connection."""
        with self.lock:
            sides = list(self.sides)
        for side in sides:
            side.reset()

    def close(self):
        self.down = True
        self.listener.close()
        self.cut_all()

    def requests(self, path, since=0.0):
        return [noted for noted in list(self.log)
                if noted.at >= since and re.search(path, noted.path)]

    # --- within

    def _accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            client = Side(peer)
            if self.down:
                client.reset()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        server = None
        self.sides.add(client)
        try:
            while True:
                raw, first, headers = client.head()
                if headers.get("expect", "").lower() == "100-continue":
                    client.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = b"".join(client.body(headers))
                method, path, _ = first.split(" ", 2)
                noted = Noted(method, path, body)
                self.log.append(noted)
                rule = self._rule_for(noted)
                if rule is not None and rule.action == CUT_REQUEST:
                    raise Ended
                if rule is not None and rule.action == REFUSE:
                    self._refuse(client, noted, rule)
                    continue
                if server is None:
                    server = Side(socket.create_connection(self.target, 10))
                    server.sock.settimeout(None)
                    server.other = client
                    self.sides.add(server)
                self._send(server, raw + body)
                self._answer(client, server, noted, rule)
        except Finished:
            client.finish()
        except (Ended, OSError, ValueError):
            pass
        finally:
            for side in (client, server):
                if side is not None:
                    self.sides.discard(side)
                    side.reset()

    def _rule_for(self, noted):
        with self.lock:
            for rule in self.rules:
                if rule.path.search(noted.path) and rule.times != 0:
                    if rule.when is None and not self._take(rule):
                        continue
                    noted.action = rule.action if rule.when is None else PASS
                    return rule
        return None

    @staticmethod
    def _take(rule):
        rule.seen += 1
        if rule.times == 0 or rule.seen % rule.every != 0:
            return False
        rule.times = None if rule.times is None else rule.times - 1
        rule.used += 1
        return True

    def _refuse(self, client, noted, rule):
        code = {429: "rate_limited", 503: "unavailable"}.get(rule.status, "io_error")
        self._send_problem(client, noted, rule, {"code": code, "detail": "for a while",
                                                 "retry": True, "what_next": "retry"})

    @staticmethod
    def _send_problem(client, noted, rule, members):
        body = json.dumps({"type": "about:blank", "title": "Refused", "status": rule.status,
                           **members}).encode()
        headers = {"Content-Type": "application/problem+json", "Content-Length": len(body),
                   **rule.headers}
        noted.status = rule.status
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        client.sock.sendall(f"HTTP/1.1 {rule.status} Refused\r\n{lines}\r\n".encode() + body)

    def _answer(self, client, server, noted, rule):
        raw, first, headers = server.head()
        noted.status = int(first.split(" ")[1])
        pieces = server.body(headers, until_end=True)
        action = rule.action if rule is not None else PASS
        if action == PASS:
            self._send(client, raw)
            for piece in pieces:
                self._send(client, piece)
        else:
            body = b"".join(pieces)
            if rule.when is not None and not (self._fits(rule, body) and self._take_later(rule)):
                action = PASS
            noted.action = action
            if action == DOUBT:
                self._send_problem(client, noted, rule, {
                    "code": "answer_timeout", "detail": "it may have been executed",
                    "retry": False, "what_next": "in_doubt"})
                return
            if action == CUT_ANSWER:
                raise Ended
            if action == CUT_MIDDLE:
                client.sock.sendall((raw + body)[:len(raw) + len(body) // 2])
                raise Ended
            if action == DELAY:
                threading.Event().wait(rule.seconds)
            self._send(client, raw + body)
        if headers.get("connection", "").lower() == "close":
            raise Finished

    def _take_later(self, rule):
        with self.lock:
            return rule.times != 0 and self._take(rule)

    @staticmethod
    def _fits(rule, body):
        try:
            return bool(rule.when(json.loads(body)))
        except ValueError:
            return False

    def _send(self, side, data):
        if not self.byte_delay_s:
            side.sock.sendall(data)
            return
        for i in range(len(data)):
            side.sock.sendall(data[i:i + 1])
            threading.Event().wait(self.byte_delay_s)
