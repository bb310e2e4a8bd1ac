#!/usr/bin/env python3
"""The command line as a user sees it: every command, its text and JSON, every invalid input.

Run as: python3 tests/cli_test.py path/to/holdfast
"""

import contextlib
import hashlib
import json
import os
import pathlib
import pty
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import uuid

from support import cli
from support.cli import DEADLINE_S, Output, run, snapshot, started


def export_lines(batches, entries_per_batch, threads=50):
    """An export built from the documented format alone."""
    log_id = uuid.UUID("01890000-0000-7000-8000-000000000001")
    chain = hashlib.sha256(b"holdfast-log-1" + log_id.bytes).digest()
    lines = [json.dumps({"holdfast_export": 1, "log_id": str(log_id)}, separators=(",", ":"))]
    sequence = [0] * threads
    number = 0
    for position in range(1, batches + 1):
        entries = []
        for _ in range(entries_per_batch):
            thread = number % threads
            entry = {"thread": f"run:{thread}", "seq": sequence[thread], "kind": "step_done",
                     "at": 1767225600000 + number,
                     "data": {"number": number, "text": hashlib.md5(b"%d" % number).hexdigest()}}
            entries.append(json.dumps(entry, separators=(",", ":")))
            sequence[thread] += 1
            number += 1
        body = "[" + ",".join(entries) + "]"
        digest = hashlib.sha256(body.encode()).digest()
        chain = hashlib.sha256(b"holdfast-chain-1" + chain + position.to_bytes(8, "big")
                               + digest).digest()
        lines += [f'{{"position":{position},{entry[1:]}' for entry in entries]
    end = {"end": {"position": batches, "chain": chain.hex()}}
    lines.append(json.dumps(end, separators=(",", ":")))
    return lines, chain.hex()


