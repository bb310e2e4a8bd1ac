#!/usr/bin/env python3
"""The JSON Schema of workflow files and the program accept the same files, and the program reports
each fault at its line.

tests/workflows/valid has workflows with every field and short form. Each file in
tests/workflows/invalid has one fault and starts with a comment that names it:

    # code: invalid_step_opts line: 4

The program must report this fault, and the schema must refuse the file too, unless the comment
continues with "schema: accepts" (faults in how steps are connected, or that depend on the
environment) or "schema: unread" (not YAML that a schema could check).

Run as: python3 tests/schema_test.py path/to/holdfast
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from support.deadline import DEADLINE_S

try:
    import jsonschema
    import yaml
except ModuleNotFoundError as missing:
    package = {"jsonschema": "python3-jsonschema", "yaml": "python3-yaml"}.get(missing.name)
    sys.exit(f"schema_test needs the Python module {missing.name}: install {package}")

HOLDFAST = ""
HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parent / "schema" / "workflow.schema.json"
FAULT_CODES = HERE.parent / "src/runs/language/definition/fault_codes.h"
COMMENT = re.compile(r"# code: (\w+) line: (\d+)(?: schema: (accepts|unread))?\n")


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2, core schema; by default this module reads "on" as true and days as dates."""


CoreLoader.yaml_implicit_resolvers = {}
for tag, pattern, first in [
        ("null", r"~|null|Null|NULL|", "~nN"),
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
        ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789")]:
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"),
                                     [*first, *([""] if tag == "null" else [])])


def with_text_names(value):
    """As JSON has it: names are strings."""
    if isinstance(value, dict):
        return {name if isinstance(name, str) else json.dumps(name): with_text_names(member)
                for name, member in value.items()}
    return [with_text_names(item) for item in value] if isinstance(value, list) else value


def load(path):
    return with_text_names(yaml.load(path.read_text(encoding="utf-8"), CoreLoader))


def files(folder):
    return sorted((HERE / "workflows" / folder).glob("*.yaml"))


def check(paths):
    """The result of the program for each file, by path, and its exit code."""
    result = subprocess.run([HOLDFAST, "workflow", "check", "--json", *map(str, paths)], text=True,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S)
    answer = json.loads(result.stdout)
    for file in answer["files"]:
        file["errors"] = [error for error in answer["errors"] if error["file"] == file["file"]]
    return {file["file"]: file for file in answer["files"]}, result.returncode


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def test_valid_files_are_accepted_by_both(self):
        paths = files("valid")
        self.assertGreaterEqual(len(paths), 15)
        answers, exit_code = check(paths)
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(answers[str(path)]["errors"], [])
                self.assertTrue(answers[str(path)]["valid"])
                self.assertEqual([error.message for error in
                                  self.validator.iter_errors(load(path))], [])
        self.assertEqual(exit_code, 0)

    def test_invalid_files_are_refused_at_their_line(self):
        paths = files("invalid")
        answers, exit_code = check(paths)
        self.assertEqual(exit_code, 2)
        for path in paths:
            with self.subTest(path.name):
                code, line, schema = COMMENT.match(path.read_text(encoding="utf-8")).groups()
                found = [(error["code"], error["line"])
                         for error in answers[str(path)]["errors"]]
                self.assertEqual(found, [(code, int(line))], answers[str(path)])
                if schema != "unread":
                    self.assertEqual(self.validator.is_valid(load(path)), schema == "accepts")

    def test_every_fault_has_a_file(self):
        codes = set(re.findall(r"\bX\((\w+), \"", FAULT_CODES.read_text(encoding="utf-8")))
        self.assertGreater(len(codes), 50)
        shown = {COMMENT.match(path.read_text(encoding="utf-8"))[1] for path in files("invalid")}
        self.assertEqual(codes, shown)

    def test_every_field_is_in_a_valid_file(self):
        texts = "\n".join(path.read_text(encoding="utf-8") for path in files("valid"))
        fields = {name for _, part in self.objects() for name in part["properties"]}
        used = set(re.findall(r"(\w+)\"?:", texts))
        self.assertEqual(fields - used, set())

    def test_every_field_has_a_description(self):
        for place, part in self.objects():
            self.assertIs(part["additionalProperties"], False, place)
            for name, field in part["properties"].items():
                self.assertTrue(field.get("description"), f"{place}/{name}")

    def test_the_program_prints_the_schema(self):
        printed = subprocess.run([HOLDFAST, "workflow", "schema"], capture_output=True, text=True,
                                 stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=True).stdout
        self.assertEqual(printed, SCHEMA.read_text(encoding="utf-8"))
        line = subprocess.run([HOLDFAST, "workflow", "schema", "--json"], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S,
                              check=True).stdout
        self.assertEqual(line.count("\n"), 1)
        self.assertEqual(json.loads(line), self.schema)

    def objects(self):
        """(location, schema) of each object that declares fields."""
        waiting = [("", self.schema)]
        while waiting:
            place, part = waiting.pop()
            if isinstance(part, list):
                waiting += [(f"{place}/{i}", item) for i, item in enumerate(part)]
            elif isinstance(part, dict):
                if "properties" in part and part.get("type") == "object":
                    yield place, part
                waiting += [(f"{place}/{name}", item) for name, item in part.items()]


if __name__ == "__main__":
    HOLDFAST = os.path.abspath(sys.argv.pop(1))
    unittest.main()
