"""A real terminal to run programs in and to read: a tmux server of the test."""

import os
import re
import shlex
import shutil
import subprocess

from support import cli


class Tmux:
    """One window of a given size, in which one command runs; the screen remains after its end."""

    def __init__(self, folder, rows, columns):
        if shutil.which("tmux") is None:
            raise AssertionError("tmux is not installed: ./scripts/install_packages.sh all")
        self.folder = folder
        self.size = ["-x", str(columns), "-y", str(rows)]
        self.socket = os.path.join(folder, "tmux")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("kill-server", check=False)

    def call(self, *args, check=True):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, "-f", os.devnull, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=cli.environment(LC_ALL="C.UTF-8", TMUX=None),
                              timeout=cli.DEADLINE_S, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"tmux {args}: {done.stderr}")
        return done.stdout

    def start(self, *args):
        """Runs holdfast with these arguments in a shell that records the exit code and keeps the
        screen."""
        command = shlex.join([cli.program(), *map(str, args)])
        script = f"trap : INT; {command}; echo $? > .ended.new; mv .ended.new .ended; cat"
        self.call("new-session", "-d", *self.size, "-c", self.folder, script)

    def screen(self, *options):
        return self.call("capture-pane", "-p", *options).rstrip("\n")

    def everything(self):
        """The screen and the lines that have scrolled off the top."""
        return self.screen("-S", "-")

    def wait_for(self, pattern):
        """Waits until the screen matches the pattern; returns the screen."""
        last = ""

        def fits():
            nonlocal last
            last = self.screen()
            return re.search(pattern, last, re.MULTILINE)
        try:
            cli.wait_until(fits, pattern)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{last}") from None
        return last

    def type(self, *keys):
        self.call("send-keys", *keys)

    def pid(self):
        shell = self.call("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
            return int(children.read().split()[0])

    def exit_code(self):
        """Waits for the end of the command; 137 if it was killed by signal 9."""
        file = os.path.join(self.folder, ".ended")
        cli.wait_until(lambda: os.path.exists(file), "the end of the command")
        with open(file, encoding="ascii") as ended:
            return int(ended.read())
