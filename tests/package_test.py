"""Installs the package, and builds and runs against it what the documents show.

usage: package_test.py BUILD_DIR SOURCE_DIR COMPILER
"""
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
    """The one block of that language."""
    text = (ROOT / document).read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return found


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix = cls.root / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "embed")

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

    def test_every_public_header_compiles_alone(self):
        headers = sorted((self.prefix / "include/holdfast").iterdir())
        self.assertGreater(len(headers), 5)
        for header in headers:
            run(COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
                "-Wsign-conversion", "-Wshadow", "-Wold-style-cast", "-Werror", "-fsyntax-only",
                f"-I{self.prefix}/include", "-include", header, "-x", "c++", os.devnull)


if __name__ == "__main__":
    unittest.main()
