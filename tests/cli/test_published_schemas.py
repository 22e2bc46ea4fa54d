"""What the commands print as JSON is as the schemas in docs/ say, key by key and in their order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

Run = Callable[..., Any]
DOCS = Path(__file__).parents[2] / "docs"
TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"
TOOLS = ("--tools", "fixtures/tools.yaml")
OUTPUT = "fixtures/outputs/weather-stripped.txt"
REFUSED = "fixtures/outputs/wrong-type.txt"

PRINTED = [
    ("decode", ("decode", TEMPLATE, *TOOLS, "--walks", "3", "--json")),
    ("grammar", ("grammar", TEMPLATE, *TOOLS, "--format", "json")),
    ("accepts", ("grammar", TEMPLATE, *TOOLS, "--accepts", REFUSED, "--format", "json")),
    ("parse", ("parse", TEMPLATE, *TOOLS, "--input", OUTPUT, "--explain", "--json")),
    ("stream", ("parse", TEMPLATE, *TOOLS, "--input", OUTPUT, "--stream", "--explain", "--json")),
]


@pytest.mark.parametrize(("name", "command"), PRINTED, ids=[name for name, _ in PRINTED])
def test_what_is_printed_is_as_its_schema_says(
    autoparser: Run, name: str, command: tuple[str, ...]
) -> None:
    schema = json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8"))
    printed = autoparser(*command).out
    documents = map(json.loads, printed.splitlines() if name == "stream" else [printed])
    for document in documents:
        Draft202012Validator(schema).validate(document)
        assert list(document) == [key for key in schema["properties"] if key in document]
