#!/usr/bin/env python3
"""Commands report the same through a server as directly on the store, in text and in JSON.

Run as: python3 tests/runs_server_test.py path/to/holdfast
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading

from support import cli, golden

GUIDE = pathlib.Path(__file__).resolve().parent.parent / "docs/guide/servers.md"
LOOKS = (["explain"], ["show"], ["graph"], ["graph", "--dot"], ["graph", "--mermaid"],
         ["timeline"], ["timeline", "--events"], ["diff", "--from", "r1"],
         ["explain", "--at", "r1"], ["show", "--at", "r2"])


@contextlib.contextmanager
def server(directory, *options, env=None):
    """A server on the default store of a directory, and its URL: a unix socket in that
    directory."""
    socket = os.path.join(directory, "socket")
    with cli.started("server", "--listen", "127.0.0.1:0", "--socket", socket, "--log-level",
                     "warning", "--json", *options, cwd=directory, env=env,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        output = cli.Output(process.stdout.fileno())
        said = output.wait_for(rb'"url":"http://[^"]*"')
        url = re.search(rb'"url":"(http://[^"]*)"', said)[1].decode()
        output.wait_for(rb'"url":"unix:[^"]*"')
        yield Served(process, url, "unix:" + socket)


class Served:
    def __init__(self, process, url, socket_url):
        self.process = process
        self.url = url
        self.socket_url = socket_url

    def stop(self, test):
        self.process.send_signal(signal.SIGTERM)
        test.assertEqual(self.process.wait(cli.DEADLINE_S), 0)


class ServerTest(cli.RunsTest):
    """A server on the default store of the directory; commands use either the server or the
    store."""

    def setUp(self):
        super().setUp()
        self.ok("journal", "append", "sqlite:holdfast.db", "note:1", "noted")
        self.served = self.enterContext(server(self.directory))

    def at_server(self, *args, **options):
        env = {"HOLDFAST_SERVER": self.served.url, **options.pop("env", {})}
        return self.run_here(*args, env=env, **options)

    def same(self, *args):
        """Runs a command on both and checks that output and exit code are equal; returns the
        output."""
        here = self.run_here(*args)
        there = self.at_server(*args)
        names = golden.Names()
        as_json = "--json" in args and here.returncode in (0, 1)
        seen = []
        for result in (here, there):
            text = result.stdout
            if as_json:
                text = golden.laid_out(without_varying(names.value(json.loads(text))))
            seen.append((result.returncode, names.text(text), names.text(result.stderr)))
        self.assertEqual(seen[0], seen[1], args)
        return here

    def same_both(self, *args):
        self.same(*args)
        self.same(*args, "--json")


def without_varying(value):
    """Without the values that depend on the time."""
    if isinstance(value, dict):
        return {name: without_varying(member) for name, member in value.items()
                if name not in ("as_of", "now", "age_ms", "oldest_age_ms")}
    if isinstance(value, list):
        return [without_varying(member) for member in value]
    return value


class Looking(ServerTest):
    def look_everywhere(self, run):
        for command, *options in LOOKS:
            self.same(command, run, *options)
            if not {"--dot", "--mermaid"} & set(options):
                self.same(command, run, *options, "--json")
        self.same("graph", run, "--history", "--json")

    def test_an_empty_store(self):
        for command in (["list"], ["status"], ["doctor"], ["workflow", "list"]):
            self.same_both(*command)

    def test_runs_in_several_states(self):
        runs = [self.drained("bread.yaml", {"flour": 2}), self.drained("leave.yaml", {"who": "A"}),
                self.drained("glass.yaml"), self.drained("parcels.yaml", {"things": ["tea"]}),
                self.drained("nap.yaml")]
        for run in runs:
            self.look_everywhere(run)
        self.look_everywhere("latest")
        self.look_everywhere(runs[0][-8:])
        for command in (["list"], ["status"], ["doctor"], ["workflow", "list"]):
            self.same_both(*command)

    def test_lists(self):
        self.start("bread.yaml", {}, "--attribute", "customer=ann", "--attribute", "total=12")
        self.start("leave.yaml", {"who": "Ann"}, "--attribute", "customer=ann")
        before = self.ok_json("status")["as_of"]["position"]
        self.drained("glass.yaml", {}, "--attribute", "customer=bob")
        for options in (["--oldest-first"], ["--workflow", "bread"], ["--status", "failed"],
                        ["--status", "failed", "--status", "paused"], ["--since", "1h"],
                        ["--until", "1h"], ["--since", "2026-01-01", "--until", "9999-01-01"],
                        ["--attribute", "customer=ann"], ["--archived"], ["--at", before],
                        ["--attribute", "customer=ann", "--attribute", "total=12"],
                        ["--attribute", 'total="12"'], ["--workflow", "none"], ["--limit", "2"]):
            self.same_both("list", *options)
        page = json.loads(self.at_server("list", "--limit", "2", "--json").stdout)
        self.same("list", "--limit", "2", "--cursor", page["next"])

    def test_workflows(self):
        self.start("bread.yaml")
        self.start("bread2.yaml")
        for command in (["list"], ["show", "bread"], ["show", "bread@1"], ["show", "parcels.yaml"],
                        ["show", "bread2.yaml"], ["diff", "bread@1", "bread@2"],
                        ["diff", "bread", "bread2.yaml"]):
            self.same_both("workflow", *command)

    def test_refusals(self):
        run = self.drained("bread.yaml")
        for command in (["show", "none-such"], ["explain", "00000000-0000-7000-8000-000000000000"],
                        ["show", "latest", "--at", "r99"], ["list", "--status", "odd"],
                        ["list", "--since", "soon"], ["list", "--attribute", "x"],
                        ["list", "--cursor", "odd"], ["list", "--limit", "0"],
                        ["workflow", "show", "none"], ["workflow", "diff", "bread", "none"],
                        ["start", "none"], ["cancel", run], ["approve", run, "--actor", "ann"],
                        ["signal", run, "paid"], ["replay", "none-such"]):
            self.same(*command)

    def test_printed_commands_repeat_the_given_options(self):
        run = self.drained("leave.yaml", {"who": "Ann"})
        said = self.ok("explain", run, "--server", self.served.url)
        self.assertIn(f"--actor YOU --server {self.served.url}\n", said)
        said = self.at_server("explain", run).stdout
        self.assertIn("--actor YOU\n", said)
        said = self.ok("approve", run, "--actor", "ann", "--server", self.served.url)
        self.assertIn("is approved by ann", said)


class RunCommands(ServerTest):
    """Two equal runs: one is controlled through the store, the other through the server."""

    def alike(self, workflow, given, *command):
        for form in ((), ("--json",)):
            said = []
            for ask in (self.run_here, self.at_server):
                run = self.drained(workflow, given)
                result = ask(command[0], run, *command[1:], *form)
                self.assertEqual((result.returncode, result.stderr), (0, ""), command)
                names = golden.Names()
                text = result.stdout
                if form and "run_id" in text:
                    text = golden.laid_out(without_varying(names.value(json.loads(text))))
                said.append(names.text(text).replace('"embedded"', '"cli"'))
            self.assertEqual(said[0], said[1], command)

    def test_each(self):
        self.alike("leave.yaml", {"who": "Ann"}, "approve", "--actor", "bob", "--comment", "Fine.")
        self.alike("leave.yaml", {"who": "Ann"}, "reject", "--actor", "bob")
        self.alike("leave.yaml", {"who": "Ann"}, "cancel", "--actor", "bob")
        self.alike("leave.yaml", {"who": "Ann"}, "cancel", "--stop")
        self.alike("review.yaml", {"what": "it"}, "resume", "--step", "look", "--actor", "ann")
        self.alike("invoice.yaml", {"number": "n-7"}, "signal", "paid", "--correlation", "n-7",
                   "--data", '{"amount":1}')

    def test_replay_prints_an_id(self):
        run = self.drained("bread.yaml", {"flour": 1})
        said = self.at_server("replay", run, "--from-step", "bake")
        self.assertRegex(said.stdout, rf"\A{cli.RUN_ID.pattern}\n\Z")
        self.assertNotEqual(said.stdout.strip(), run)
        again = self.drained("rocket.yaml")
        refused = self.at_server("replay", again)
        self.assertEqual(refused.returncode, 4)
        self.assertIn("--allow-irreversible", refused.stderr)

    def test_start_by_file_and_by_name(self):
        first = self.at_server("start", "bread.yaml", "--input", '{"flour":1}', "--key", "monday")
        self.assertEqual(first.stderr, "")
        again = self.at_server("start", "bread", "--input", '{"flour":1}', "--key", "monday",
                               "--json")
        self.assertEqual(json.loads(again.stdout),
                         {"run_id": first.stdout.strip(), "existed": True})
        self.assertEqual(self.shown(first.stdout.strip())["workflow"], "bread")


class Running(cli.RunsTest):
    """run and work with a server."""

    def test_run_prints_the_same_as_on_a_store(self):
        for workflow, given, code in (("bread.yaml", '{"flour":2}', 0), ("glass.yaml", "{}", 1)):
            here = self.run_here("run", workflow, "--input", given, "--store", "sqlite:other.db")
            with server(self.directory, "--work", "2") as served:
                env = {"HOLDFAST_SERVER": served.url}
                there = self.run_here("run", workflow, "--input", given, env=env)
                quiet = self.run_here("run", workflow, "--input", given, "--json", env=env)
                self.assertEqual(json.loads(quiet.stdout)["status"],
                                 "completed" if code == 0 else "failed")
                served.stop(self)
            self.assertEqual((there.returncode, there.stderr), (code, ""))
            said = [golden.Names().text(re.sub(r" --store \S+", "", result.stdout))
                    for result in (here, there)]
            self.assertEqual(said[0], said[1])

    def test_until_blocked(self):
        with server(self.directory, "--work", "2") as served:
            said = self.run_here("run", "leave.yaml", "--input", '{"who":"Ann"}',
                                 "--until-blocked", "--server", served.url)
            self.assertEqual(said.returncode, 6, said)
            self.assertIn(f"holdfast approve {cli.RUN_ID.search(said.stdout)[0]}", said.stdout)
            served.stop(self)

    def test_run_survives_a_restart_of_the_server(self):
        env = {"HOLDFAST_SERVER": "unix:" + self.path("socket")}
        with contextlib.ExitStack() as stack:
            with server(self.directory) as served:
                run = stack.enter_context(cli.started("run", "leave.yaml", "--input",
                                                      '{"who":"Ann"}', cwd=self.directory,
                                                      env=env, stdout=subprocess.PIPE))
                output = cli.Output(run.stdout.fileno())
                output.wait_for(rb"holdfast approve")
                served.stop(self)
            with server(self.directory, "--work", "1"):
                self.ok("approve", "latest", "--actor", "ann", env=env)
                self.assertEqual(run.wait(cli.DEADLINE_S), 0)
                text = output.read_to_end()
            self.assertIn(b" completed after ", text)
            # Nothing is printed twice.
            self.assertEqual(text.count(b"run of workflow leave started"), 1, text)

    def test_work_executes_steps_of_a_server(self):
        with server(self.directory) as served:
            env = {"HOLDFAST_SERVER": served.url}
            run = self.ok("start", "bread.yaml", "--input", '{"flour":2}', env=env).strip()
            with cli.started("work", cwd=self.directory, env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) as worker:
                cli.wait_until(lambda: self.ok_json("show", run, env=env)["terminal"])
                worker.send_signal(signal.SIGTERM)
                self.assertEqual(worker.wait(cli.DEADLINE_S), 0)
                self.assertIn(b"2 steps executed", worker.stdout.read())
            self.fails(2, "work", "--drain", env=env, says="--drain needs a store")

    def test_a_worker_that_starts_before_its_server_waits_for_it(self):
        url = "unix:" + self.path("socket")
        env = {"HOLDFAST_SERVER": url}
        for command in (["worker"], ["work", "--with", "bread.yaml"]):
            with self.subTest(command):
                with cli.started(*command, cwd=self.directory, env=env, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) as worker:
                    said = cli.Output(worker.stderr.fileno())
                    said.wait_for(rb"waiting for the server " + url.encode() + rb": .*\n")
                    with server(self.directory) as served:
                        said.wait_for(rb"working for unix:")
                        run = self.ok("start", "bread.yaml", "--input", '{"flour":2}',
                                      env=env).strip()
                        cli.wait_until(lambda: self.ok_json("show", run, env=env)["terminal"])
                        worker.send_signal(signal.SIGTERM)
                        self.assertEqual(worker.wait(cli.DEADLINE_S), 0)
                        self.assertEqual(said.read_to_end().count(b"waiting for the server"), 1)
                        served.stop(self)

    def test_a_worker_that_waits_for_its_server_can_be_stopped(self):
        with cli.started("worker", "--server", "unix:" + self.path("socket"), cwd=self.directory,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE) as worker:
            cli.Output(worker.stderr.fileno()).wait_for(b"waiting for the server")
            worker.send_signal(signal.SIGINT)
            self.assertEqual(worker.wait(cli.DEADLINE_S), 0)
            self.assertIn(b"0 steps executed", worker.stdout.read())

    def test_a_worker_that_is_refused_does_not_wait(self):
        with server(self.directory) as served:
            self.ok("token", "create", "--role", "admin", "--name", "root",
                    env={"HOLDFAST_SERVER": served.socket_url})
            self.fails(2, "worker", "--server", served.url, env={"HOLDFAST_TOKEN": "hf_no_token"},
                       says="the token is invalid")
            self.fails(2, "worker", "--server", "ftp://127.0.0.1:7717")
            served.stop(self)


@contextlib.contextmanager
def closed_port():
    """The URL of a bound port on which no process listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


