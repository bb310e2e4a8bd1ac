#!/usr/bin/env python3
"""How commands on runs end and fail: each exit code, and one line that states what to do next.

Run as: python3 tests/runs_errors_test.py path/to/holdfast
"""

import contextlib
import ctypes
import json
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess

from support import cli

PR_CAPBSET_DROP, CAP_SYS_ADMIN, CAP_SYS_RESOURCE = 24, 21, 24  # linux/prctl.h, capability.h
NO_RUN = "00000000-0000-7000-8000-000000000000"


class ErrorsTest(cli.RunsTest):
    def refused(self, exit_code, code, *args, says=(), **options):
        """Fails with one line, and with --json as an object; changes nothing."""
        before = cli.snapshot(self.directory)
        plain = self.fails(exit_code, *args, **options)
        self.assertEqual(plain.stdout, "")
        for part in says:
            self.assertIn(part, plain.stderr)
        result = self.fails(exit_code, *args, "--json", **options)
        error = json.loads(result.stdout)["error"]
        self.assertEqual(error["code"], code, error)
        self.assertEqual(result.stdout.count("\n"), 1)
        self.assertEqual(cli.snapshot(self.directory), before, "the refused command changed files")
        return error


class ExitCodes(ErrorsTest):
    def test_0_done(self):
        self.ok("run", "bread.yaml")
        self.assertEqual(self.ok_json("run", "bread.yaml")["status"], "completed")
        self.ok("doctor")

    def test_1_a_negative_result(self):
        self.ends(1, "run", "glass.yaml")
        said = self.ends(1, "run", "glass.yaml", "--json")
        self.assertEqual(json.loads(said)["status"], "failed")

    def test_1_a_run_that_is_cancelled_while_it_runs(self):
        with cli.started("run", "leave.yaml", cwd=self.directory, stdout=-1) as process:
            output = cli.Output(process.stdout.fileno())
            output.wait_for(rb"holdfast approve")
            self.ok("cancel", "latest", "--actor", "ann")
            self.assertEqual(process.wait(cli.DEADLINE_S), 1)
            self.assertIn(b" cancelled after ", output.read_to_end())

    def test_1_the_doctor_found_a_fault(self):
        """An attempt whose worker is lost and whose lease has expired."""
        self.write("long.yaml", "workflow: long\nsteps:\n"
                   "  - {name: long, exec: [sh, -c, 'read line < gate'], lease: 100ms}\n")
        os.mkfifo(self.path("gate"))
        with cli.started("run", "long.yaml", cwd=self.directory, stdout=-1) as process:
            cli.Output(process.stdout.fileno()).wait_for(rb"attempt 1 claimed")
            process.kill()
            process.wait()
        cli.wait_until(lambda: self.run_here("doctor").returncode == 1, "the end of the lease")
        self.assertEqual(json.loads(self.ends(1, "doctor", "--json"))["verdict"], "fault")
        with contextlib.suppress(OSError):  # releases a process that still waits for the gate
            os.close(os.open(self.path("gate"), os.O_WRONLY | os.O_NONBLOCK))

    def test_2_invalid_arguments(self):
        self.refused(2, "not_found", "list")
        self.refused(2, "invalid_argument", "list", "--nonsense")

    def test_3_damage(self):
        self.ok("run", "bread.yaml")
        with contextlib.closing(sqlite3.connect(self.path("holdfast.db"))) as db:
            db.execute("UPDATE batches SET body = replace(body, 'run_started', 'run_starteD')")
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # All commands read what is newer than the last checkpoint; these read older entries too.
        for command in (["list"], ["show", "latest"], ["explain", "latest"], ["graph", "latest"],
                        ["timeline", "latest"], ["cancel", "latest"]):
            with self.subTest(" ".join(command)):
                self.refused(3, "corrupt_log", *command, says=["batch 2"])

    def test_4_conflicts(self):
        run = self.start("bread.yaml", {"flour": 1}, "--key", "monday")
        self.assertEqual(self.start("bread.yaml", {"flour": 1}, "--key", "monday"), run)
        error = self.refused(4, "idempotency_conflict", "start", "bread.yaml", "--key", "monday",
                             "--input", '{"flour":2}')
        self.assertEqual(error["fields"]["run_id"], run)
        self.refused(4, "idempotency_conflict", "run", "bread.yaml", "--key", "monday",
                     "--input", '{"flour":2}')
        self.refused(4, "run_exists", "start", "bread.yaml", "--id", run)
        self.refused(4, "conflict", "journal", "append", "sqlite:holdfast.db", f"run:{run}",
                     "noted", "--expected-rev", "0")

    def test_5_the_store_cannot_be_reached(self):
        url = "postgres://me:geheim@127.0.0.1:1/db"
        for command in (["list"], ["run", "bread.yaml"], ["start", "bread.yaml"], ["status"],
                        ["work", "--drain"], ["approve", "latest", "--actor", "ann"]):
            with self.subTest(" ".join(command)):
                result = self.fails(5, *command, "--store", url, "--json")
                self.assertEqual(json.loads(result.stdout)["error"]["code"], "unavailable")
                self.assertNotIn("geheim", result.stdout + result.stderr)

    def test_5_full_disk_under_the_output(self):
        self.ok("run", "bread.yaml")
        for command in (["list"], ["show", "latest"], ["graph", "latest", "--dot"], ["status"]):
            with self.subTest(" ".join(command)), open("/dev/full", "wb") as full:
                with cli.started(*command, cwd=self.directory, stdout=full,
                                 stderr=subprocess.PIPE) as process:
                    self.assertEqual(process.wait(cli.DEADLINE_S), 5)
                    self.assertRegex(process.stderr.read(),
                                     rb"\Aholdfast: [^\n]*No space left[^\n]*\n\Z")

    def test_5_full_disk_under_the_store(self):
        """A limit on the size of files stands in for a full disk: more than the 512 KiB that
        ThreadSanitizer writes when a program starts."""
        self.ok("run", "bread.yaml", "--quiet")
        self.write("large.json", json.dumps({"text": "x" * 1_000_000}))

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        result = self.fails(5, "start", "bread.yaml", "--input", "@large.json", "--json",
                            preexec_fn=small_files)
        self.assertIn(json.loads(result.stdout)["error"]["code"], ("disk_full", "io_error"))
        self.assertIn("is intact", self.ok("journal", "verify", "sqlite:holdfast.db"))
        self.ok("run", "bread.yaml", "--quiet")

    def test_6_the_run_waits(self):
        for file in ("leave.yaml", "invoice.yaml", "nap.yaml", "radio.yaml"):
            with self.subTest(file):
                given = '{"who":"Ann","number":"n-1"}'
                said = self.ends(6, "run", file, "--until-blocked", "--input", given)
                self.assertIn("nothing is lost; continue it with: holdfast work", said)
                said = self.ends(6, "run", file, "--until-blocked", "--json", "--input", given)
                self.assertFalse(json.loads(said)["terminal"])

    def test_6_a_parked_step_waits_for_a_decision(self):
        self.write("parked.yaml", "workflow: parked\nsteps:\n"
                   "  - {name: no, exec: ['false'], retry: {max_attempts: 1, then: park}}\n")
        said = self.ends(6, "run", "parked.yaml", "--until-blocked")
        self.assertIn("holdfast retry", said)

    def test_6_a_short_wait_is_waited_for(self):
        self.write("soon.yaml", "workflow: soon\nsteps:\n  - {name: nap, wait: 50ms}\n")
        self.ok("run", "soon.yaml", "--until-blocked")

    def test_130_interrupted(self):
        for more in ([], ["--json"], ["--quiet"]):
            with self.subTest(more):
                with cli.started("run", "leave.yaml", *more, cwd=self.directory, stdout=-1,
                                 stderr=-1) as process:
                    before = self.count()
                    cli.wait_until(lambda: self.count() > before or self.waits(), "the run")
                    process.send_signal(signal.SIGINT)
                    self.assertEqual(process.wait(cli.DEADLINE_S), 130)
                    said = process.stdout.read().decode()
                    if more == ["--json"]:
                        self.assertFalse(json.loads(said)["terminal"])
                        self.assertEqual(process.stderr.read(), b"")
                    else:
                        self.assertIn("continue it with: holdfast work", said)
                self.ok("cancel", "latest")

    def count(self):
        result = self.run_here("list", "--json")
        return len(json.loads(result.stdout)["runs"]) if result.returncode == 0 else 0

    def waits(self):
        result = self.run_here("list", "--status", "paused", "--json")
        return result.returncode == 0 and json.loads(result.stdout)["runs"]


