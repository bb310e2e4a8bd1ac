"""Checks requests and responses against schema/openapi.json.

Responses are checked more strictly than by the document: an undocumented member is a fault, except
where the document declares that there may be further members.
"""

import copy
import json
import pathlib
import re
import sys
import urllib.parse

try:
    import jsonschema
except ModuleNotFoundError:
    sys.exit("tests of the API need the Python module jsonschema: install python3-jsonschema")

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "schema" / "openapi.json"
PLACES = ("query", "path", "header")


def strict(schema):
    """The schema with every object closed that the document does not declare open."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(value) for name, value in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


class Operation:
    def __init__(self, document, method, path, spec):
        self.document = document
        self.method = method.upper()
        self.path = path
        self.id = spec["operationId"]
        self.spec = spec
        self.parameters = [document.resolved(one) for one in spec.get("parameters", [])]

    def url(self, arguments):
        names = re.findall(r"{(\w+)}", self.path)
        assert set(names) == set(arguments), (self.id, arguments)
        return re.sub(r"{(\w+)}", lambda found: urllib.parse.quote(
            arguments[found[1]], safe="@:"), self.path)

    def parameter_faults(self, place, given):
        known = {one["name"].lower(): one for one in self.parameters if one["in"] == place}
        faults = [f"{place} {name} is missing" for name, one in known.items()
                  if one.get("required") and name not in {key.lower() for key in given}]
        for name, value in given.items():
            one = known.get(name.lower())
            if one is None:
                faults.append(f"{place} {name} is not in the document")
                continue
            schema = one["schema"]
            kind = schema.get("type")
            if kind == "array":
                value = value if isinstance(value, list) else [value]
            elif kind == "integer" and re.fullmatch(r"-?\d+", str(value)):
                value = int(value)
            else:
                value = str(value)
            faults += self.document.faults(schema, value)
        return faults

    def body_faults(self, content_type, body):
        wanted = self.spec.get("requestBody")
        if body is None:
            return ["a body is needed"] if wanted and wanted["required"] else []
        if wanted is None:
            return ["the operation has no body"]
        if content_type not in wanted["content"]:
            return [f"a body of type {content_type}"]
        return self.document.faults(wanted["content"][content_type]["schema"], body)

    def answer_faults(self, answer):
        described = self.spec["responses"].get(str(answer.status))
        if described is None:
            described = self.spec["responses"].get("default") if answer.status >= 400 else None
        if described is None:
            return [f"status {answer.status} is not in the document"]
        described = self.document.resolved(described)
        media = described["content"].get(answer.type)
        if media is None:
            return [f"type {answer.type} is not in the document for {answer.status}"]
        for name, header in described.get("headers", {}).items():
            value = answer.headers.get(name.lower())
            if value is None and not header.get("required"):
                continue
            value = int(value) if value and header["schema"]["type"] == "integer" else value
            if faults := self.document.faults(header["schema"], value):
                return [f"header {name}: {faults}"]
        is_json = answer.type == "application/json" or answer.type.endswith("+json")
        return self.document.faults(media["schema"], answer.json() if is_json else answer.text,
                                    of_answer=True)


class Document:
    def __init__(self, path=FILE):
        self.text = path.read_text(encoding="utf-8")
        self.json = json.loads(self.text)
        self.strict = strict(copy.deepcopy(self.json["components"]))
        self.operations = {}
        for where, methods in self.json["paths"].items():
            for method, spec in methods.items():
                operation = Operation(self, method, where, spec)
                assert operation.id not in self.operations, operation.id
                self.operations[operation.id] = operation

    def resolved(self, part):
        while "$ref" in part:
            found = self.json
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part

    def faults(self, schema, value, of_answer=False):
        root = {"allOf": [strict(schema) if of_answer else schema],
                "components": self.strict if of_answer else self.json["components"]}
        return [f"{'/'.join(map(str, error.absolute_path))}: {self.message_of(error)}" for error in
                jsonschema.Draft202012Validator(root).iter_errors(value)]

    @staticmethod
    def message_of(error):
        """The message; if no alternative matches, with the reasons."""
        inner = "; ".join(f"{'/'.join(map(str, one.absolute_path))} {one.message[:200]}"
                          for one in error.context or [])
        return error.message[:300] + (f" ({inner})" if inner else "")
