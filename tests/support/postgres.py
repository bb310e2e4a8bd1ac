"""A PostgreSQL server of its own for a test, in a temporary folder. Standard library only."""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile

from support import server


def _bin():
    chosen = os.environ.get("HOLDFAST_TEST_POSTGRES_BIN")
    found = [pathlib.Path(chosen)] if chosen else sorted(
        pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found or not (found[-1] / "postgres").exists():
        raise AssertionError("PostgreSQL is missing: install the Debian package postgresql")
    return found[-1]


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Cluster:
    """One server; it ends with the test, however that ends."""

    def __init__(self):
        self.bin = _bin()
        self.folder = tempfile.mkdtemp(prefix="hfpg.")
        self.port = _free_port()
        self.process = None
        # PostgreSQL refuses to run as root.
        self.prefix = ["setpriv", "--pdeathsig", "QUIT"]
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.prefix += ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        # --no-sync: a machine that crashes takes the test along.
        subprocess.run([*self.prefix, self.bin / "initdb", "-D", f"{self.folder}/data", "-U",
                        "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
                       check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def start(self):
        settings = ["listen_addresses=127.0.0.1", f"port={self.port}", "fsync=on",
                    f"unix_socket_directories={self.folder}", "max_connections=50",
                    "shared_buffers=16MB"]
        options = [word for setting in settings for word in ("-c", setting)]
        with open(f"{self.folder}/server.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, self.bin / "postgres", "-D", f"{self.folder}/data", *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True)
        server.wait_until(self._ready, "the PostgreSQL server")
        return self

    def _ready(self):
        if self.process.poll() is not None:
            log = pathlib.Path(self.folder, "server.log").read_text(encoding="utf-8")
            raise AssertionError(f"PostgreSQL ended at once: {log[-2000:]}")
        pid_file = pathlib.Path(self.folder, "data", "postmaster.pid")
        lines = pid_file.read_text(encoding="utf-8").splitlines() if pid_file.exists() else []
        return len(lines) > 7 and lines[7].startswith("ready")

    def url(self, schema):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres?schema={schema}"

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(3)  # SIGQUIT: at once, with all of its processes
            self.process.wait(server.DEADLINE_S)
        shutil.rmtree(self.folder, ignore_errors=True)