class WhatToDoNext(ErrorsTest):
    def test_no_store(self):
        for command in (["list"], ["show", "latest"], ["explain", "latest"], ["graph", "latest"],
                        ["timeline", "latest"], ["diff", "latest", "--from", "r1"], ["status"],
                        ["doctor"], ["work"], ["work", "--drain"], ["start", "bread"],
                        ["cancel", "latest"], ["signal", "latest", "paid"], ["resume", "latest"],
                        ["approve", "latest", "--actor", "ann"], ["replay", "latest"],
                        ["reject", "latest", "--actor", "ann"], ["workflow", "list"],
                        ["workflow", "show", "bread"], ["workflow", "diff", "a", "b"]):
            with self.subTest(" ".join(command)):
                self.refused(2, "not_found", *command,
                             says=["sqlite:holdfast.db", "holdfast run FILE", "--store",
                                   "HOLDFAST_STORE"])

    def test_no_such_run(self):
        self.ok("journal", "append", "sqlite:holdfast.db", "note:1", "noted")
        self.refused(2, "run_not_found", "show", "latest", says=["holdfast"])
        self.ok("run", "bread.yaml", "--quiet")
        for command in (["show"], ["explain"], ["graph"], ["timeline"], ["cancel"], ["resume"],
                        ["replay"]):
            with self.subTest(command[0]):
                self.refused(2, "run_not_found", *command, NO_RUN,
                             says=[NO_RUN, "`holdfast list` lists"])
                self.refused(2, "run_not_found", *command, "ffffffff",
                             says=["ffffffff", "`holdfast list` lists"])
        self.refused(2, "invalid_argument", "show", "zz",
                     says=["the whole id, at least 4 characters of its beginning or end", "latest"])

    def test_the_given_store_is_in_the_advice(self):
        store = self.url("other store.db")
        self.ok("run", "bread.yaml", "--quiet", "--store", store)
        self.fails(2, "show", NO_RUN, "--store", store, says=f"`holdfast list --store '{store}'`")
        said = self.ends(6, "run", "leave.yaml", "--until-blocked", "--store", store)
        for word in ("approve", "work", "explain"):
            self.assertRegex(said, rf"holdfast {word}[^\n]* --store '{store}'\n")

    def test_an_ambiguous_part_of_an_id(self):
        runs = [f"abcdef0{number}-0000-7000-8000-000000000000" for number in (1, 2)]
        for run in runs:
            self.start("bread.yaml", {}, "--id", run)
        self.refused(2, "invalid_argument", "show", "abcd", says=[*runs, "give more of the id"])
        self.assertEqual(self.shown("abcdef01")["run_id"], runs[0])

    def test_unknown_workflow(self):
        self.ok("run", "bread.yaml", "--quiet")
        for command in (["start", "none"], ["workflow", "show", "none"],
                        ["workflow", "diff", "bread", "none"]):
            self.refused(2, "unknown_workflow", *command,
                         says=["none", "`holdfast workflow list` lists"])
        self.refused(2, "unknown_workflow", "workflow", "show", "bread@7",
                     says=["bread has no version and no definition 7"])
        self.refused(2, "not_found", "run", "none.yaml", says=["none.yaml cannot be read"])

    def test_cursor(self):
        for _ in range(2):
            self.start("bread.yaml")
        cursor = self.ok_json("list", "--limit", "1")["next"]
        for more in (["--status", "failed"], ["--workflow", "x"], ["--oldest-first"],
                     ["--attribute", "a=1"], ["--since", "1h"]):
            error = self.refused(2, "invalid_argument", "list", *more, "--cursor", cursor,
                                 says=["other filters", "omit --cursor"])
            self.assertEqual(error["fields"]["reason"], "query_mismatch")
        self.refused(2, "invalid_argument", "list", "--cursor", "x", says=["omit --cursor"])

    def test_invalid_arguments(self):
        self.ok("run", "bread.yaml", "--quiet")
        for args, code, says in (
                (["list", "--status", "gone"], "invalid_argument", ["'gone'", "compensating"]),
                (["list", "--at", "noon"], "invalid_argument", ["'noon'", "an age (10m)"]),
                (["list", "--at", "r1"], "invalid_argument", ["use a position or a time"]),
                (["list", "--since", "noon"], "invalid_argument", ["an age (2h)", '"noon"']),
                (["list", "--attribute", "a"], "invalid_argument", ["NAME=VALUE"]),
                (["list", "--limit", "0"], "invalid_argument", ["1 to 1000"]),
                (["show", "latest", "--at", "noon"], "invalid_argument", ["'noon'", "r5"]),
                (["show", "latest", "--at", "r99"], "invalid_argument", ["it has 1 to 7"]),
                (["show", "latest", "--at", "999"], "invalid_argument", ["the newest is"]),
                (["diff", "latest"], "invalid_argument", ["--from", "holdfast diff --help"]),
                (["replay", "latest", "--from-step", "x"], "invalid_argument", ["no step x"]),
                (["approve", "latest"], "invalid_argument", ["--actor", "approve --help"]),
                (["graph", "latest", "--dot", "--mermaid"], "invalid_argument", ["--help"]),
                (["completion", "fish"], "invalid_argument", ["bash", "zsh"])):
            with self.subTest(" ".join(args)):
                self.refused(2, code, *args, says=says)

    def test_a_refused_start_creates_no_store(self):
        self.write("bad.yaml", "workflow: bad\nsteps:\n  - {name: a, after: b}\n")
        self.write("bad.json", "{")
        self.write("twice.json", '{"flour": 1, "flour": 2}')
        for more, code, says in (
                (["--input", "{"], "invalid_json", ["--input", "@FILE"]),
                (["--input", "[]"], "invalid_argument", ["--input", "JSON object"]),
                (["--input", '{"a":{"b":1,"b":2}}'], "invalid_json", ["--input", "a.b", "twice"]),
                (["--input", "@twice.json"], "invalid_json", ["--input", "flour", "twice"]),
                (["--input", "@bad.json"], "invalid_json", ["--input"]),
                (["--input", "@none.json"], "not_found", ["none.json"]),
                (["--id", "7"], "invalid_argument", ["UUID"]),
                (["--trigger", "x"], "invalid_trigger", ["no trigger x"])):
            for command in ("run", "start"):
                with self.subTest(f"{command} {more}"):
                    self.refused(2, code, command, "bread.yaml", *more, says=says)
        self.refused(2, "invalid_json", "start", "bread.yaml", "--attribute", "a=1", "--attribute",
                     "a=2", says=["--attribute", "twice"])
        self.refused(2, "invalid_argument", "run", "bread.yaml", "--threads", "0")
        self.refused(2, "invalid_argument", "work", "--with", "bread.yaml", "--threads", "0")
        self.refused(2, "invalid_definition", "run", "bad.yaml", says=["bad.yaml"])
        self.refused(2, "invalid_definition", "run", "bread.yaml", "--with", "bad.yaml")
        self.assertFalse(os.path.exists(self.path("holdfast.db")))

    def test_decisions_without_a_waiting_step(self):
        run = self.drained("craft.yaml")
        advice = f"`holdfast explain {run}` shows what can be done"
        for command in (["approve", run, "--actor", "ann"], ["reject", run, "--actor", "ann"],
                        ["resume", run]):
            self.refused(4, "invalid_transition", *command,
                         says=["not waiting for a decision", advice])
        run = self.drained("leave.yaml", {"who": "Ann"})
        advice = f"`holdfast explain {run}` shows what can be done"
        self.refused(4, "stale_manual_resolution", "approve", run, "--actor", "ann", "--step", "x",
                     says=["manager", advice])
        self.refused(4, "invalid_transition", "resume", run, says=["manager", advice])

    def test_an_ended_run_accepts_no_commands(self):
        run = self.drained("bread.yaml")
        advice = f"`holdfast explain {run}` shows what can be done"
        for code, command in (("terminal_run", ["signal", run, "paid"]),
                              ("terminal_run", ["approve", run, "--actor", "ann"]),
                              ("terminal_run", ["resume", run]),
                              ("invalid_transition", ["cancel", run])):
            with self.subTest(command[0]):
                self.refused(4, code, *command, says=["completed", advice])

    def test_a_replay_of_an_irreversible_step(self):
        run = self.drained("rocket.yaml")
        self.refused(4, "unsafe_replay", "replay", run, says=["launch", "--allow-irreversible"])

    def test_data_of_an_event(self):
        run = self.drained("invoice.yaml", {"number": "n-1"})
        self.refused(2, "invalid_json", "signal", run, "paid", "--data", "{", says=["--data"])
        self.refused(2, "invalid_json", "signal", run, "paid", "--data", '{"a":1,"a":2}',
                     says=["--data", "twice"])
        self.refused(2, "invalid_argument", "signal", run, "paid", "--data", "7",
                     says=["--data needs a JSON object"])


