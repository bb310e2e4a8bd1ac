#!/usr/bin/env python3
"""Completion scripts in real shells: commands, options, values, run ids and files.

Run as: python3 tests/runs_completion_test.py path/to/holdfast
"""

import os
import re
import shlex
import shutil
import subprocess

from support import cli

# The words of a command line, of which the last is completed; prints a line for each proposal.
IN_BASH = """
source <("$HOLDFAST" completion bash)
complete -p holdfast > /dev/null || exit 3
COMP_WORDS=({words}) COMP_CWORD={last}
_holdfast
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


class Shell(cli.RunsTest):
    def setUp(self):
        super().setUp()
        os.symlink(cli.program(), self.path("holdfast"))


class Proposals(Shell):
    """What bash offers to choose from."""

    def proposals(self, *words, env=None):
        script = IN_BASH.format(words=shlex.join(["./holdfast", *words]), last=len(words))
        done = subprocess.run(["bash", "--norc", "--noprofile", "-c", script],
                              cwd=self.directory, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env=cli.environment(HOLDFAST=cli.program(), **(env or {})),
                              timeout=cli.DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout.split()

    def test_commands(self):
        found = self.proposals("")
        for command in ("run", "work", "start", "list", "show", "explain", "graph", "timeline",
                        "diff", "status", "doctor", "cancel", "signal", "resume", "approve",
                        "reject", "replay", "workflow", "journal", "bench", "completion",
                        "server", "worker", "token", "backup", "restore", "queues", "workers",
                        "schedules", "approvals", "retry", "dead-letters", "mutate", "migrate",
                        "broker"):
            self.assertIn(command, found)
        self.assertEqual(self.proposals("re"), ["resume", "reject", "retry", "replay", "restore"])
        self.assertEqual(set(self.proposals("workflow", "s")), {"schema", "show"})
        self.assertIn("verify", self.proposals("journal", ""))
        self.assertIn("redrive", self.proposals("dead-letters", ""))
        self.assertIn("workspace", self.proposals("broker", ""))
        self.assertEqual(self.proposals("broker", "topic", "sub"), ["subscribe"])
        self.assertEqual(self.proposals("nonsense", ""), [])

    def test_options(self):
        self.assertEqual(self.proposals("list", "--o"), ["--oldest-first"])
        for option in ("--input", "--until-blocked", "--with", "--store", "--json"):
            self.assertIn(option, self.proposals("run", "--"))
        self.assertIn("--from-step", self.proposals("replay", "latest", "--f"))
        self.assertIn("--expected-rev", self.proposals("journal", "append", "--e"))
        self.assertNotIn("--until-blocked", self.proposals("show", "--"))

    def test_values(self):
        self.assertEqual(self.proposals("list", "--status", "c"),
                         ["compensating", "completed", "cancelled", "continued"])
        self.assertEqual(self.proposals("approve", "latest", "--actor", ""), [])
        self.assertIn("part.yaml", self.proposals("run", "whole.yaml", "--with", "pa"))

    def test_files(self):
        self.assertEqual(self.proposals("run", "whol"), ["whole.yaml"])
        self.assertEqual(self.proposals("start", "whol"), ["whole.yaml"])
        self.assertEqual(self.proposals("workflow", "check", "bread.yaml", "whol"), ["whole.yaml"])
        self.assertEqual(self.proposals("workflow", "diff", "bread", "whol"), ["whole.yaml"])

    def test_run_ids(self):
        self.assertEqual(self.proposals("explain", "la"), ["latest"])  # there is no store yet
        runs = [self.start("bread.yaml") for _ in range(3)]
        for command in ("show", "explain", "timeline", "approve", "cancel", "replay", "signal"):
            self.assertEqual(sorted(self.proposals(command, runs[0][:8])), runs)
        self.assertEqual(self.proposals("show", runs[1]), [runs[1]])
        self.assertIn("bread.yaml", self.proposals("graph", "brea"))

    def test_run_ids_of_another_store(self):
        store = self.url("other.db")
        run = self.start("bread.yaml", {}, "--store", store)
        self.assertEqual(self.proposals("show", run[:8]), [])
        self.assertEqual(self.proposals("show", "--store", store, run[:8]), [run])
        self.assertEqual(self.proposals("show", run[:8], env={"HOLDFAST_STORE": store}), [run])


class KeyPresses(Shell):
    """Key presses in an interactive shell."""

    def complete(self, shell, prepare, lines):
        """lines: what is typed before each tab key -> the resulting line."""
        if shutil.which(shell[0]) is None:
            self.fail(f"{shell[0]} is not installed: ./scripts/install_packages.sh all")
        path = f"{self.directory}:{os.environ['PATH']}"
        with cli.terminal(24, 200) as (ours, theirs):
            process = subprocess.Popen(shell, cwd=self.directory, stdin=theirs, stdout=theirs,
                                       stderr=theirs, start_new_session=True,
                                       env=cli.environment(PATH=path, PS1="> ", TERM="dumb",
                                                           HOME=self.directory))
            try:
                output = cli.Output(ours)
                os.write(ours, f"{prepare}; echo rea''dy\n".encode())
                output.wait_for(rb"\nready\r*\n")
                for typed, expected in lines.items():
                    output.text = b""
                    os.write(ours, f"{typed}\t".encode())
                    output.wait_for(re.escape(expected.encode()))
                    os.write(ours, b"\x15")  # Ctrl-U clears the line
                os.write(ours, b"exit\n")
                process.wait(cli.DEADLINE_S)
            finally:
                process.kill()
                process.wait()

    def lines(self):
        run = self.start("bread.yaml")
        return {"holdfast expl": "holdfast explain",
                "holdfast workflow sch": "holdfast workflow schema",
                "holdfast list --old": "holdfast list --oldest-first",
                "holdfast list --status compl": "holdfast list --status completed",
                f"holdfast explain {run[:12]}": f"holdfast explain {run}",
                "holdfast run whol": "holdfast run whole.yaml",
                "holdfast run whole.yaml --with part": "holdfast run whole.yaml --with part.yaml"}

    def test_bash(self):
        self.complete(["bash", "--norc", "--noprofile", "-i"],
                      "source <(holdfast completion bash)", self.lines())

    def test_zsh(self):
        self.complete(["zsh", "-f", "-i"],
                      "autoload -U compinit && compinit -u -D; "
                      "source <(holdfast completion zsh)", self.lines())

    def test_zsh_finds_the_completion_file_in_its_path(self):
        self.complete(["zsh", "-f", "-i"],
                      "mkdir functions; holdfast completion zsh > functions/_holdfast; "
                      "fpath=($PWD/functions $fpath); autoload -U compinit && compinit -u -D",
                      self.lines())


if __name__ == "__main__":
    cli.main(__doc__)
