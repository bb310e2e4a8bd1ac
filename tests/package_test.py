"""Installs the package, then builds and runs the documented programs against it.

usage: package_test.py BUILD_DIR SOURCE_DIR COMPILER
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, ROOT, COMPILER = (sys.argv.pop(1) for _ in range(3))
ROOT = pathlib.Path(ROOT)


def run(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def block(document, language):
    """The only block of that language."""
    text = (ROOT / document).read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return found


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix = cls.root / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, source):
        folder = self.root / ("build-" + source.name)
        run("cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", folder)
        return folder

    def test_the_program_of_the_readme_runs(self):
        source = self.root / "readme"
        source.mkdir()
        (source / "main.cc").write_text(block("README.md", "cpp"), encoding="utf-8")
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
            + block("README.md", "cmake"), encoding="utf-8")
        program = self.build(source) / "app"
        self.assertEqual(run(program, cwd=self.root), "completed\n")

    def test_a_user_supplied_log_supports_an_engine_and_meets_the_contract(self):
        folder = self.build(ROOT / "examples/custom-log")
        self.assertEqual(run(folder / "orders", "orders.log", cwd=self.root),
                         "completed, runs: 1\n")
        self.assertEqual(run(folder / "orders", "orders.log", cwd=self.root),
                         "completed, runs: 2\n")
        tested = run(folder / "file_log_test")
        self.assertIn("All/DurableLogContract.", tested)
        self.assertRegex(tested, r"\[  PASSED  \] 19 tests")

    def test_a_project_tests_its_workflow_with_the_test_kit(self):
        folder = self.build(ROOT / "examples/order-tests")
        tested = run("ctest", "--test-dir", folder, "--output-on-failure")
        self.assertIn("100% tests passed, 0 tests failed out of 1", tested)
        self.assertEqual(run(folder / "order_flow_test"), "all tests passed\n")

    def test_the_program_and_its_schemas_are_installed(self):
        program = self.prefix / "bin/holdfast"
        self.assertIn("holdfast ", run(program, "--version"))
        share = self.prefix / "share/holdfast"
        self.assertEqual((share / "workflow.schema.json").read_text(encoding="utf-8"),
                         run(program, "workflow", "schema"))
        json.loads((share / "openapi.json").read_text(encoding="utf-8"))

    def test_the_systemd_unit_is_installed_if_it_exists(self):
        self.assertEqual((self.prefix / "lib/systemd/system/holdfast.service").exists(),
                         (ROOT / "packaging/holdfast.service").exists())

    def test_completions_are_those_of_the_program(self):
        program = self.prefix / "bin/holdfast"
        bash = self.prefix / "share/bash-completion/completions/holdfast"
        zsh = self.prefix / "share/zsh/site-functions/_holdfast"
        self.assertEqual(bash.read_text(encoding="utf-8"), run(program, "completion", "bash"))
        self.assertEqual(zsh.read_text(encoding="utf-8"), run(program, "completion", "zsh"))
        run("bash", "--norc", "-c", f"source {bash} && complete -p holdfast")

    def test_zsh_finds_the_installed_completion(self):
        functions = self.prefix / "share/zsh/site-functions"
        printed = run("zsh", "-f", "-c", f"fpath=({functions} $fpath); autoload -U compinit; "
                      "compinit -u -D; print -r -- $_comps[holdfast]")
        self.assertEqual(printed.strip(), "_holdfast")

    def test_the_manual_page_has_every_command_and_renders_without_a_warning(self):
        page = self.prefix / "share/man/man1/holdfast.1"
        self.assertEqual(page.read_text(encoding="utf-8"),
                         run(self.prefix / "bin/holdfast", "help", "--man"))
        environment = {**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-ww",
                       "MANPAGER": "cat"}
        done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True,
                              check=False, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in ("run FILE", "journal cat STORE", "server", "token create"):
            self.assertRegex(done.stdout, rf"(?m)^ +{command}$")
        for part in ("--until-blocked", "Exit codes:", "holdfast explain latest"):
            self.assertIn(part, done.stdout)

    def test_every_public_header_compiles_alone(self):
        headers = sorted((self.prefix / "include/holdfast").iterdir())
        self.assertGreater(len(headers), 5)
        for header in headers:
            run(COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
                "-Wsign-conversion", "-Wshadow", "-Wold-style-cast", "-Werror", "-fsyntax-only",
                f"-I{self.prefix}/include", "-include", header, "-x", "c++", os.devnull)


if __name__ == "__main__":
    unittest.main()
