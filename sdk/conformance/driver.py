#!/usr/bin/env python3
"""Runs the cases of cases.yaml against a client, with a real server and a network with faults.

usage: driver.py --holdfast PROGRAM [--case ID]... [--list] -- AGENT [ARGUMENT]...

Prints a line for each case and exits with 1 if one failed. README.md describes agents.
"""

import argparse
import os
import pathlib
import sys
import time
import traceback

try:
    import yaml
except ModuleNotFoundError:
    sys.exit("driver.py needs the Python module yaml: install python3-yaml")

import cases
import harness

DESCRIPTIONS = pathlib.Path(__file__).resolve().parent / "cases.yaml"
MEMBERS = {"id", "happens", "client", "checked"}


def described():
    """The cases in order; cases.yaml and cases.py must have the same."""
    listed = yaml.safe_load(DESCRIPTIONS.read_text(encoding="utf-8"))["cases"]
    for one in listed:
        if set(one) != MEMBERS:
            sys.exit(f"cases.yaml: a case has the members {sorted(MEMBERS)}, not {sorted(one)}")
    named = [one["id"] for one in listed]
    if sorted(named) != sorted(cases.CASES):
        sys.exit(f"cases.yaml and cases.py differ: {sorted(set(named) ^ set(cases.CASES))}")
    return listed


def play(name, program, agent):
    """(passed, skipped or failed; why; seconds)"""
    began = time.monotonic()
    world = harness.World(program, agent)
    try:
        cases.CASES[name](world)
        verdict, why = "passed", ""
    except harness.Lacking as lacking:
        verdict, why = "skipped", f"the agent cannot {lacking}"
    except harness.Failed as failed:
        verdict, why = "failed", str(failed)
    except Exception:  # a fault of the suite or of the server
        verdict, why = "failed", traceback.format_exc()
    finally:
        if verdict_is_failure(locals()):
            show(world)
        world.close()
    return verdict, why, time.monotonic() - began


def verdict_is_failure(names):
    return names.get("verdict") == "failed" and os.environ.get("CONFORMANCE_SHOW")


def show(world):
    """Prints all messages, to find the cause of a failure."""
    for agent in world.agents:
        for event in agent.events:
            print("   agent", event)
    for noted in world.proxy.log:
        print("   proxy", f"{noted.at:.3f}", noted.method, noted.path, noted.status, noted.action,
              noted.body[:300])
    print(world.server.logged())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("agent", nargs="*")
    given = parser.parse_args()
    listed = described()
    if given.list:
        for one in listed:
            print(f"{one['id']:32} {one['happens']}")
        return 0
    if not given.agent:
        parser.error("the command of an agent is missing")
    names = [one["id"] for one in listed if not given.case or one["id"] in given.case]
    if unknown := set(given.case) - set(names):
        parser.error(f"unknown case {', '.join(sorted(unknown))}; --list lists the cases")
    verdicts = []
    for name in names:
        verdict, why, seconds = play(name, os.path.abspath(given.holdfast), given.agent)
        verdicts.append(verdict)
        print(f"{name:32} {verdict:8} {seconds:6.1f} s" + (f"  {why}" if why else ""), flush=True)
    print(", ".join(f"{verdicts.count(word)} {word}" for word in ("passed", "skipped", "failed")))
    return 1 if "failed" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