class Choosing(cli.RunsTest):
    """How a command chooses its backend, and what it reports when the backend is unavailable."""

    def test_an_unavailable_server(self):
        url = self.enterContext(closed_port())
        for command in (["list"], ["start", "bread"], ["approve", "latest", "--actor", "ann"],
                        ["run", "bread.yaml"], ["backup", "--out", "x"], ["queues"]):
            result = self.fails(5, *command, "--server", url, says="cannot be reached")
            self.assertIn("holdfast server", result.stderr)
        self.assertFalse(os.path.exists(self.path("x")))

    def test_store_and_server_together_are_refused(self):
        self.fails(2, "list", "--store", "sqlite:a.db", "--server", "http://127.0.0.1:1",
                   says="--store")

    def test_an_option_wins_over_the_environment(self):
        self.ok("run", "bread.yaml", "--quiet")
        nowhere = self.enterContext(closed_port())
        self.ok("list", "--store", "sqlite:holdfast.db", env={"HOLDFAST_SERVER": nowhere})
        with server(self.directory) as served:
            self.ok("list", "--server", served.url, env={"HOLDFAST_STORE": "sqlite:none.db"})
            self.ok("list", env={"HOLDFAST_SERVER": served.url, "HOLDFAST_STORE": "sqlite:no.db"})
            served.stop(self)

    def test_queries_that_need_a_server_are_refused_by_a_store(self):
        for command in ("queues", "workers", "schedules", "approvals"):
            result = self.fails(2, command, says="--server")
            self.assertIn("holdfast server", result.stderr)

    def test_options_of_servers_with_a_store(self):
        self.write("t", "hf_ab_cd\n")
        self.fails(2, "list", "--token-file", "t", says="--server or HOLDFAST_SERVER")
        self.fails(2, "list", "--server", "http://127.0.0.1:1", "--token-file", "bread.yaml",
                   says="does not contain a token")


