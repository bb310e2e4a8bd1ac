#!/usr/bin/env python3
"""Runs clang-tidy over the sources of src/, without their tests.

usage: clang_tidy.py BUILD_DIR [--jobs N]

BUILD_DIR holds compile_commands.json. A file that passed is not looked at again until it, a
header of ours that it includes, its compile command or .clang-tidy changes: the marks are
kept in BUILD_DIR/clang_tidy.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def with_headers(source, seen):
    """Adds the file and every header of ours that it reaches to seen: path -> content."""
    if source in seen or not source.is_file():
        return
    seen[source] = source.read_bytes()
    for name in INCLUDE.findall(seen[source]):
        for folder in ("src", "include"):
            with_headers(ROOT / folder / name.decode(), seen)


def fingerprint(command):
    seen = {}
    with_headers(pathlib.Path(command["file"]), seen)
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    digest.update(command.get("command", "").encode())
    for path in sorted(seen):
        digest.update(str(path).encode() + b"\0" + seen[path] + b"\0")
    return digest.hexdigest()


def wanted(path):
    return (
        path.is_relative_to(ROOT / "src")
        and path.suffix == ".cc"
        and not path.name.endswith("_test.cc")
    )


def check(command, build_dir):
    """The findings in one file: empty when it is clean."""
    source = pathlib.Path(command["file"])
    mark = build_dir / "clang_tidy" / str(source.relative_to(ROOT)).replace("/", "_")
    current = fingerprint(command)
    if mark.is_file() and mark.read_text() == current:
        return ""
    result = subprocess.run(
        # The commands are for g++: clang may not know all its warnings.
        ["clang-tidy", "--quiet", "-p", str(build_dir),
         "--extra-arg=-Wno-unknown-warning-option", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == 0:
        mark.write_text(current)
        return ""
    return result.stdout or result.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build_dir", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    build_dir = arguments.build_dir.resolve()

    database = json.loads((build_dir / "compile_commands.json").read_text())
    commands = [command for command in database if wanted(pathlib.Path(command["file"]))]
    if not commands:
        sys.exit("clang_tidy.py: no sources found: is this the build directory?")
    (build_dir / "clang_tidy").mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        findings = list(pool.map(lambda command: check(command, build_dir), commands))
    bad = [text for text in findings if text]
    print("\n".join(bad))
    print(f"clang-tidy: {len(commands)} files, {len(bad)} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
