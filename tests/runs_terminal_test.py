#!/usr/bin/env python3
"""What a terminal shows while a run is executed, and what Ctrl-C and kill leave behind.

Run as: python3 tests/runs_terminal_test.py path/to/holdfast
"""

import os
import pathlib
import re
import signal

from support import cli
from support.tmux import Tmux

# Steps that wait read from a named pipe; `open_gate` lets one of them continue.
GATE = "read line < gate"

STAGES = f"""
workflow: stages
steps:
  - name: first
    exec: [sh, -c, 'test "$HOLDFAST_ATTEMPT" -ge 2']
    retry: {{max_attempts: 2}}
  - name: fill
    after: first
    for_each: {{items: [a, b, c, d], concurrency: 1}}
    exec: [sh, -c, '{GATE}; echo 1']
  - name: ask
    approval: {{reason: "Is it full?"}}
    after: fill
  - name: last
    exec: ["true"]
    after: ask
"""

# Each completed step appends a line to the ledger. The lease is long enough for a worker on a
# stalled machine, and short enough to wait for after a worker was killed.
LEDGER = f"""
workflow: ledger
steps:
  - name: one
    exec: [sh, -c, 'echo one >> ledger']
  - name: two
    exec: [sh, -c, 'echo begin >> ledger; test -e open || {{ {GATE}; }}; echo two >> ledger']
    lease: 5s
    after: one
  - name: three
    exec: [sh, -c, 'echo three >> ledger']
    after: two
"""