class Handlers(ErrorsTest):
    """Steps without exec or http: a program must execute them, and commands report it at once."""

    NEEDED = (r'\Aholdfast: this command cannot execute "carve": [^\n]*\n'
              r'  in C\+\+: engine\.register_handler\("carve", [^\n]* on sqlite:holdfast\.db\n'
              r'  [^\n]*holdfast worker --handlers FILE\n\Z')

    def test_run_reports_it_and_ends_when_it_is_blocked(self):
        for more in ([], ["--json"], ["--quiet"]):
            with self.subTest(more):
                done = self.run_here("run", "craft.yaml", "--until-blocked", *more)
                self.assertEqual(done.returncode, 6)
                self.assertRegex(done.stderr, self.NEEDED)
        self.assertIn("holdfast work, and a program with its handlers\n",
                      self.run_here("run", "craft.yaml", "--until-blocked").stdout)

    def test_run_reports_it_before_the_step_is_reached(self):
        self.write("late.yaml", "workflow: late\nsteps:\n  - {name: ask, approval: {}}\n"
                   "  - {name: carve, after: ask}\n")
        done = self.run_here("run", "late.yaml", "--until-blocked")
        self.assertEqual(done.returncode, 6)
        self.assertRegex(done.stderr, self.NEEDED)

    def test_run_reports_it_and_keeps_waiting(self):
        with cli.started("run", "craft.yaml", cwd=self.directory, stdout=-1,
                         stderr=-1) as process:
            cli.Output(process.stderr.fileno()).wait_for(rb'"carve"(?s:.*)--handlers FILE\n')
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(cli.DEADLINE_S), 130)

    def test_compensations_are_named_too(self):
        self.write("back.yaml", "workflow: back\nsteps:\n"
                   "  - {name: book, exec: [\"true\"], compensate: unbook}\n")
        done = self.run_here("run", "back.yaml")
        self.assertEqual(done.returncode, 0)
        self.assertIn('"unbook"', done.stderr)

    def test_work_reports_waiting_and_new_steps(self):
        self.start("craft.yaml")
        self.write("later.yaml", "workflow: later\nsteps:\n  - {name: polish}\n")
        with cli.started("work", cwd=self.directory, stdout=-1, stderr=-1) as process:
            output = cli.Output(process.stderr.fileno())
            output.wait_for(rb'cannot execute "carve"')
            self.start("later.yaml")
            output.wait_for(rb'cannot execute "polish"')
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(cli.DEADLINE_S), 0)
            self.assertEqual(output.read_to_end().count(b'"carve"'), 2)  # one notice has two

    def test_work_that_drains_reports_it_and_ends(self):
        self.start("craft.yaml")
        done = self.run_here("work", "--drain")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, self.NEEDED)
        self.assertIn("1 run has not ended", done.stdout)
        self.ok("work", "--drain", "--quiet")


