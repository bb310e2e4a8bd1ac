"""What tests of the command line share: the program, a temporary directory, processes, terminals.

A test file ends with `cli.main(__doc__)`; its first argument is the path of holdfast.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from support.deadline import DEADLINE_S

UNPRIVILEGED_ID = 65534
WORKFLOWS = pathlib.Path(__file__).resolve().parent.parent / "golden/cli/workflows"
RUN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_program = ""


def main(usage):
    """Takes the path of holdfast from the arguments; unittest gets the rest."""
    if len(sys.argv) < 2:
        sys.exit(usage)
    use_program(sys.argv.pop(1))
    unittest.main()


def use_program(path):
    global _program
    _program = os.path.abspath(path)


def program():
    return _program


def is_sanitized():
    """Whether the program was built with a sanitizer."""
    code = pathlib.Path(program()).read_bytes()
    return b"__asan_init" in code or b"__tsan_init" in code


def environment(**changes):
    """The environment of the test without the variables that the program reads; None removes
    one."""
    values = {name: value for name, value in os.environ.items()
              if not name.startswith("HOLDFAST_") and name != "NO_COLOR"}
    values |= {"TZ": "UTC", "TERM": "xterm", **changes}
    return {name: value for name, value in values.items() if value is not None}


def run(*args, stdin=None, env=None, **options):
    return subprocess.run([program(), *map(str, args)], input=stdin, text=True,
                          env=environment(**(env or {})),
                          stdin=None if stdin is not None else subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE_S,
                          check=False, **options)


@contextlib.contextmanager
def started(*args, env=None, **options):
    """A process that is killed at the end if it is still running."""
    process = subprocess.Popen([program(), *map(str, args)], stdin=subprocess.DEVNULL,
                               env=environment(**(env or {})), **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def wait_until(condition, what="the condition"):
    """Calls the condition until its result is true; returns the result."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {DEADLINE_S} s")
        select.select([], [], [], 0.005)  # yields the processor to other processes
    return found


class Output:
    """The output of a process on a descriptor; waits for it with a deadline."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.text = b""

    def wait_for(self, pattern):
        deadline = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.text):
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.descriptor], [], [], max(left, 0))
            if not ready:
                raise AssertionError(f"no {pattern!r} in {self.text[-2000:]!r}")
            if not self.read_some():
                raise AssertionError(f"ended without {pattern!r}: {self.text[-2000:]!r}")
        return self.text

    def read_some(self):
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError:  # a terminal whose other end is closed
            piece = b""
        self.text += piece
        return bool(piece)

    def read_to_end(self):
        while self.read_some():
            pass
        return self.text


@contextlib.contextmanager
def terminal(rows=24, columns=80):
    """(our end, their end) of a new terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        with contextlib.suppress(OSError):  # the test may have closed it
            os.close(theirs)


def snapshot(directory):
    """The contents of every file below a directory."""
    found = {}
    for parent, directories, files in os.walk(directory):
        for name in directories:
            found[os.path.join(parent, name)] = None
        for name in files:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[path] = file.read()
    return found


class CliTest(unittest.TestCase):
    """Commands run in a temporary directory of the test."""

    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="holdfast_cli_")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def url(self, name="a.db"):
        return "sqlite:" + self.path(name)

    def write(self, name, text):
        pathlib.Path(self.directory, name).write_text(text, encoding="utf-8")
        return name

    def read(self, name):
        return pathlib.Path(self.directory, name).read_text(encoding="utf-8")

    def run_here(self, *args, **options):
        return run(*args, cwd=self.directory, **options)

    def ok(self, *args, **options):
        result = self.run_here(*args, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), args)
        return result.stdout

    def ok_json(self, *args, **options):
        return json.loads(self.ok(*args, "--json", **options))

    def ends(self, exit_code, *args, **options):
        """The standard output of a command whose exit code is part of its result."""
        result = self.run_here(*args, **options)
        self.assertEqual((result.returncode, result.stderr), (exit_code, ""), args)
        return result.stdout

    def fails(self, exit_code, *args, says="", **options):
        result = self.run_here(*args, **options)
        self.assertEqual(result.returncode, exit_code, (args, result.stderr))
        self.assertRegex(result.stderr, r"\Aholdfast: [^\n]+\n\Z", args)
        self.assertIn(says, result.stderr)
        return result

    @contextlib.contextmanager
    def unprivileged(self):
        """Options that run a copy of the program as a user without privileges."""
        if os.geteuid() != 0:
            yield {}
            return
        tools = tempfile.mkdtemp(prefix="holdfast_cli_unprivileged_")
        original = program()
        use_program(shutil.copy(original, os.path.join(tools, "holdfast")))
        os.chmod(tools, 0o755)
        os.chmod(program(), 0o755)

        def drop_rights():
            os.setgroups([])
            os.setgid(UNPRIVILEGED_ID)
            os.setuid(UNPRIVILEGED_ID)

        try:
            yield {"preexec_fn": drop_rights}
        finally:
            use_program(original)
            shutil.rmtree(tools)


class RunsTest(CliTest):
    """With the workflow files of the golden tests, and the default store."""

    def setUp(self):
        super().setUp()
        shutil.copytree(WORKFLOWS, self.directory, dirs_exist_ok=True)

    def start(self, workflow, given=None, *more):
        return self.ok("start", workflow, "--input", json.dumps(given or {}), *more).strip()

    def drained(self, workflow, given=None, *more):
        """The id of a run that was executed as far as possible."""
        run_id = self.start(workflow, given, *more)
        self.ok("work", "--drain", "--quiet")
        return run_id

    def shown(self, run_id="latest"):
        return self.ok_json("show", run_id)

    def runs(self, *filters):
        return self.ok_json("list", *filters)["runs"]