class TerminalTest(cli.RunsTest):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.path("gate"))
        self.addCleanup(self.release)

    def release(self):
        """Releases every process that still waits, so that none is left behind."""
        try:
            os.close(os.open(self.path("gate"), os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # no process waits
            pass

    def open_gate(self):
        """Waits until a process is at the gate, and lets it continue."""
        def opened():
            try:
                return (os.open(self.path("gate"), os.O_WRONLY | os.O_NONBLOCK),)
            except OSError:  # no process yet
                return None
        (gate,) = cli.wait_until(opened, "a process at the gate")
        os.write(gate, b"go\n")
        os.close(gate)

    def on_terminal(self, *args, exit_code=0, env=None, rows=24, columns=80):
        """What a command writes to a terminal."""
        with cli.terminal(rows, columns) as (ours, theirs):
            with cli.started(*args, cwd=self.directory, stdout=theirs, stderr=theirs,
                             env=env) as process:
                os.close(theirs)
                written = cli.Output(ours).read_to_end()
                self.assertEqual(process.wait(cli.DEADLINE_S), exit_code, written)
        return written.decode()

    def tmux(self, rows=24, columns=100):
        return Tmux(self.directory, rows, columns)

    def ledger(self):
        file = pathlib.Path(self.directory, "ledger")
        return file.read_text(encoding="utf-8").split() if file.exists() else []


class Live(TerminalTest):
    def test_a_run_from_its_first_step_to_its_last(self):
        self.write("stages.yaml", STAGES)
        with self.tmux() as screen:
            screen.start("run", "stages.yaml")
            for done in range(4):
                cells = "#" * (20 * done // 4) + "." * (20 - 20 * done // 4)
                shown = screen.wait_for(rf"^  fill +running +\[{re.escape(cells)}\] {done}/4, \d")
                self.assertRegex(shown, r"(?m)^  first +completed +attempt 2, [\d.]+ m?s$")
                self.assertRegex(shown, r"(?m)^  ask +waiting$")
                self.open_gate()
            shown = screen.wait_for(r"^  ask +paused")
            run = self.runs()[0]["run_id"]
            self.assertIn(f"holdfast approve {run} --step ask --actor YOU", shown)
            self.assertIn(f"holdfast reject {run} --step ask --actor YOU", shown)
            self.assertIn("Is it full?", shown)
            self.ok("approve", run, "--actor", "ann")
            self.assertEqual(screen.exit_code(), 0)
            screen.wait_for("completed after")
            shown = screen.everything()  # including lines that have scrolled off the top
            for step in ("first", "fill", "ask", "last"):
                self.assertEqual(re.findall(rf"(?m)^  {step} +(\w+)", shown), ["completed"], shown)
            self.assertNotIn("holdfast approve", shown)
            self.assertRegex(shown, rf"(?m)^run {run} completed after [\d.]+ m?s$")

    def test_time_passes_while_nothing_else_happens(self):
        self.write("ledger.yaml", LEDGER)
        with self.tmux() as screen:
            screen.start("run", "ledger.yaml")
            screen.wait_for(r"^  two +running +[1-9][\d.]* s$")
            self.open_gate()
            self.assertEqual(screen.exit_code(), 0)

    def test_messages_appear_above_the_picture(self):
        self.write("say.yaml", f"""
workflow: say
steps:
  - name: hello
    log: "hello there"
  - name: hold
    exec: [sh, -c, '{GATE}']
    after: hello
  - name: bye
    log: {{message: "good bye", level: warning}}
    after: hold
""")
        with self.tmux() as screen:
            screen.start("run", "say.yaml")
            shown = screen.wait_for(r"^  hold +running")
            self.assertLess(shown.index("hello there"), shown.index("\n  hold"))
            self.open_gate()
            self.assertEqual(screen.exit_code(), 0)
            shown = screen.wait_for("completed after")
            self.assertEqual(shown.count("hello there"), 1)
            self.assertEqual(shown.count("warning: good bye"), 1)
            self.assertLess(shown.index("good bye"), shown.index("\n  hello"))
            self.assertEqual(len(re.findall(r"(?m)^  hold ", screen.everything())), 1)

    def test_a_failed_step_shows_its_error(self):
        with self.tmux() as screen:
            screen.start("run", "glass.yaml")
            self.assertEqual(screen.exit_code(), 1)
            shown = screen.wait_for("history: holdfast timeline")
            self.assertRegex(shown,
                             r"(?m)^  blow +failed +attempt 2, [\d.]+ m?s, it broke: .*broken")
            self.assertRegex(shown, r"(?m)^  polish +abandoned$")

    def test_an_approval_of_a_child_is_shown_with_its_command(self):
        with self.tmux(columns=140) as screen:
            screen.start("run", "whole.yaml", "--with", "part.yaml")
            screen.wait_for("holdfast approve")
            child = self.runs("--workflow", "part")[0]["run_id"]
            self.assertIn(f"holdfast approve {child} --step check", screen.screen())
            self.ok("approve", child, "--actor", "ann")
            self.assertEqual(screen.exit_code(), 0)


class SmallTerminals(TerminalTest):
    def many_steps(self):
        steps = ""
        for number in range(30):
            steps += (f"  - name: step_{number:02}_with_a_rather_long_name\n"
                      f"    exec: [sh, -c, '{GATE if number % 10 == 0 else ':'}']\n")
            if number > 0:
                steps += f"    after: step_{number - 1:02}_with_a_rather_long_name\n"
        self.write("many.yaml", "workflow: many\nsteps:\n" + steps)

    def check(self, rows, columns):
        self.many_steps()
        with self.tmux(rows, columns) as screen:
            screen.start("run", "many.yaml")
            for number in (0, 10, 20):
                shown = screen.wait_for(rf"^  step_{number:02}_\S+ +running")
                self.check_picture(screen, rows, columns)
                running = [line for line in shown.splitlines() if " running" in line]
                self.assertEqual(len(running), 1, shown)
                self.open_gate()
            self.assertEqual(screen.exit_code(), 0)
            screen.wait_for("completed after")
            self.check_picture(screen, rows, columns)

    def check_picture(self, screen, rows, columns):
        """One picture: the first line, one title for omitted steps, no step twice."""
        lines = screen.everything().splitlines()
        for line in lines:
            self.assertLessEqual(len(line), columns)
        text = "\n".join(lines)
        self.assertEqual(len(re.findall(r"(?m)^run \S+$", text)), 1, text)
        if rows < 30:
            self.assertEqual(len(re.findall(r"(?m)^  \(\d+ more steps\)$", text)), 1, text)
        steps = [line for line in lines if line.startswith("  step_")]
        self.assertEqual(len(steps), len(set(steps)), text)
        self.assertLess(len(steps), rows)

    def test_thirty_steps_on_ten_rows(self):
        self.check(10, 100)

    def test_thirty_steps_on_sixty_columns(self):
        self.check(40, 60)

    def test_thirty_steps_on_both(self):
        self.check(10, 60)

    def test_commands_that_are_wider_than_the_terminal_leave_one_picture(self):
        with self.tmux(12, 60) as screen:
            screen.start("run", "leave.yaml", "--input", '{"who":"Ann"}')
            screen.wait_for("holdfast approve")
            run = self.runs()[0]["run_id"]
            # The following tick draws again.
            before = screen.screen()
            self.assertEqual(before.count("  manager"), 1)
            self.ok("approve", run, "--actor", "ann")
            self.assertEqual(screen.exit_code(), 0)
            shown = screen.wait_for("completed after")
            self.assertNotIn("holdfast approve", screen.everything())
            self.assertEqual(screen.everything().count("  manager"), 1, shown)

    def test_a_terminal_that_shrinks_stays_intact(self):
        self.write("stages.yaml", STAGES)
        with self.tmux(24, 100) as screen:
            screen.start("run", "stages.yaml")
            screen.wait_for(r"0/4, \d")
            screen.call("resize-window", "-x", "62", "-y", "12")
            for done in range(4):
                screen.wait_for(rf"{done}/4, \d")
                self.open_gate()
            screen.wait_for("holdfast approve")
            self.ok("approve", "latest", "--actor", "ann")
            self.assertEqual(screen.exit_code(), 0)
            screen.wait_for("completed after")

    def test_queries_fit_sixty_columns(self):
        self.ok("work", "--drain", "--quiet", "--with", "part.yaml")
        run = self.drained("whole.yaml", {"number": 7}, "--attribute", "customer=ann")
        for command in (["graph", run], ["timeline", run], ["status"], ["doctor"], ["show", run],
                        ["explain", run], ["timeline", run, "--events"]):
            for line in self.on_terminal(*command, columns=60, env={"NO_COLOR": "1"}).splitlines():
                # Commands to copy and ids are never wrapped.
                if "holdfast " not in line and not cli.RUN_ID.search(line):
                    self.assertLessEqual(len(line), 60, (command, line))


class Colour(TerminalTest):
    COMMANDS = (["list"], ["show", "latest"], ["explain", "latest"], ["graph", "latest"],
                ["timeline", "latest"], ["timeline", "latest", "--events"], ["status"], ["doctor"])

    def setUp(self):
        super().setUp()
        self.drained("leave.yaml", {"who": "Ann"})

    def test_only_on_a_terminal(self):
        for command in self.COMMANDS:
            with self.subTest(" ".join(command)):
                self.assertIn("\x1b[", self.on_terminal(*command))
                self.assertNotIn("\x1b", self.on_terminal(*command, env={"NO_COLOR": "1"}))
                self.assertNotIn("\x1b", self.on_terminal(*command, env={"TERM": "dumb"}))
                self.assertNotIn("\x1b", self.ok(*command))
                self.assertNotIn("\x1b", self.on_terminal(*command, "--json"))
        for drawing in ("--dot", "--mermaid"):
            self.assertNotIn("\x1b", self.on_terminal("graph", "latest", drawing))

    def test_of_a_run(self):
        self.assertRegex(self.on_terminal("run", "bread.yaml"), r"\x1b\[\d*;?3\dm")
        without = self.on_terminal("run", "bread.yaml", env={"NO_COLOR": "1"})
        self.assertIn("\x1b[", without)  # the picture is redrawn
        self.assertNotRegex(without, r"\x1b\[[\d;]*m")
        dumb = self.on_terminal("run", "bread.yaml", env={"TERM": "dumb"})
        self.assertNotIn("\x1b", dumb)
        self.assertIn("knead                 done", dumb)
        self.assertNotIn("\x1b", self.on_terminal("run", "bread.yaml", "--json"))
        self.assertNotIn("\x1b", self.on_terminal("run", "bread.yaml", "--quiet",
                                                  env={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.ok("run", "bread.yaml"))


class Leaving(TerminalTest):
    def setUp(self):
        super().setUp()
        self.write("ledger.yaml", LEDGER)

    def finish(self):
        """The next worker finishes the run and does not repeat completed steps."""
        said = self.ok("work", "--drain")
        self.assertEqual(self.shown()["status"], "completed", said)
        self.assertEqual(self.ledger().count("one"), 1)
        self.assertEqual(self.ledger().count("three"), 1)
        return said

    def test_ctrl_c_ends_the_steps_in_progress_and_shows_how_to_continue(self):
        with self.tmux() as screen:
            screen.start("run", "ledger.yaml")
            screen.wait_for(r"^  two +running")
            screen.type("C-c")
            screen.wait_for("stopping after the steps in progress; Ctrl-C again exits at once")
            self.open_gate()
            self.assertEqual(screen.exit_code(), 130)
            shown = screen.wait_for("nothing is lost; continue it with: holdfast work")
            run = self.runs()[0]["run_id"]
            self.assertIn(f"holdfast explain {run}", shown)
        self.assertEqual(self.ledger(), ["one", "begin", "two"])
        self.finish()
        self.assertEqual(self.ledger(), ["one", "begin", "two", "three"])

    def test_a_second_ctrl_c_exits_at_once(self):
        with self.tmux() as screen:
            screen.start("run", "ledger.yaml")
            screen.wait_for(r"^  two +running")
            screen.type("C-c")
            screen.wait_for("Ctrl-C again exits at once")
            screen.type("C-c")
            self.assertEqual(screen.exit_code(), 130)
        self.assertEqual(self.ledger(), ["one", "begin"])
        self.write("open", "")
        self.finish()

    def test_killed_in_the_middle(self):
        with self.tmux() as screen:
            screen.start("run", "ledger.yaml")
            screen.wait_for(r"^  two +running")
            os.kill(screen.pid(), signal.SIGKILL)
            self.assertEqual(screen.exit_code(), 137)
        self.write("open", "")
        self.finish()

    def test_without_a_terminal_interrupted_and_killed(self):
        for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)):
            with self.subTest(stop.name):
                with cli.started("run", "ledger.yaml", cwd=self.directory,
                                 stdout=-1, stderr=-1) as process:
                    cli.Output(process.stdout.fileno()).wait_for(rb"two +attempt 1 claimed")
                    cli.wait_until(lambda: self.ledger()[-1:] == ["begin"])
                    process.send_signal(stop)
                    if stop != signal.SIGKILL:
                        said = cli.Output(process.stderr.fileno())
                        said.wait_for(b"stopping after the steps in progress")
                        self.open_gate()
                    self.assertEqual(process.wait(cli.DEADLINE_S), code)
                if stop == signal.SIGKILL:
                    self.write("open", "")
                self.finish()
                os.remove(self.path("ledger"))

    def test_a_worker_finishes_steps_in_progress(self):
        self.start("ledger.yaml")
        with cli.started("work", cwd=self.directory, stdout=-1, stderr=-1) as process:
            cli.Output(process.stdout.fileno()).wait_for(rb"two: attempt 1 claimed")
            process.send_signal(signal.SIGINT)
            self.open_gate()
            self.assertEqual(process.wait(cli.DEADLINE_S), 0)
        self.assertEqual(self.ledger()[:3], ["one", "begin", "two"])
        self.finish()

    def test_a_second_interrupt_of_a_worker_exits_at_once(self):
        self.start("ledger.yaml")
        with cli.started("work", cwd=self.directory, stdout=-1, stderr=-1) as process:
            cli.Output(process.stdout.fileno()).wait_for(rb"two: attempt 1 claimed")
            cli.wait_until(lambda: self.ledger()[-1:] == ["begin"])
            process.send_signal(signal.SIGINT)
            cli.Output(process.stderr.fileno()).wait_for(b"Ctrl-C again exits at once")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(cli.DEADLINE_S), 130)
        self.assertEqual(self.ledger(), ["one", "begin"])
        self.write("open", "")
        self.finish()


if __name__ == "__main__":
    cli.main(__doc__)
