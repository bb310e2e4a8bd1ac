"""Runs the shell snippets of the documents, as a reader would type them.

usage: docs_test.py HOLDFAST
A snippet runs line by line in an empty folder. What needs a server is run against a file.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent
STAND_INS = {
    "build/release/bin/holdfast": HOLDFAST,
    "postgres://localhost/mydb": "sqlite:copy.db",
}
# Lines that a comment in the document marks as failing, with the exit code it promises.
PROMISED = re.compile(r"#.*exit code (\d)")


def snippets(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


def run_lines(script, folder):
    """Runs the lines in one shell; returns (line, exit code) for each."""
    lines = [line for line in script.splitlines() if line.strip() and not line.startswith("#")]
    program = "".join(f"{line}\necho \"exit=$?\" >&3\n" for line in lines)
    reader, writer = os.pipe()
    subprocess.run(["bash", "-c", f"exec 3>&{writer}\n{program}"], cwd=folder, check=True,
                   pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as codes:
        return list(zip(lines, [int(code.strip()[5:]) for code in codes], strict=True))


class Snippets(unittest.TestCase):
    def check(self, script, files=None):
        for name, stand_in in STAND_INS.items():
            script = script.replace(name, stand_in)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (files or {}).items():
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            for line, code in run_lines(script, folder):
                promised = PROMISED.search(line)
                self.assertEqual(code, int(promised.group(1)) if promised else 0, line)

    def test_readme_commands_do_what_they_say(self):
        _, play, workflow = snippets("README.md")
        self.check(play)
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.check(workflow, {"order.yaml": re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1]})

    def test_readme_names_scripts_that_are_there(self):
        scripts, *_ = snippets("README.md")
        for name in re.findall(r"^\./(\S+)", scripts, re.MULTILINE):
            self.assertTrue(os.access(ROOT / name, os.X_OK), name)

    def test_every_linked_document_exists(self):
        for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
            for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
                self.assertTrue((document.parent / target).exists(), f"{document}: {target}")


if __name__ == "__main__":
    unittest.main()