class CliTest(cli.CliTest):
    def append(self, thread="run:1", kind="run_started", data="{}", store="a.db", *more):
        return self.ok("journal", "append", self.url(store), thread, kind, data, *more)

    def make_sample(self, store="a.db"):
        self.append("run:1", "run_started", '{"workflow": "hello"}', store, "--at",
                    "1767225600000")
        self.append("run:2", "run_started", "{}", store)
        self.append("run:1", "step_done", '{"result":[1,2]}', store)

    def make_large(self, store="large.db", batches=300, entries_per_batch=1000):
        lines, chain = export_lines(batches, entries_per_batch)
        with open(self.path("large.jsonl"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.ok("journal", "import", self.url(store), self.path("large.jsonl"))
        return chain

    def chain(self, store):
        return self.ok_json("journal", "stat", self.url(store))["chain"]


class HelpTest(CliTest):
    COMMANDS = [["journal", name] for name in ("append", "stat", "cat", "verify", "export",
                                               "import", "copy", "seal")] + [["bench", "journal"]]

    def test_the_help_of_every_command_has_examples(self):
        for command in self.COMMANDS:
            text = self.ok(*command, "--help")
            self.assertIn("Examples:", text)
            self.assertIn("Usage: holdfast " + " ".join(command) + " [OPTIONS]", text)
            self.assertIn("--json", text)
            self.assertEqual(text.count("holdfast " + " ".join(command) + " sqlite:") >= 1
                             or command[0] == "bench" or command[1] == "copy", True, text)

    def test_the_first_page_has_first_commands_and_exit_codes(self):
        text = self.ok("--help")
        self.assertEqual(self.ok(), text)
        self.assertEqual(self.ok("help"), text)
        for part in ("First commands to try", "holdfast run order.yaml", "Exit codes"):
            self.assertIn(part, text)
        self.assertIn("verify", self.ok("journal"))

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"\Aholdfast \d+\.\d+\.\d+\n\Z")

    def test_usage_errors_name_the_help_to_read(self):
        self.fails(2, "journal", "cat", says="see holdfast journal cat --help")
        self.fails(2, "journal", "cat", self.url(), "--form", says="--form")
        self.fails(2, "jornal", says="see holdfast --help")
        self.fails(2, "journal", "cat", self.url(), "--from", "ten", says="--from")
        result = self.fails(2, "journal", "stat", "--json")
        self.assertEqual(json.loads(result.stdout)["error"]["code"], "invalid_argument")

    def test_help_of_a_command_is_available_in_two_ways(self):
        for command in (["run"], ["journal"], ["journal", "cat"], ["token", "create"]):
            self.assertEqual(self.ok("help", *command), self.ok(*command, "--help"))
        self.fails(2, "help", "rnu", says='did you mean "run"?')
        self.fails(2, "help", "journal", "ct", says='"holdfast journal ct"; did you mean "cat"?')

    def test_a_mistyped_word_is_reported_with_a_suggestion(self):
        for args, says in (
                (["rnu", "a.yaml"], ['"holdfast rnu"', '"run"', "see holdfast --help"]),
                (["version"], ['"--version"']),
                (["journal", "ct", self.url()], ['"holdfast journal ct"', '"cat"']),
                (["run", "--inptu", "{}", "a.yaml"], ["run has no option --inptu", '"--input"']),
                (["run", "--inptu={}", "a.yaml"], ["run has no option --inptu;", '"--input"']),
                (["--store", self.url(), "list"], ["--store", 'after "holdfast list"']),
                (["run"], ["run needs FILE: the workflow file"]),
                (["run", "a.yaml", "b.yaml"], ["run takes only FILE", '"b.yaml"']),
                (["list", "x"], ["list takes no arguments", '"x"']),
                (["run", "a.yaml", "--id"], ["--id needs a value: --id UUID"]),
                (["run", "a.yaml", "--id", "1", "--id", "2"], ["--id is given 2 times"]),
                (["list", "--limit", "ten"], ["--limit", '"ten"', "whole number"]),
                (["token", "create", "--name", "a"], ["token create needs --role"]),
                (["token", "create", "--name", "a", "--role", "amdin"],
                 ["--role", '"amdin"', "viewer, client, worker, operator or admin",
                  'did you mean "admin"?'])):
            with self.subTest(args):
                result = self.fails(2, *args)
                for part in says:
                    self.assertIn(part, result.stderr)

    def test_the_first_commands_of_the_help_work(self):
        lines = self.ok("--help").split("First commands to try")[1].split("\n\n")[0]
        pathlib.Path(self.directory, "order.yaml").write_text(
            "workflow: order\nsteps:\n  - {name: say, log: {message: 'for {total}'}}\n",
            encoding="utf-8")
        for line in lines.splitlines()[1:]:
            done = subprocess.run(line.strip().replace("holdfast", cli.program(), 1), shell=True,
                                  cwd=self.directory, capture_output=True, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, 0, (line, done.stderr))


class AppendTest(CliTest):
    def test_text_and_json(self):
        self.assertEqual(self.append(), "run:1 is at revision 1, position 1\n")
        self.assertEqual(self.ok_json("journal", "append", self.url(), "run:1", "step_done"),
                         {"thread": "run:1", "revision": 2, "position": 2})

    def test_data_from_standard_input(self):
        self.ok("journal", "append", self.url(), "run:1", "step_done", "-", stdin='{"a": 1}\n')
        self.assertIn('{"a":1}', self.ok("journal", "cat", self.url()))

    def test_standard_input_is_not_read_unless_requested(self):
        reader, writer = os.pipe()  # never written to, so a reader would block
        with os.fdopen(reader), os.fdopen(writer, "w"):
            done = subprocess.run([cli.program(), "journal", "append", self.url(), "run:1", "a"],
                                  stdin=reader, capture_output=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_stale_revision_is_a_conflict(self):
        self.make_sample()
        before = self.chain("a.db")
        result = self.fails(4, "journal", "append", self.url(), "run:1", "run_ended",
                            "--expected-rev", "1", "--json", says="revision 2")
        error = json.loads(result.stdout)["error"]
        self.assertEqual((error["code"], error["what_next"]), ("conflict", "refresh"))
        self.assertEqual(self.chain("a.db"), before)
        self.append("run:1", "run_ended", "{}", "a.db", "--expected-rev", "2")

    def test_a_refused_append_creates_no_store(self):
        for thread, kind, data in (("run", "a", "{}"), ("run:1", "A", "{}"), ("run:1", "a", "[]"),
                                   ("run:1", "a", "{"), ("run:1", "a", "'x'"), (":", "a", "{}")):
            self.fails(2, "journal", "append", self.url(), thread, kind, data)
        self.fails(2, "journal", "append", self.url(), "run:1", "a", "--expected-rev", "3")
        self.assertEqual(os.listdir(self.directory), [])


class ReadTest(CliTest):
    def test_stat(self):
        self.make_sample()
        text = self.ok("journal", "stat", self.url())
        self.assertRegex(text, r"(?m)^head +3$")
        self.assertRegex(text, r"(?m)^chain +[0-9a-f]{64}$")
        stat = self.ok_json("journal", "stat", self.url())
        self.assertEqual((stat["start"], stat["head"], stat["format"]), (1, 3, 1))
        self.assertEqual((stat["unsealed_batches"], stat["unsealed_threads"]), (3, 2))
        self.assertGreater(stat["size_bytes"], 0)

    def test_cat_shows_the_order_of_commits(self):
        self.make_sample()
        lines = self.ok("journal", "cat", self.url()).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r'^2026-01-01T00:00:00\.000Z +1  run:1#0  run_started  '
                                   r'\{"workflow":"hello"\}$')
        self.assertIn("run:2#0", lines[1])
        self.assertIn("run:1#1", lines[2])

    def test_cat_json(self):
        self.make_sample()
        lines = self.ok("journal", "cat", self.url(), "--json").splitlines()
        self.assertEqual(json.loads(lines[0]),
                         {"position": 1, "thread": "run:1", "seq": 0, "kind": "run_started",
                          "at": 1767225600000, "data": {"workflow": "hello"}})
        self.assertEqual([json.loads(line)["position"] for line in lines], [1, 2, 3])

    def test_cat_from_and_limit(self):
        self.make_sample()

        def positions(*options):
            output = self.ok("journal", "cat", self.url(), "--json", *options)
            return [json.loads(line)["position"] for line in output.splitlines()]

        self.assertEqual(positions("--from", "2"), [2, 3])
        self.assertEqual(positions("--from", "0"), [1, 2, 3])
        self.assertEqual(positions("--limit", "2"), [1, 2])
        self.assertEqual(positions("--limit", "0"), [])
        self.assertEqual(positions("--from", "4"), [])
        self.assertEqual(positions("--from", "99"), [])
        self.assertEqual(positions("--thread", "run:1"), [1, 3])
        self.assertEqual(positions("--thread", "run:1", "--from", "1"), [3])
        self.assertEqual(positions("--thread", "run:1", "--from", "9"), [])
        self.assertEqual(positions("--thread", "run:none"), [])

    def test_cat_shows_sealed_entries_too(self):
        self.make_sample()
        before = self.ok("journal", "cat", self.url())
        thread = self.ok("journal", "cat", self.url(), "--thread", "run:1")
        self.ok("journal", "seal", self.url())
        self.assertEqual(self.ok("journal", "cat", self.url()), before)
        self.assertEqual(self.ok("journal", "cat", self.url(), "--thread", "run:1"), thread)

    def follow(self, *options):
        self.make_sample()
        with started("journal", "cat", self.url(), "--follow", *options,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            output = Output(process.stdout.fileno())
            output.wait_for(rb"step_done.*\n")
            self.append("run:1", "came_later")
            output.wait_for(rb"came_later.*\n")
            self.append("run:1", "and_last")
            output.wait_for(rb"and_last.*\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(DEADLINE_S), 0)
            self.assertEqual(process.stderr.read(), b"")

    def test_follow(self):
        self.follow()

    def test_follow_json(self):
        self.follow("--json")

    def test_follow_thread(self):
        self.follow("--thread", "run:1")

    def test_follow_from_a_future_position(self):
        self.make_sample()
        with started("journal", "cat", self.url(), "--follow", "--from", "5", "--limit", "1",
                     stdout=subprocess.PIPE) as process:
            self.append("run:1", "fourth")
            self.append("run:1", "fifth")
            self.assertEqual(process.wait(DEADLINE_S), 0)
            output = process.stdout.read()
            self.assertIn(b"fifth", output)
            self.assertNotIn(b"fourth", output)

    def test_follow_ends_on_sigterm(self):
        self.make_sample()
        with started("journal", "cat", self.url(), "-f", stdout=subprocess.PIPE) as process:
            Output(process.stdout.fileno()).wait_for(rb"step_done")
            process.terminate()
            self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_a_closed_pipe_ends_cat_quietly(self):
        self.make_large(batches=20)
        with started("journal", "cat", self.url("large.db"), stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as process:
            self.assertIn(b"run:0#0", process.stdout.readline())
            process.stdout.close()
            self.assertEqual(process.wait(DEADLINE_S), 0)
            self.assertEqual(process.stderr.read(), b"")

    def test_a_full_disk_under_standard_output_is_reported(self):
        self.make_sample()
        with open("/dev/full", "w", encoding="utf-8") as full:
            with started("journal", "cat", self.url(), stdout=full,
                         stderr=subprocess.PIPE) as process:
                self.assertEqual(process.wait(DEADLINE_S), 5)
                self.assertRegex(process.stderr.read(), rb"\Aholdfast: [^\n]*No space left[^\n]*\n")


class VerifyTest(CliTest):
    def damage(self, sql):
        with contextlib.closing(sqlite3.connect(self.path("a.db"))) as db:
            db.execute(sql)
            db.commit()

    def test_an_intact_journal(self):
        self.make_sample()
        self.assertIn("is intact: 3 entries in 3 batches",
                      self.ok("journal", "verify", self.url()))
        report = self.ok_json("journal", "verify", self.url())
        self.assertEqual((report["ok"], report["entries"], report["threads"], report["head"]),
                         (True, 3, 2, 3))
        self.assertEqual(report["chain"], self.chain("a.db"))

    def test_a_changed_byte_is_reported_with_its_position(self):
        self.make_sample()
        self.damage("UPDATE batches SET body = replace(body, 'run_started', 'run_starteD') "
                    "WHERE position = 2")
        result = self.fails(3, "journal", "verify", self.url(), says="batch 2")
        self.assertEqual(result.stdout, "")
        result = self.fails(3, "journal", "verify", self.url(), "--json")
        report = json.loads(result.stdout)
        self.assertIs(report["ok"], False)
        self.assertEqual(report["error"]["code"], "corrupt_log")
        self.assertEqual(report["error"]["fields"]["position"], "2")
        self.assertEqual(report["error"]["fields"]["reason"], "body_hash_mismatch")

    def test_a_missing_batch_is_reported_with_its_position(self):
        self.make_sample()
        self.damage("DELETE FROM batches WHERE position = 2")
        self.fails(3, "journal", "verify", self.url(), says="batch 2")

    def test_cat_prints_intact_entries_and_stops_at_the_damage(self):
        self.make_sample()
        self.damage("UPDATE batches SET body = body || ' ' WHERE position = 2")
        result = self.fails(3, "journal", "cat", self.url(), says="batch 2")
        self.assertEqual(len(result.stdout.splitlines()), 1)

    def test_a_damaged_segment_is_found(self):
        self.make_sample()
        self.ok("journal", "seal", self.url())
        self.damage("UPDATE side SET value = substr(value, 1, length(value) - 1) || x'00' "
                    "WHERE key LIKE 'segment/%'")
        result = self.fails(3, "journal", "verify", self.url(), "--json", says="segment/run:1")
        self.assertIs(json.loads(result.stdout)["ok"], False)


class MoveTest(CliTest):
    def test_export_and_import_give_the_same_chain(self):
        self.make_sample()
        self.assertIn("exported 3 entries",
                      self.ok("journal", "export", self.url(), self.path("a.jsonl")))
        self.assertEqual(sorted(os.listdir(self.directory))[-1], "a.jsonl")
        self.assertIn("imported 3 batches",
                      self.ok("journal", "import", self.url("b.db"), self.path("a.jsonl")))
        self.assertEqual(self.chain("b.db"), self.chain("a.db"))
        self.assertEqual(self.ok("journal", "cat", self.url("b.db")),
                         self.ok("journal", "cat", self.url("a.db")))

    def test_export_to_standard_output_and_import_from_standard_input(self):
        self.make_sample()
        exported = self.ok("journal", "export", self.url())
        self.assertEqual(exported, self.ok("journal", "export", self.url(), "--json"))
        report = self.ok_json("journal", "import", self.url("b.db"), "-", stdin=exported)
        self.assertEqual((report["batches"], report["head"]), (3, 3))
        self.assertEqual(report["chain"], self.chain("a.db"))

    def test_a_sealed_journal_exports_the_same_lines(self):
        self.make_sample()
        before = self.ok("journal", "export", self.url())
        self.ok("journal", "seal", self.url())
        self.assertEqual(self.ok("journal", "export", self.url()), before)

    def test_export_replaces_a_file_only_with_force(self):
        self.make_sample()
        target = self.path("a.jsonl")
        with open(target, "w", encoding="utf-8") as file:
            file.write("precious")
        before = snapshot(self.directory)
        self.fails(2, "journal", "export", self.url(), target, says="--force")
        self.assertEqual(snapshot(self.directory)[target], before[target])
        report = self.ok_json("journal", "export", self.url(), target, "--force")
        self.assertEqual((report["entries"], report["file"]), (3, target))
        self.fails(2, "journal", "export", self.url(), self.directory, "--force")
        self.fails(2, "journal", "export", self.url(), self.path("no/where.jsonl"))

    def test_a_broken_export_imports_nothing(self):
        self.make_sample()
        lines = self.ok("journal", "export", self.url()).splitlines()
        broken = {"cut off": lines[:-1], "changed": [lines[0], lines[1].replace("hello", "hullo"),
                                                     *lines[2:]],
                  "a line missing": lines[:2] + lines[3:], "something else": ["hello"],
                  "empty": []}
        for name, content in broken.items():
            with self.subTest(name):
                path = self.path("broken.jsonl")
                with open(path, "w", encoding="utf-8") as file:
                    file.write("".join(line + "\n" for line in content))
                self.fails(2, "journal", "import", self.url("b.db"), path)
                self.assertFalse(os.path.exists(self.path("b.db")))
        self.fails(2, "journal", "import", self.url("b.db"), self.path("missing.jsonl"))
        self.fails(2, "journal", "import", self.url("b.db"), self.directory)

    def test_an_export_built_from_the_documented_format_is_accepted(self):
        chain = self.make_large(batches=3, entries_per_batch=10)
        self.assertEqual(self.chain("large.db"), chain)
        self.ok("journal", "verify", self.url("large.db"))

    def test_copy(self):
        self.make_sample()
        self.assertIn("copied 3 batches",
                      self.ok("journal", "copy", self.url(), self.url("b.db")))
        self.assertEqual(self.chain("b.db"), self.chain("a.db"))
        self.append("run:1", "later")
        report = self.ok_json("journal", "copy", self.url(), self.url("b.db"))
        self.assertEqual((report["batches"], report["head"]), (1, 4))
        self.assertEqual(report["chain"], self.chain("a.db"))

    def test_copy_refuses_another_journal_and_itself(self):
        self.make_sample()
        self.make_sample("other.db")
        self.fails(2, "journal", "copy", self.url(), self.url("other.db"), says="another journal")
        self.fails(2, "journal", "copy", self.url(), self.url(), says="itself")
        self.fails(2, "journal", "copy", self.url(), self.url("./a.db"), says="itself")
        self.ok("journal", "copy", self.url(), self.url("b.db"))
        self.append("run:1", "only_here", "{}", "b.db")
        self.fails(4, "journal", "copy", self.url(), self.url("b.db"))

    def test_a_killed_copy_continues_when_run_again(self):
        chain = self.make_large(batches=400, entries_per_batch=500)
        ours, theirs = pty.openpty()
        with started("journal", "copy", self.url("large.db"), self.url("b.db"),
                     stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            output = Output(ours)
            output.wait_for(rb"copying \[")
            process.kill()
            process.wait(DEADLINE_S)
            os.close(ours)
        result = self.fails(2, "journal", "stat", self.url("b.db"), "--json", says="copy")
        self.assertEqual(json.loads(result.stdout)["error"]["code"], "unfinished_copy")
        for command in (["cat"], ["verify"], ["export"], ["seal"]):
            self.fails(2, "journal", *command, self.url("b.db"), says="copy")
        report = self.ok_json("journal", "copy", self.url("large.db"), self.url("b.db"))
        self.assertLess(report["batches"], 400)
        self.assertEqual((report["head"], report["chain"]), (400, chain))
        self.assertEqual(self.ok_json("journal", "verify", self.url("b.db"))["chain"], chain)

    def test_seal(self):
        chain = self.make_large(batches=20, entries_per_batch=100)
        sealed = self.ok_json("journal", "seal", self.url("large.db"), "--below", "11")
        self.assertEqual((sealed["batches"], sealed["entries"], sealed["start"]), (10, 1000, 11))
        text = self.ok("journal", "seal", self.url("large.db"), "--reclaim")
        self.assertIn("sealed 900 entries of 9 batches", text)
        report = self.ok_json("journal", "verify", self.url("large.db"))
        self.assertEqual((report["chain"], report["sealed_batches"]), (chain, 19))


class WrongStoreTest(CliTest):
    """One clear line, exit code 2, nothing touched."""

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        self.tools = tempfile.mkdtemp(prefix="holdfast_cli_tools_")
        self.addCleanup(shutil.rmtree, self.tools, ignore_errors=True)
        lines, _ = export_lines(2, 2)
        self.export = os.path.join(self.tools, "good.jsonl")
        with open(self.export, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.good = "sqlite:" + os.path.join(self.tools, "good.db")
        self.ok("journal", "append", self.good, "run:1", "run_started")
        os.chmod(self.tools, 0o777)
        for name in os.listdir(self.tools):
            os.chmod(os.path.join(self.tools, name), 0o666)

    def readers(self, url):
        return [["stat", url], ["cat", url], ["cat", url, "--thread", "run:1"],
                ["cat", url, "--follow"], ["verify", url], ["export", url],
                ["copy", url, "sqlite:" + os.path.join(self.tools, "new.db")], ["seal", url]]

    def writers(self, url):
        return [["append", url, "run:1", "run_started"], ["import", url, self.export],
                ["copy", self.good, url]]

    def refused(self, commands, code, says="", **options):
        before = snapshot(self.directory)
        for command in commands:
            with self.subTest(" ".join(command)):
                self.fails(2, "journal", *command, says=says, **options)
                if command[0] == "cat":
                    result = self.fails(2, "journal", *command, "--json", **options)
                    self.assertEqual(json.loads(result.stdout)["error"]["code"], code)
                self.assertEqual(snapshot(self.directory), before)
                self.assertFalse(os.path.exists(os.path.join(self.tools, "new.db")))

    def test_wrong_url(self):
        for url in ("", "a.db", "mysql://x", "sqlite:", "sqlite://a.db", "postgres:x",
                    "postgres://h/db?schema=A-b", "memory:x"):
            self.refused(self.readers(url) + self.writers(url), "invalid_url")

    def test_a_password_is_never_shown(self):
        url = "postgres://me:geheim@127.0.0.1:1/db"
        result = run("journal", "stat", url, "--json")
        self.assertEqual(result.returncode, 5)
        self.assertNotIn("geheim", result.stdout + result.stderr)

    def test_missing_file(self):
        self.refused(self.readers(self.url()), "not_found", says="a.db does not exist")

    def test_missing_directory(self):
        url = self.url("no/a.db")
        self.refused(self.readers(url) + self.writers(url), "not_found")

    def test_directory(self):
        os.mkdir(self.path("a.db"))
        self.refused(self.readers(self.url()) + self.writers(self.url()), "not_a_journal",
                     says="is not a regular file")

    def test_text_file(self):
        with open(self.path("a.db"), "w", encoding="utf-8") as file:
            file.write("dear diary\n" * 100)
        self.refused(self.readers(self.url()) + self.writers(self.url()), "not_a_journal",
                     says="is not a Holdfast journal")

    def test_an_empty_file_is_not_a_journal(self):
        with open(self.path("a.db"), "w", encoding="utf-8"):
            pass
        self.refused(self.readers(self.url()), "not_found", says="holds no journal yet")

    def test_foreign_database(self):
        with contextlib.closing(sqlite3.connect(self.path("a.db"))) as db:
            db.execute("CREATE TABLE batches(position INTEGER PRIMARY KEY)")
            db.commit()
        self.refused(self.readers(self.url()) + self.writers(self.url()), "not_a_journal",
                     says="not a Holdfast journal")

    def test_newer_version(self):
        self.make_sample()
        with contextlib.closing(sqlite3.connect(self.path("a.db"))) as db:
            db.execute("PRAGMA user_version = 99")
            db.commit()
        self.refused(self.readers(self.url()) + self.writers(self.url()), "newer_format",
                     says="use a newer holdfast")

    def test_no_permission_to_read(self):
        self.make_sample()
        os.chmod(self.path("a.db"), 0)
        before_mode = os.stat(self.path("a.db")).st_mode
        with self.unprivileged() as options:
            for command in self.readers(self.url()) + self.writers(self.url()):
                with self.subTest(" ".join(command)):
                    self.fails(2, "journal", *command, says="ermi", **options)
        self.assertEqual(os.stat(self.path("a.db")).st_mode, before_mode)

    def test_no_permission_to_write(self):
        self.make_sample()
        self.check_without_permission_to_write()

    def test_no_permission_to_write_to_a_journal_that_is_not_in_wal_mode(self):
        self.make_sample()
        with contextlib.closing(sqlite3.connect(self.path("a.db"))) as db:
            db.execute("PRAGMA journal_mode = DELETE")
        self.check_without_permission_to_write()

    def check_without_permission_to_write(self):
        os.chmod(self.path("a.db"), 0o444)
        os.chmod(self.directory, 0o555)
        self.addCleanup(os.chmod, self.directory, 0o755)
        with self.unprivileged() as options:
            self.refused([["append", self.url(), "run:1", "a"], ["seal", self.url()]],
                         "permission_denied", **options)
            self.refused(self.writers(self.url("new.db")), "permission_denied", **options)
            # Reading needs no write permission.
            self.assertEqual(len(self.ok("journal", "cat", self.url(), **options).splitlines()), 3)


class TerminalTest(CliTest):
    def on_terminal(self, *args, env=None):
        """The standard output and standard error of a command that is connected to a terminal."""
        out_ours, out_theirs = pty.openpty()
        err_ours, err_theirs = pty.openpty()
        with started(*args, stdout=out_theirs, stderr=err_theirs, env=env) as process:
            os.close(out_theirs)
            os.close(err_theirs)
            out = Output(out_ours).read_to_end()
            err = Output(err_ours).read_to_end()
            self.assertEqual(process.wait(DEADLINE_S), 0, err)
        os.close(out_ours)
        os.close(err_ours)
        return out, err

    def test_colour_only_on_a_terminal(self):
        self.make_sample()
        out, err = self.on_terminal("journal", "cat", self.url())
        self.assertIn(b"\x1b[", out)
        self.assertEqual(err, b"")
        out, _ = self.on_terminal("journal", "cat", self.url(), env={"NO_COLOR": "1"})
        self.assertNotIn(b"\x1b", out)
        out, _ = self.on_terminal("journal", "cat", self.url(), "--json")
        self.assertNotIn(b"\x1b", out)
        self.assertNotIn("\x1b", self.ok("journal", "cat", self.url()))

    def test_progress_only_on_a_terminal(self):
        self.make_large(batches=50, entries_per_batch=100)
        large = self.url("large.db")
        for command, label in ((["verify", large], b"verifying ["),
                               (["copy", large, self.url("b.db")], b"copying ["),
                               (["export", large, self.path("x.jsonl")], b"exporting ["),
                               (["import", self.url("c.db"), self.path("large.jsonl")],
                                b"importing [")):
            out, err = self.on_terminal("journal", *command)
            self.assertIn(label, err)
            self.assertIn(b"100%", err)
            self.assertTrue(err.endswith(b"\r\x1b[K"), err)  # the bar is erased
            self.assertNotIn(label, out)
        self.ok("journal", "verify", large)  # checks that standard error is empty


class BenchTest(CliTest):
    def test_quick_prints_the_documented_shape(self):
        output = self.ok("bench", "journal", "--store", self.url("bench.db"), "--quick",
                         "--entries", "2000")
        results = [json.loads(line) for line in output.splitlines()]
        for result in results:
            self.assertIn(sorted(result), (["bench", "case", "unit", "value"],
                                           ["bench", "case", "limit", "ratio", "unit", "value"]))
            self.assertEqual(result["bench"], "journal")
        cases = {result["case"]: result for result in results}
        for name in ("append_group_1", "append_group_16", "append_group_128",
                     "append_group_1024"):
            self.assertIn("ratio", cases[name])
        for name in ("decode", "rebuild", "seal", "size_unsealed", "size_sealed"):
            self.assertGreater(cases[name]["value"], 0)
        self.assertEqual(os.listdir(self.directory), [])

    def test_keep_leaves_an_intact_journal(self):
        result = run("bench", "journal", "--store", self.url("bench.db"), "--quick", "--keep",
                     "--entries", "2000")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("kept in", result.stderr)
        self.assertGreaterEqual(self.ok_json("journal", "verify", self.url("bench.db"))["entries"],
                                2000)

    def test_an_existing_store_is_not_changed(self):
        self.make_sample()
        self.fails(2, "bench", "journal", "--store", self.url(), "--quick", says="already exists")
        self.assertIn("is intact", self.ok("journal", "verify", self.url()))

    def test_memory(self):
        output = self.ok("bench", "journal", "--store", "memory:", "--quick", "--entries", "2000")
        self.assertNotIn("ratio", output)


if __name__ == "__main__":
    cli.main(__doc__)
