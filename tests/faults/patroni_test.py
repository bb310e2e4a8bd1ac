#!/usr/bin/env python3
"""A cluster of three PostgreSQL servers under Patroni and etcd, with synchronous replication, loses
its primary again and again under two servers, remote workers and steady load over HTTP. No
acknowledged write is lost, nothing is applied twice, and work continues without intervention.

Run as: python3 tests/faults/patroni_test.py path/to/holdfast
HOLDFAST_KILLS: how often the primary is killed (20).
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from support import cli, postgres, server, steady_load  # noqa: E402

KILLS = int(os.environ.get("HOLDFAST_KILLS", "20"))
FAILOVER_S = 180

CONFIG = """
scope: holdfast
name: {name}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{hosts: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {{wal_log_hints: "on", max_connections: 60, wal_keep_size: 256MB}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}]
postgresql:
  pg_hba:
    - local all all trust
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{port}
  data_dir: {folder}/{name}
  bin_dir: {binaries}
  pgpass: {folder}/{name}.pgpass
  authentication:
    superuser: {{username: postgres, password: none}}
    replication: {{username: replicator, password: none}}
  parameters: {{unix_socket_directories: "{folder}"}}
"""


class Node:
    """One Patroni and its PostgreSQL."""

    def __init__(self, folder, name, etcd):
        self.name = name
        self.folder = folder
        self.port = postgres.free_port()
        self.rest = postgres.free_port()
        self.patroni = None
        self.config = os.path.join(folder, name + ".yml")
        pathlib.Path(self.config).write_text(CONFIG.format(
            name=name, rest=self.rest, etcd=etcd, port=self.port, folder=folder,
            binaries=postgres.binaries()), encoding="utf-8")

    def start(self):
        with open(os.path.join(self.folder, self.name + ".log"), "ab") as log:
            self.patroni = subprocess.Popen(["patroni", self.config], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, cwd=self.folder,
                                            preexec_fn=postgres.as_postgres)

    def postmaster(self):
        """Its process id, or None if it is not running."""
        try:
            lines = pathlib.Path(self.folder, self.name, "postmaster.pid").read_text().split("\n")
            os.kill(int(lines[0]), 0)
            return int(lines[0])
        except (OSError, ValueError):
            return None

    def kill_postgres(self):
        if (pid := self.postmaster()) is not None:
            os.kill(pid, signal.SIGKILL)

    def kill_patroni(self):
        self.patroni.kill()
        self.patroni.wait()

    def revive(self):
        if self.patroni is None or self.patroni.poll() is not None:
            self.start()


class Trio:
    def __init__(self):
        self.folder = postgres.own_folder("holdfast_patroni_")
        self.etcd_port = postgres.free_port()
        peer = postgres.free_port()
        with open(os.path.join(self.folder, "etcd.log"), "ab") as log:
            self.etcd = subprocess.Popen(
                ["etcd", "--data-dir", os.path.join(self.folder, "etcd"),
                 "--listen-client-urls", f"http://127.0.0.1:{self.etcd_port}",
                 "--advertise-client-urls", f"http://127.0.0.1:{self.etcd_port}",
                 "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                 "--initial-cluster", f"default=http://127.0.0.1:{peer}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder,
                preexec_fn=postgres.as_postgres)
        self.nodes = [Node(self.folder, name, self.etcd_port) for name in ("n1", "n2", "n3")]
        for node in self.nodes:
            node.start()

    @property
    def url(self):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgres://postgres@{hosts}/postgres?schema=faults&target_session_attrs=read-write"

    def members(self):
        """The cluster members as reported by the first Patroni that responds, by name."""
        for node in self.nodes:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{node.rest}/cluster",
                                            timeout=5) as answer:
                    return {one["name"]: one for one in json.load(answer)["members"]}
            except OSError:
                continue
        return {}

    def healthy_primary(self):
        """The primary, if there is one and both replicas follow it without lag."""
        members = self.members()
        roles = {name: one["role"] for name, one in members.items()}
        healthy = (sorted(roles.values()) == ["leader", "replica", "sync_standby"]
                   and all(one["state"] in ("running", "streaming") for one in members.values())
                   and len({one.get("timeline") for one in members.values()}) == 1
                   and all(one.get("lag", 0) == 0 for one in members.values()))
        if not healthy:
            return None
        return next(node for node in self.nodes if roles[node.name] == "leader")

    def wait_until_healthy(self):
        return server.wait_until(self.healthy_primary, f"a healthy cluster ({self.members()})",
                                 FAILOVER_S)

    def described(self):
        """The state of the cluster, for the message of a failing test."""
        text = f"{self.members()}\n"
        for node in self.nodes:
            activity = postgres.sql(
                node.port, "SELECT pg_is_in_recovery(), current_setting("
                "'synchronous_standby_names'), array_agg(wait_event || ': ' || left(query, 60)) "
                "FROM pg_stat_activity WHERE backend_type = 'client backend'", check=False)
            log = pathlib.Path(self.folder, node.name + ".log").read_text(errors="replace")
            text += f"{node.name}: {activity}\n{log[-1500:]}\n"
        return text

    def close(self):
        for node in self.nodes:
            if node.patroni.poll() is None:
                node.kill_patroni()
            node.kill_postgres()
        self.etcd.kill()
        self.etcd.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class PatroniTest(cli.CliTest):
    def test_no_acknowledged_write_is_lost_when_the_primary_dies(self):
        trio = Trio()
        self.addCleanup(trio.close)
        trio.wait_until_healthy()
        servers = [server.Server(cli.program(), trio.url, log=self.path(name)) for name in "ab"]
        for one in servers:
            self.addCleanup(one.close)
            one.start()
        steady_load.wait_until_ready(servers)
        servers[0].client().good("POST", "/v1/workflows", steady_load.WORKFLOW)
        load = steady_load.Load(servers)
        self.addCleanup(load.ending.set)
        times = {"postgres": [], "patroni": [], "node": []}
        with steady_load.workers(cli.program(), servers) as workers:
            load.begin()
            load.wait_for_progress()
            for number in range(KILLS):
                primary = trio.wait_until_healthy()
                kind = list(times)[number % len(times)]
                begin = time.monotonic()
                if kind != "postgres":
                    primary.kill_patroni()
                if kind != "patroni":
                    primary.kill_postgres()
                if kind != "postgres":
                    # A PostgreSQL without its Patroni continues as an uncontrolled primary until
                    # its Patroni is back and demotes it.
                    server.wait_until(lambda old=primary: self.other_leader(trio, old),
                                      "another leader", FAILOVER_S)
                    primary.revive()
                try:
                    steady_load.wait_until_ready(servers, FAILOVER_S)
                    load.wait_for_progress(deadline_s=FAILOVER_S)
                except AssertionError as failure:
                    raise AssertionError(
                        f"kill {number} ({kind} of {primary.name}): {failure}\n"
                        + trio.described() + servers[0].logged()[-3000:]) from failure
                times[kind].append(time.monotonic() - begin)
                primary.revive()
                for process in [one.process for one in servers] + workers:
                    self.assertIsNone(process.poll(), f"exited after kill {number} ({kind})")
            load.end()
            server.wait_until(lambda: steady_load.all_ended(servers[0].client()), "all runs end",
                              FAILOVER_S)
        for one in servers:
            self.assertEqual(one.stop(), 0)
        trio.wait_until_healthy()
        steady_load.judge(self, cli.program(), trio.url, load)
        print(f"{KILLS} kills of the primary, {len(load.acknowledged)} starts acknowledged, "
              f"{len(load.unknown)} in doubt, {load.refused} refused as unavailable",
              file=sys.stderr)
        for kind, taken in times.items():
            if taken:
                taken.sort()
                print(f"  {kind}: progress after {taken[len(taken) // 2]:.1f} s (median), "
                      f"{taken[-1]:.1f} s (longest) of {len(taken)}", file=sys.stderr)

    @staticmethod
    def other_leader(trio, old):
        return any(one["role"] == "leader" and name != old.name
                   for name, one in trio.members().items())


if __name__ == "__main__":
    cli.main(__doc__)