class Tokens(cli.RunsTest):
    def test_a_token_created_in_the_store_is_valid_at_the_server(self):
        token = self.ok("token", "create", "--role", "admin", "--name", "ann").strip()
        self.assertRegex(token, r"\Ahf_[0-9a-f]+_[\w-]{43}\Z")
        self.fails(2, "token", "create", "--role", "admin", "--name", "ann", says="already")
        self.write("ann.token", token + "\n")
        with server(self.directory) as served:
            env = {"HOLDFAST_SERVER": served.url}
            self.fails(2, "list", env=env, says="HOLDFAST_TOKEN")
            self.ok("list", env=env | {"HOLDFAST_TOKEN": token})
            self.ok("list", "--token-file", "ann.token", env=env)
            shown = self.ok("status", "--token-file", "ann.token", "--server", served.url)
            self.assertNotIn(token, shown)
            made = self.ok_json("token", "create", "--role", "viewer", "--name", "bob",
                                "--workflow", "bread", "--expires", "30d", "--token-file",
                                "ann.token", env=env)
            viewer = {"HOLDFAST_TOKEN": made["token"], **env}
            self.ok("list", "--workflow", "bread", env=viewer)
            self.fails(2, "cancel", "latest", env=viewer)
            listed = self.ok("token", "list", "--token-file", "ann.token", env=env)
            self.assertRegex(listed, r"(?m)^\S+ +bob +viewer +valid")
            self.assertNotIn(made["token"].split("_", 2)[2], listed)
            # The owner of the process needs no token at the socket; a revoked token is refused.
            self.ok("token", "revoke", made["id"], "--server", served.socket_url)
            self.fails(2, "list", "--workflow", "bread", env=viewer, says="token")
            self.same_list(env | {"HOLDFAST_TOKEN": token})
            served.stop(self)

    def same_list(self, env):
        here = self.ok_json("token", "list")
        there = self.ok_json("token", "list", env=env)
        self.assertEqual(here, there)
        self.assertEqual(self.ok("token", "list"), self.ok("token", "list", env=env))

    def test_refusals(self):
        self.fails(2, "token", "create", "--role", "king", "--name", "x", says="king")
        self.fails(2, "token", "create", "--role", "viewer", says="--name")
        self.fails(2, "token", "create", "--role", "viewer", "--name", "x", "--expires", "never",
                   says="30d")
        self.fails(2, "token", "create", "--role", "viewer", "--name", "x", "--queue", "q",
                   says="worker")
        self.ok("token", "create", "--role", "viewer", "--name", "x")
        self.fails(2, "token", "revoke", "abcdef", says="token list")


