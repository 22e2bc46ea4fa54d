"""The schemas of the documents that this program writes, from the data classes they are made of.

What a class and its fields mean is said in the code, in the texts below their names; here these
become a schema's descriptions. `nox -s schemas` writes the files.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect as kinds

DOCS = Path(__file__).parents[1] / "docs"
DRAFT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Published:
    """A schema of docs/."""

    kind: type[object]
    name: str
    title: str

    @property
    def file(self) -> Path:
        return DOCS / f"{self.name}.schema.json"

    def text(self) -> str:
        return json.dumps(self.schema(), indent=2, ensure_ascii=False) + "\n"

    def schema(self) -> dict[str, Any]:
        told = definition_of(self.kind)
        whole = told.pop(self.kind.__name__)
        whole.pop("description", None)
        definitions = {_public(name): schema for name, schema in sorted(told.items())}
        assert len(definitions) == len(told), "two classes have one name"
        return {
            "$schema": DRAFT,
            "$id": f"urn:autoparser:{self.name}{_version(whole)}",
            "title": self.title,
            **whole,
            "$defs": definitions,
        }


def definition_of(kind: type[object]) -> dict[str, Any]:
    """Return the schema of a class and of those in it, by their names."""
    _, components = msgspec.json.schema_components([kind])
    classes = {class_.cls.__name__: class_ for class_ in _classes(kinds.type_info(kind))}
    # msgspec lengthens the names of classes that share one, which makes them hard to read.
    assert set(components) <= set(classes), set(components) - set(classes)
    return {name: _renamed(_told(found, classes[name])) for name, found in components.items()}


def _version(whole: Mapping[str, Any]) -> str:
    """Return the version that a document names, after a colon."""
    named = whole["properties"].get("schema")
    return "" if named is None else f":{named['enum'][0].rpartition('/')[2]}"


def _classes(node: kinds.Type) -> Iterator[kinds.StructType | kinds.DataclassType | kinds.EnumType]:
    """Return the classes that a type is made of, each once."""
    found: dict[type, kinds.StructType | kinds.DataclassType | kinds.EnumType] = {}
    waiting: list[object] = [node]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, kinds.StructType | kinds.DataclassType | kinds.EnumType):
            if kind.cls in found:
                continue
            found[kind.cls] = kind
        if isinstance(kind, kinds.Type | kinds.Field):
            waiting.extend(getattr(kind, name) for name in kind.__struct_fields__)
        elif isinstance(kind, tuple):
            waiting.extend(kind)
    yield from found.values()


def _told(
    schema: dict[str, Any], kind: kinds.StructType | kinds.DataclassType | kinds.EnumType
) -> dict[str, Any]:
    """Return a class's schema with the docstrings of the class and of its fields."""
    schema = {key: value for key, value in schema.items() if key != "title"}
    if "description" in schema:
        schema["description"] = _in_json(schema["description"])
    if isinstance(kind, kinds.EnumType):
        return {**schema, "enum": [member.value for member in kind.cls]}
    words = _words_of(kind.cls)
    fields = {field.encode_name: field for field in kind.fields}
    properties: dict[str, Any] = {}
    for key, found in schema["properties"].items():
        # msgspec's versions put the member names in different places.
        told = _without_names({name: value for name, value in found.items() if name != "default"})
        if key in fields and fields[key].name in words:
            told.pop("description", None)
            told = {"description": _in_json(words[fields[key].name]), **told}
        properties[key] = told
    left_out = {key for key, field in fields.items() if _may_be_left_out(kind, field)}
    return {
        **schema,
        "properties": properties,
        "required": [key for key in properties if key not in left_out],
        "additionalProperties": False,
    }


def _without_names(found: Any) -> Any:
    """Return a part of a schema without the lists of names that members have."""
    if isinstance(found, list):
        return [_without_names(item) for item in found]
    if not isinstance(found, dict):
        return found
    return {key: _without_names(value) for key, value in found.items() if key != "propertyNames"}


def _may_be_left_out(kind: kinds.StructType | kinds.DataclassType, field: kinds.Field) -> bool:
    """Return whether a field may be missing; fields with a default are written all the same."""
    if field.required:
        return False
    never_set = field.default is field.default_factory is msgspec.NODEFAULT
    return never_set or (
        issubclass(kind.cls, msgspec.Struct) and kind.cls.__struct_config__.omit_defaults
    )


def _words_of(kind: type[object]) -> dict[str, str]:
    """Return the texts below a class's fields."""
    words: dict[str, str] = {}
    for cls in reversed(kind.__mro__[:-1]):
        if cls.__module__.startswith("msgspec"):
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in pairwise(tree.body):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    words[name] = inspect.cleandoc(text)
                case _:
                    pass
    return words


def _in_json(words: str) -> str:
    """Put a docstring into JSON's terms: one paragraph, null for None, a list for a tuple."""
    paragraph = " ".join(words.partition("\n\n")[0].split()).replace("``", "`")
    for python, name in (("None", "null"), ("False", "false"), ("True", "true")):
        paragraph = re.sub(rf"\b{python}\b", name, paragraph)
    return re.sub(r"`\(([^()`]*?),?\)`", r"`[\1]`", paragraph)


def _public(name: str) -> str:
    return name.removesuffix("Document")


def _renamed(node: Any) -> Any:
    """Refer to classes by their public names."""
    if isinstance(node, dict):
        if "$ref" in node:
            node = {**node, "$ref": f"#/$defs/{_public(node['$ref'].rpartition('/')[2])}"}
        # A discriminator names the classes of a union once more, for another standard.
        return {key: _renamed(value) for key, value in node.items() if key != "discriminator"}
    return [_renamed(item) for item in node] if isinstance(node, list) else node
