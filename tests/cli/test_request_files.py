"""Files of tools and messages that cannot be read: one line with the place, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Run

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
J1, OUT = TABLE["names"]["J1"], TABLE["names"]["OUT"]
FILES = [
    *(("yaml", *row) for row in TABLE["tools"]),
    *(("json", *row) for row in TABLE["json"]),
    ("json", "[" * 100_000, "nested too deep", "simpler"),
]


def check_line(autoparser: Run, file: Path, text: str, parts: tuple[str, ...], *use: str) -> None:
    file.write_text(text, "utf-8")
    ran = autoparser(*use, file)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"{file}: ")
    assert ran.err.rstrip("\n").isprintable()
    for part in parts:
        assert part in ran.err


@pytest.mark.parametrize(("suffix", "text", "place", "words"), FILES)
def test_tools_that_cannot_be_read_are_refused(
    suffix: str, text: str, place: str, words: str, autoparser: Run, tmp_path: Path
) -> None:
    use = ("parse", J1, "--input", OUT, "--tools")
    check_line(autoparser, tmp_path / f"t.{suffix}", text, (place, words), *use)


@pytest.mark.parametrize(("parameters", "place", "words"), TABLE["parameters"])
def test_parameters_that_are_no_schema_are_refused(
    parameters: object, place: str, words: str, autoparser: Run, tmp_path: Path
) -> None:
    tools = [{"name": "f"}, {"function": {"name": "g", "parameters": parameters}}]
    begin = f"tools[1].function.parameters{place}: the parameters of g are not a valid"
    use = ("parse", J1, "--input", OUT, "--tools")
    check_line(autoparser, tmp_path / "t.json", json.dumps(tools), (begin, words), *use)


@pytest.mark.parametrize(("text", "words"), TABLE["messages"])
def test_messages_that_cannot_be_read_are_refused(
    text: str, words: str, autoparser: Run, tmp_path: Path
) -> None:
    file = tmp_path / "messages.yaml"
    check_line(autoparser, file, text, (f"{file}: {words}",), "render", J1, "--messages")
