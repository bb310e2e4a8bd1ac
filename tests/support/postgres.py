"""A private PostgreSQL server for tests, in a temporary directory, on a free port of 127.0.0.1."""

import contextlib
import ctypes
import glob
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile

from support import server

PR_SET_PDEATHSIG = 1


def binaries():
    """The directory of the newest PostgreSQL, or $HOLDFAST_TEST_POSTGRES_BIN."""
    given = os.environ.get("HOLDFAST_TEST_POSTGRES_BIN")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not given and not found:
        raise AssertionError("PostgreSQL is not installed")
    return given or found[-1]


def free_port():
    """A port on which no process listens, returned only once. It is below the range of ephemeral
    ports, so that a server that is down for a moment finds its port free again."""
    for port in _ports:
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


_ports = iter(random.sample(range(15000, 32000), 17000))


def as_postgres():
    """For preexec_fn: a user that PostgreSQL accepts; the process dies with the test."""
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def own_folder(prefix, parent="/tmp"):
    """A directory owned by the user that runs the servers."""
    folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


def run(*arguments, **options):
    return subprocess.run(arguments, preexec_fn=as_postgres, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=server.DEADLINE_S, **options)


def sql(port, text, check=True):
    """What psql prints, rows only; None if it fails and check is false."""
    said = run(os.path.join(binaries(), "psql"), "-h", "127.0.0.1", "-p", str(port), "-U",
               "postgres", "-d", "postgres", "-XAtq", "-c", text, cwd="/")
    if said.returncode != 0:
        if check:
            raise AssertionError(f"psql: {said.stderr}")
        return None
    return said.stdout.strip()


class Cluster:
    """Can be stopped in every way and restarted in place."""

    def __init__(self):
        self.folder = own_folder("holdfast_pg_")
        self.data = os.path.join(self.folder, "data")
        self.port = free_port()
        self.process = None
        # --no-sync: a crash of the machine ends the test too.
        made = run(os.path.join(binaries(), "initdb"), "-D", self.data, "-U", "postgres",
                   "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", cwd="/")
        if made.returncode != 0:
            raise AssertionError(f"initdb: {made.stderr}")

    @property
    def url(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres?schema=faults"

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(binaries(), "postgres"), "-D", self.data, "-p", str(self.port),
                 "-h", "127.0.0.1", "-k", self.folder, "-c", "max_connections=60"],
                preexec_fn=as_postgres, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        server.wait_until(lambda: sql(self.port, "SELECT 1", check=False) == "1", "PostgreSQL")
        return self

    def stop(self, how=signal.SIGINT):
        """SIGINT: fast; SIGQUIT: immediate, like a crash."""
        self.process.send_signal(how)
        self.process.wait(server.DEADLINE_S)

    def terminate_backends(self):
        """Ends every connection but its own; returns their number."""
        return int(sql(self.port, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                                  "WHERE backend_type = 'client backend' "
                                  "AND pid <> pg_backend_pid()"))

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(server.DEADLINE_S)
        shutil.rmtree(self.folder, ignore_errors=True)
