"""A private Redis server for tests, without persistence, and a plain RESP client. Standard library
only."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from support import server

PR_SET_PDEATHSIG = 1


def die_with_the_test():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class RedisError(Exception):
    pass


class Client:
    """One connection; every value is text."""

    def __init__(self, path, timeout=server.DEADLINE_S):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def __call__(self, *words):
        parts = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(
            b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest.decode()


class Redis:
    """A server on a unix socket, which can be killed and restarted; a kill loses its data."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast-redis-")
        self.path = os.path.join(self.folder, "redis.sock")
        self.process = None

    @property
    def url(self):
        return "redis+unix://" + self.path

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "",
             "--appendonly", "no", "--dir", self.folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=die_with_the_test)
        server.wait_until(self.answers, "redis-server starts")
        return self

    def answers(self):
        try:
            client = Client(self.path)
        except OSError:
            return False
        try:
            return client("PING") == "PONG"
        except (OSError, RedisError):
            return False
        finally:
            client.close()

    def client(self):
        return Client(self.path)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