class Backups(cli.RunsTest):
    def prove(self, file, **options):
        """A store restored from a backup is intact and gives the same output as the original."""
        self.ok("restore", file, "--store", "sqlite:back.db", **options)
        self.ok("journal", "verify", "sqlite:back.db")
        listed = self.ok_json("list", "--store", "sqlite:back.db", "--limit", "1000")["runs"]
        os.remove(self.path("back.db"))
        for end in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path("back.db" + end))
        return [run["run_id"] for run in listed]

    def test_of_a_store_and_of_a_server_are_the_same(self):
        run = self.drained("bread.yaml")
        self.ok("backup", "--out", "here.jsonl")
        with server(self.directory) as served:
            env = {"HOLDFAST_SERVER": served.url}
            made = self.ok_json("backup", "--out", "there.jsonl", env=env)
            self.assertEqual(made["entries"], self.read("there.jsonl").count("\n") - 2)
            streamed = self.ok("backup", env=env)
            served.stop(self)
        self.assertEqual(self.read("there.jsonl"), streamed)
        # Entries that a server writes at its start, if any, follow those of the runs.
        self.assertTrue(self.read("there.jsonl").startswith(
            "\n".join(self.read("here.jsonl").split("\n")[:-2])))
        for file in ("here.jsonl", "there.jsonl"):
            self.assertEqual(self.prove(file), [run])

    def test_while_others_write(self):
        self.ok("journal", "append", "sqlite:holdfast.db", "note:1", "noted")
        with server(self.directory, "--work", "2") as served:
            env = {"HOLDFAST_SERVER": served.url}
            self.ok("start", "bread.yaml", env=env)
            writer = subprocess.Popen(
                ["sh", "-c", 'while "$0" start bread > /dev/null; do :; done', cli.program()],
                cwd=self.directory, env=cli.environment(**env))
            try:
                counts = [0]
                for number in range(4):
                    where = env if number % 2 else {}
                    cli.wait_until(lambda: len(self.runs("--limit", "1000")) > counts[-1])
                    self.ok("backup", "--out", f"{number}.jsonl", env=where)
                    counts.append(len(self.prove(f"{number}.jsonl")))
            finally:
                writer.kill()
                writer.wait()
            served.stop(self)
        self.assertEqual(counts, sorted(set(counts)), "each has more than the one before")

    def test_existing_files_are_not_replaced(self):
        self.drained("bread.yaml")
        self.write("mine", "precious")
        self.fails(2, "backup", "--out", "mine", says="--force")
        self.assertEqual(self.read("mine"), "precious")
        self.ok("backup", "--out", "mine", "--force")
        self.fails(2, "restore", "mine", "--store", "sqlite:none/a.db")
        self.ok("run", "bread.yaml", "--store", "sqlite:full.db", "--quiet")
        self.fails(2, "restore", "mine", "--store", "sqlite:full.db", says="--store")
        lines = self.read("mine").splitlines(keepends=True)
        self.write("cut", "".join(lines[:-1]))
        self.fails(2, "restore", "cut", "--store", "sqlite:new.db")
        self.assertFalse(os.path.exists(self.path("new.db")))

    def test_a_lost_server_leaves_no_file(self):
        """A truncated response, from a program that is not a holdfast server."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        body = b'{"holdfast_export":1,"log_id":"0192f000-0000-7000-8000-000000000000"}\n'
        whole = body + b'{"position":1,"thread":"a:1","seq":0,"kind":"k","at":1,"data":{}}\n'

        def answers():
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
            for end in (b"", b"%x\r\n%s\r\n0\r\n\r\n" % (len(whole), whole)):
                connection, _ = listener.accept()
                with connection:
                    while b"\r\n\r\n" not in connection.recv(65536):
                        pass
                    connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
                    connection.sendall(end or b"%x\r\n%s\r\n" % (len(body), body))

        thread = threading.Thread(target=answers)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.fails(5, "backup", "--out", "x", "--server", url, says="is incomplete")
        self.fails(2, "backup", "--out", "x", "--server", url, says="the end line is missing")
        thread.join()
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith("x")], [])


class Guide(cli.CliTest):
    """docs/guide/servers.md, as a reader would type it."""

    def test_the_commands_of_the_guide_work(self):
        page = GUIDE.read_text(encoding="utf-8")
        name, text = re.search(r"Save this as `(.*?)`:\n\n```yaml\n(.*?)^```", page,
                               re.DOTALL | re.MULTILINE).groups()
        self.write(name, text)
        typed = [line for block in re.findall(r"^```text\n(.*?)^```", page,
                                              re.DOTALL | re.MULTILINE)
                 for line in block.splitlines()]
        begins, *typed = typed
        self.assertEqual(begins, "holdfast server --work 2")
        with server(self.directory, "--work", "2") as served:
            env = {"HOLDFAST_SERVER": served.url}
            for line in typed:
                if line.startswith("holdfast work "):  # runs until it is stopped
                    self.work(line, served)
                elif line.startswith("holdfast "):
                    self.type(line, env, 6 if "--until-blocked" in line else 0)
                if "name ann" in line:
                    env["HOLDFAST_TOKEN"] = self.read("ann.token").strip()
            said = self.ok_json("show", "latest", env=env)
            self.assertEqual(said["status"], "completed")
            served.stop(self)
        self.assertEqual(self.ok_json("show", "latest", "--store", "sqlite:restored.db")["run_id"],
                         said["run_id"])

    def type(self, line, env, exit_code):
        command = line.replace("holdfast", cli.program(), 1)
        done = subprocess.run(["bash", "-c", command], cwd=self.directory, timeout=cli.DEADLINE_S,
                              env=cli.environment(**env), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (exit_code, b""), line)

    def work(self, line, served):
        words = line.replace("http://127.0.0.1:7717", served.url).split()[1:]
        with cli.started(*words, cwd=self.directory, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as process:
            cli.Output(process.stderr.fileno()).wait_for(b"working for")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(cli.DEADLINE_S), 0)


class Lists(cli.RunsTest):
    """Queries that need a server."""

    def test_each(self):
        self.write("nightly.yaml", "workflow: report\ntriggers:\n  - {name: nightly, cron: "
                   "{expression: '0 3 * * *', timezone: UTC}}\n"
                   "steps:\n  - {name: say, log: done}\n")
        with server(self.directory) as served:
            env = {"HOLDFAST_SERVER": served.url}
            for command, said in (("queues", "no queues"), ("workers", "no workers"),
                                  ("schedules", "no schedules"), ("approvals", "no run waits")):
                self.assertIn(said, self.ok(command, env=env))
                self.assertIn(command, self.ok_json(command, env=env))
            self.ok("start", "craft.yaml", env=env)
            self.ok("start", "leave.yaml", "--input", '{"who":"Ann"}', env=env)
            self.assertRegex(self.ok("queues", env=env), r"(?m)^default +1 ")
            run = self.ok_json("approvals", env=env)["approvals"][0]["run_id"]
            self.assertRegex(self.ok("approvals", env=env),
                             rf"(?m)^{run} +leave +manager +approval")
            self.schedules(env)
            served.stop(self)

    def schedules(self, env):
        self.ok("run", "nightly.yaml", "--trigger", "nightly", "--quiet", env=env)
        self.assertRegex(self.ok("schedules", env=env),
                         r"(?m)^report +nightly +0 3 \* \* \*.*active")
        self.assertIn("is paused", self.ok("schedules", "pause", "report", "nightly", "--actor",
                                           "ann", env=env))
        self.assertIn("paused by ann", self.ok("schedules", env=env))
        self.ok("schedules", "resume", "report", "nightly", env=env)
        self.assertNotIn("paused", self.ok("schedules", env=env))
        run = self.ok("schedules", "trigger", "report", "nightly", env=env).strip()
        self.assertEqual(self.shown(run)["workflow"], "report")
        window = ("schedules", "deliver", "report", "nightly", "--window", "2026-11-16..2026-11-17")
        run = self.ok(*window, env=env).split()[0]
        self.assertEqual(self.ok(*window, env=env), f"{run} existing\n")
        self.assertEqual(self.ok_json(*window, env=env), {"result": "existing", "run_id": run})
        self.fails(2, "schedules", "pause", "report", env=env, says="WORKFLOW TRIGGER")
        self.fails(2, "schedules", "stop", "report", "nightly", env=env, says="stop")
        self.fails(2, "schedules", "pause", "report", "weekly", env=env, says="weekly")


if __name__ == "__main__":
    cli.main(__doc__)