class SameKey(ErrorsTest):
    """Under a key there is one run, with the definition it was started with."""

    def setUp(self):
        super().setUp()
        self.write("tea.yaml", "workflow: tea\nsteps:\n  - {name: boil, log: boil}\n")
        self.ok("run", "tea.yaml", "--key", "k", "--quiet")
        self.ok("run", "tea.yaml", "--key", "k", "--quiet")
        self.write("tea.yaml", "workflow: tea\nsteps:\n  - {name: boil, log: cook}\n")

    def test_run_reports_that_the_first_definition_is_kept(self):
        for more in ([], ["--json"], ["--quiet"]):
            done = self.run_here("run", "tea.yaml", "--key", "k", *more)
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stderr, r"\Aholdfast: [^\n]*another definition of tea[^\n]*\n\Z")

    def test_start_reports_it_in_json_too(self):
        done = self.run_here("start", "tea.yaml", "--key", "k", "--json")
        self.assertEqual(done.returncode, 0)
        said = json.loads(done.stdout)
        self.assertTrue(said["existed"] and said["other_definition"], said)
        self.assertIn("another definition of tea", done.stderr)

    def test_another_key_uses_the_file(self):
        self.assertNotIn("other_definition", self.ok_json("start", "tea.yaml", "--key", "new"))


