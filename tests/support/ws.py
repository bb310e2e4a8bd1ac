"""A WebSocket client for tests (RFC 6455), and a member that receives from a broker with it.
Standard library only; signatures by libsodium."""

import base64
import ctypes
import ctypes.util
import hashlib
import json
import os
import socket
import struct

from support.deadline import DEADLINE_S

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Closed(Exception):
    """The connection has ended: by a close frame with this code, or without one (1006)."""

    def __init__(self, code, reason=""):
        super().__init__(f"closed {code} {reason}")
        self.code = code
        self.reason = reason


class Refused(Exception):
    """The upgrade was answered with another status than 101."""

    def __init__(self, status, head):
        super().__init__(head)
        self.status = status
        self.head = head


def frame(opcode, payload):
    """A masked frame."""
    mask = os.urandom(4)
    size = len(payload)
    head = bytes([0x80 | opcode])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65536:
        head += bytes([0x80 | 126]) + struct.pack(">H", size)
    else:
        head += bytes([0x80 | 127]) + struct.pack(">Q", size)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class WebSocket:
    """Opens /v1/ws. Pings are answered while it waits for a message."""

    def __init__(self, address, path="/v1/ws", headers=None, receive_buffer=None,
                 timeout=DEADLINE_S):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(timeout)
        self.unread = b""
        self.end = None
        try:
            self.sock.connect(address)
            self.upgrade(path, headers)
        except (OSError, Closed, Refused):
            self.sock.close()
            raise

    def upgrade(self, path, headers):
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13", **(headers or {})}
        self.sock.sendall((f"GET {path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n").encode())
        head = self.read_until(b"\r\n\r\n").decode()
        status = int(head.split(" ")[1])
        if status != 101:
            raise Refused(status, head)
        accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
        assert f"Sec-WebSocket-Accept: {accept}\r\n" in head, head

    def more(self):
        try:
            piece = self.sock.recv(1 << 16)
        except ConnectionError:
            piece = b""
        if not piece:
            self.end = self.end or Closed(1006)
            raise self.end
        self.unread += piece

    def read_until(self, mark):
        while mark not in self.unread:
            self.more()
        found, self.unread = self.unread.split(mark, 1)
        return found + mark

    def take(self, count):
        while len(self.unread) < count:
            self.more()
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def receive_frame(self):
        """(opcode, payload); frames of a server are neither masked nor fragmented."""
        first, size = self.take(2)
        assert first & 0xF0 == 0x80 and size < 128, (first, size)
        if size == 126:
            size = struct.unpack(">H", self.take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.take(8))[0]
        return first & 0x0F, self.take(size)

    def receive(self):
        """The next message as JSON. Raises Closed at the end."""
        while True:
            if self.end:
                raise self.end
            opcode, payload = self.receive_frame()
            if opcode == TEXT:
                return json.loads(payload)
            if opcode == PING:
                self.sock.sendall(frame(PONG, payload))
            if opcode == CLOSE:
                code = struct.unpack(">H", payload[:2])[0] if payload else 1005
                self.end = Closed(code, payload[2:].decode())
                raise self.end

    def closed(self):
        """The code with which it ends; messages before are dropped."""
        try:
            while True:
                self.receive()
        except Closed as end:
            return end.code

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.sock.sendall(frame(TEXT, text))

    def close(self, code=1000):
        try:
            self.sock.sendall(frame(CLOSE, struct.pack(">H", code)))
        except OSError:
            pass
        self.sock.close()

    def drop(self):
        """Without a close frame."""
        self.sock.close()


class Receiver(WebSocket):
    """A member that has said hello, negotiated, and receives."""

    def __init__(self, address, token, mesh="team", require=("client_message_id_dedupe",),
                 hello=None, **options):
        super().__init__(address, **options)
        try:
            self.challenge = self.receive()
            self.send({"type": "hello", "mesh": mesh, "token": token, **(hello or {})})
            self.ack_of_hello = self.receive()
            self.send({"type": "feature_negotiation_request", "require": list(require)})
            self.features = self.receive()
        except (OSError, Closed):
            self.drop()
            raise

    def next(self, kind):
        """The next frame of a type; others are kept out of the way."""
        while True:
            got = self.receive()
            if got["type"] == kind:
                return got

    def pushed(self, count):
        """At least so many deliveries."""
        deliveries = []
        while len(deliveries) < count:
            deliveries += self.next("push")["deliveries"]
        return deliveries

    def ack(self, deliveries):
        self.send({"type": "client_ack",
                   "delivery_ids": [one["delivery_id"] for one in deliveries]})
        return self.next("ack")


def ids(deliveries):
    return [one["client_message_id"] for one in deliveries]


class Key:
    """An ed25519 key."""

    def __init__(self):
        self.sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
        self.public, self.secret = (ctypes.create_string_buffer(size) for size in (32, 64))
        assert self.sodium.crypto_sign_keypair(self.public, self.secret) == 0

    @property
    def text(self):
        return self.public.raw.hex()

    def hello(self, mesh, nonce, timestamp):
        text = f"holdfast-hello-1|{mesh}|{self.text}|{timestamp}|{nonce}".encode()
        signature = ctypes.create_string_buffer(64)
        self.sodium.crypto_sign_detached(signature, None, text, ctypes.c_ulonglong(len(text)),
                                         self.secret)
        return {"type": "hello", "mesh": mesh, "pubkey": self.text, "timestamp": timestamp,
                "signature": signature.raw.hex()}
