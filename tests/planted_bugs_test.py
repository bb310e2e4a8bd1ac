#!/usr/bin/env python3
"""Every planted bug still applies to the sources, and there are enough of them."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEWEST = 25


def main() -> int:
    tool = [sys.executable, str(ROOT / "tools" / "plant_bugs.py")]
    with tempfile.TemporaryDirectory() as folder:
        sources = pathlib.Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources)
        planted = subprocess.run([*tool, str(sources)], capture_output=True, text=True)
    names = subprocess.run([*tool, "--list"], capture_output=True, text=True).stdout.splitlines()
    print(planted.stderr, end="")
    if planted.returncode != 0:
        print("edit tools/planted_bugs.py: the sources differ from what it expects")
    if len(names) < FEWEST:
        print(f"{len(names)} planted bugs are fewer than {FEWEST}")
    return 0 if planted.returncode == 0 and len(names) >= FEWEST else 1


if __name__ == "__main__":
    sys.exit(main())