class ControlCharacters(ErrorsTest):
    """Control characters in stored data never reach the terminal."""

    EVIL = "a\x1b[31mb\x07c\x9b2Jd"
    CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"

    def test_of_files_outputs_reasons_and_arguments(self):
        quoted = json.dumps(self.EVIL)
        self.write("evil.yaml", f"""workflow: evil
steps:
  - {{name: say, log: {quoted}}}
  - {{name: print, after: say, exec: [printf, '{{"out": "a\\177b\\302\\2332Jc"}}']}}
  - {{name: ask, after: print, approval: {{reason: {quoted}}}}}
  - {{name: break, after: ask, exec: [sh, -c, 'printf "x\\033[31my\\007" >&2; exit 1']}}
""")
        self.looks(["run", "evil.yaml", "--until-blocked"], 6)
        for command in ("show", "explain", "graph", "timeline"):
            self.looks([command, "latest"])
        self.looks(["timeline", "latest", "--events"])
        self.looks(["approve", "latest", "--actor", self.EVIL, "--comment", self.EVIL])
        self.looks(["work", "--drain"])
        for command in (["show", "latest"], ["explain", "latest"], ["timeline", "latest"],
                        ["timeline", "latest", "--events"], ["list"], ["status"], ["doctor"],
                        ["diff", "latest", "--from", "r1"]):
            self.looks(command)
        for command in ([self.EVIL], ["run", self.EVIL], ["show", self.EVIL],
                        ["list", "--status", self.EVIL], ["list", "--" + self.EVIL],
                        ["run", "evil.yaml", "--store", "sqlite:" + self.EVIL + "/x.db"],
                        ["run", "evil.yaml", "--store", self.EVIL],
                        ["workflow", "check", self.EVIL], ["completion", self.EVIL]):
            self.looks(command, 2)

    def looks(self, command, code=0):
        with self.subTest(command):
            done = self.run_here(*command)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertNotRegex(done.stdout, self.CONTROL)
            self.assertNotRegex(done.stderr, self.CONTROL)


