#!/usr/bin/env python3
"""Lets the simulator search for each planted bug and prints the results.

usage: hunt_bugs.py --build FOLDER --seeds N [--only NAME,NAME]
       hunt_bugs.py --list-programs [--only NAME,NAME]

FOLDER is the build with the programs that scripts/mutants.sh makes; --list-programs prints which of
them the bugs need. The bugs of the mesh are searched by mesh_roster_tests: its convergence test,
with as many random histories. Exits with 1 if a bug was not found.
"""

import argparse
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys

from planted_broker_bugs import BROKER_BUGS
from planted_bugs import BUGS
from planted_mesh_bugs import MESH_BUGS

LONGEST_SECONDS = 600
OF_BROKERS = {name for name, _, _ in BROKER_BUGS}
OF_MESH = {name for name, _, _ in MESH_BUGS}
ALL = BUGS + BROKER_BUGS + MESH_BUGS


def program_for(name: str) -> str:
    if name in OF_MESH:
        return "mesh_roster_tests"
    return "planted_broker_simulator" if name in OF_BROKERS else "planted_simulator"


def hunt_in_mesh(build: str, name: str, seeds: int) -> tuple[int | None, str]:
    """After how many histories the convergence test found it, and where the first difference is."""
    environment = dict(os.environ, HOLDFAST_PLANTED=name, HOLDFAST_MESH_SEEDS=str(seeds))
    command = [os.path.join(build, "tests", program_for(name)), "--gtest_filter=Convergence.*"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None, f"nothing was found in {seeds} histories"
    seed = re.search(r"seed (\d+)\n(.*)", done.stdout)
    return (int(seed[1]) % 1_000_000 + 1, seed[2]) if seed else (0, "an assertion stopped the test")


def hunt(build: str, name: str, seeds: int) -> tuple[int | None, str]:
    """After how many simulations it was found (0: by an assertion), and by which broken promise."""
    command = [os.path.join(build, "bin", program_for(name)), str(seeds)]
    environment = dict(os.environ, HOLDFAST_PLANTED=name)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"nothing was found in {LONGEST_SECONDS} s"
    if done.returncode < 0 or done.returncode in (134, 139):
        return 0, "an assertion stopped the program"
    report = json.loads(done.stdout)
    if report["ok"]:
        return None, f"nothing was found in {report['simulations']} simulations"
    return report["simulations"], report["failed"]["what"]


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build")
    parser.add_argument("--list-programs", action="store_true")
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name]
    unknown = set(names) - {name for name, _, _ in ALL}
    if unknown:
        print(f"hunt_bugs.py: no such bug: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    bugs = [(name, what) for name, what, _ in ALL if not names or name in names]
    if given.list_programs:
        print("\n".join(sorted({program_for(name) for name, _ in bugs})))
        return 0
    if given.build is None:
        parser.error("--build is missing")
    found = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        hunts = [pool.submit(hunt_in_mesh if name in OF_MESH else hunt, given.build, name,
                             given.seeds) for name, _ in bugs]
        for (name, _), future in zip(bugs, hunts):
            seeds, how = future.result()
            found.append(seeds)
            count = "NOT FOUND" if seeds is None else seeds or "at once"
            print(f"{name:28} {count:>9}  {how[:150]}", flush=True)
    killed = [seeds for seeds in found if seeds is not None]
    print(f"\nplanted {len(bugs)}, found {len(killed)}", end="")
    # Bugs that an assertion found first have no count.
    counted = [seeds for seeds in killed if seeds > 0]
    print(f", median simulations to find one {statistics.median(counted):.0f}" if counted else "")
    return 0 if len(killed) == len(bugs) else 1


if __name__ == "__main__":
    sys.exit(main())
