#!/usr/bin/env python3
"""A receiver that verifies webhooks with `standardwebhooks` of npm, the reference implementation.

Run as: python3 tests/webhook_clients_test.py path/to/holdfast
"""

import pathlib
import shutil
import subprocess

from support import broker, cli, server
from support.broker import message
from support.deadline import DEADLINE_S

FOLDER = pathlib.Path(__file__).resolve().parent / "webhook_clients"


class WebhookClients(broker.BrokerTest):
    def options(self):
        return ("--webhook-allow", "127.0.0.1")

    def setUp(self):
        super().setUp()
        self.modules = pathlib.Path(self.path("clients"))
        self.modules.mkdir()
        for name in ("package.json", "package-lock.json", "verify.mjs"):
            shutil.copy(FOLDER / name, self.modules)
        done = subprocess.run(("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
                              cwd=self.modules, timeout=DEADLINE_S, capture_output=True, text=True,
                              env=server.clean_environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def receiver(self, secret, count):
        process = subprocess.Popen(("node", "verify.mjs", secret, str(count)), cwd=self.modules,
                                   stdout=subprocess.PIPE, text=True,
                                   env=server.clean_environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def make(self, url, secret):
        return self.admin.good("POST", "/v1/workspaces/team/webhooks",
                               {"url": url, "secret": secret})["webhook"]["webhook_id"]

    def test_WH_01_WH_06_the_reference_implementation_verifies(self):
        secret, other = "whsec_" + "A" * 44, "whsec_" + "B" * 44
        bodies = ["", "plain", "grüße €😀", "\n\"\\", "x" * 20_000]
        process, url = self.receiver(secret, len(bodies) + 1)
        webhook = self.make(url, secret)
        for n, body in enumerate(bodies):
            self.send(message(f"m-{n}", body))
            self.assertEqual(process.stdout.readline().rstrip("\n"),
                             f"verified message.accepted m-{n} {body}".split("\n")[0])
            if "\n" in body:
                process.stdout.readline()
        # Another secret signs, and the former one too: it still verifies.
        self.admin.good("POST", f"/v1/workspaces/team/webhooks/{webhook}/rotate",
                        {"secret": other, "overlap_seconds": 60})
        self.send(message("rotated", "r"))
        self.assertEqual(process.stdout.readline(), "verified message.accepted rotated r\n")

    def test_WH_01_it_refuses_what_another_secret_signed(self):
        process, url = self.receiver("whsec_" + "A" * 44, 1)
        self.make(url, "whsec_" + "B" * 44)
        self.send(message("m-1"))
        self.assertIn("refused No matching signature", process.stdout.readline())


if __name__ == "__main__":
    cli.main(__doc__)