class Limits(ErrorsTest):
    """A user whose limit on threads is below what the command requires."""

    THREADS = 100
    UID = 64321  # owns nothing else on this machine

    @staticmethod
    def few_threads():
        """A limit on threads, not on memory: sanitizers reserve terabytes of addresses."""
        used = 0
        if os.geteuid() == 0:
            # Root has no such limit. The files stay accessible: only the real user changes.
            libc = ctypes.CDLL(None)
            for capability in (CAP_SYS_ADMIN, CAP_SYS_RESOURCE):
                libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
            os.setresuid(Limits.UID, 0, 0)
        else:
            tasks = pathlib.Path("/proc").glob("[0-9]*/task/*")
            used = sum(1 for task in tasks if task.stat().st_uid == os.geteuid())
        limit = used + Limits.THREADS
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

    def test_threads_that_cannot_be_started_are_an_error(self):
        self.start("bread.yaml")
        for command in (["run", "bread.yaml", "--threads", "400"], ["work", "--threads", "400"],
                        ["work", "--drain", "--threads", "400"],
                        ["server", "--listen", "127.0.0.1:0", "--io-threads", "400"],
                        ["server", "--listen", "127.0.0.1:0", "--work", "400"]):
            with self.subTest(" ".join(command)):
                done = self.run_here(*command, preexec_fn=self.few_threads)
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertRegex(done.stderr, r"(?m)^holdfast: cannot start \d+ threads: [^\n]+$")
        self.ok("work", "--drain", "--quiet", "--threads", "4", preexec_fn=self.few_threads)

    def test_threads_of_a_worker_that_cannot_be_started_are_an_error(self):
        with cli.started("server", "--listen", "127.0.0.1:0", "--json", cwd=self.directory,
                         stdout=-1, stderr=subprocess.DEVNULL) as server:
            url = json.loads(server.stdout.readline())["url"]
            done = self.run_here("worker", "--server", url, "--threads", "400", "--quiet",
                                 preexec_fn=self.few_threads)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertRegex(done.stderr, r"\Aholdfast: cannot start \d+ threads: [^\n]+\n\Z")
            self.fails(2, "worker", "--server", url, "--threads", "100000000", "--quiet",
                       says="at most 10000 threads")

    def test_too_many_threads_are_refused(self):
        for command in (["run", "bread.yaml"], ["work", "--with", "bread.yaml"]):
            self.refused(2, "invalid_argument", *command, "--threads", "100000000",
                         says=["--threads", "100000000"])

    def test_a_store_in_an_impossible_directory(self):
        for store, code, says in (("nowhere/a.db", "not_found", ["nowhere", "mkdir -p"]),
                                  ("bread.yaml/a.db", "invalid_argument", ["bread.yaml"])):
            for command in (["run", "bread.yaml"], ["start", "bread.yaml"],
                            ["work", "--with", "bread.yaml", "--drain"], ["server"]):
                with self.subTest(f"{command} {store}"):
                    self.refused(2, code, *command, "--store", f"sqlite:{store}", says=says)


if __name__ == "__main__":
    cli.main(__doc__)
