#!/usr/bin/env python3
"""A server on a full disk: acknowledged writes are kept, the server reports why it stops, and it
continues after space was freed.

Run as: python3 tests/faults/server_disk_test.py path/to/holdfast

Needs root, or a system that allows unprivileged user namespaces: it mounts a small tmpfs in its own
namespace.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import cli, server

INSIDE = "IN_MOUNT_NAMESPACE"
LEAVE = {"workflow": "leave", "steps": [{"name": "boss", "approval": True}]}


class FullDiskTest(cli.CliTest):
    def check(self, size):
        disk = pathlib.Path(self.path("disk"))
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "holdfast", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(3_000_000))
        one = server.Server(cli.program(), f"sqlite:{disk}/s.db", log=self.path("log")).start()
        self.addCleanup(one.close)
        client = one.client()
        client.good("POST", "/v1/workflows", LEAVE)
        acknowledged = []
        while (answer := self.start(client)).status == 201:
            acknowledged.append(answer.json()["run_id"])
        self.assertEqual((answer.status, answer.code), (507, "disk_full"))
        self.assertNotIn(str(disk), answer.text, "the response shows the path of the store")
        self.assertEqual(one.process.wait(server.DEADLINE_S), 5)
        self.assertIn("the disk is full", one.logged())
        ballast.unlink()
        client = one.start().client()
        for run in acknowledged:
            self.assertEqual(client.get(f"/v1/runs/{run}").status, 200, "lost")
        self.assertEqual(self.start(client).status, 201)
        self.assertEqual(one.stop(), 0)
        self.ok("journal", "verify", one.store)

    @staticmethod
    def start(client):
        return client.post("/v1/runs", {"workflow": "leave", "input": {"pad": "x" * 3000}})

    def test_while_the_write_ahead_log_grows(self):
        self.check("6m")

    def test_while_the_write_ahead_log_is_checkpointed(self):
        self.check("8m")


if __name__ == "__main__":
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        os.execvp("unshare", ["unshare", "--mount", *as_root, sys.executable, *sys.argv])
    cli.main(__doc__)
