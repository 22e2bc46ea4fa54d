"""The JSON of an analysis fits its schema, and its renders are the template's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autoparser.analysis.core.documents import plain_json
from autoparser.formats import analysis_document
from tests.fixture_analyses import TEMPLATES, analyzed

DOCS = Path(__file__).parents[3] / "docs"
SCHEMA = json.loads((DOCS / "analysis.schema.json").read_text("utf-8"))
NAMES = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fixture_documents_fit_the_schema(name: str) -> None:
    analysis = analyzed(name)
    whole: dict[str, Any] = json.loads(json.dumps(analysis.to_dict(), allow_nan=False))
    Draft202012Validator(SCHEMA).validate(whole)
    assert {**whole, "parser": None} == {
        **json.loads(json.dumps(analysis_document(analysis))),
        "parser": None,
    }
    assert (whole["parser"]["calls"] is None) is (analysis.format.calls is None)
    for phase in whole["phases"]:
        for evidence in phase["evidence"]:
            split = evidence["split"]
            for side in ("left", "right"):
                text = split["prefix"] + split[side] + split["suffix"]
                assert text == (evidence[side]["text"] or "")


def test_evidence_messages_render_to_its_text() -> None:
    analysis = analyzed("j1-json-in-tags")
    evidence: Any = analysis_document(analysis)
    evidence = evidence["phases"][0]["evidence"][0]["right"]
    assert not evidence["add_generation_prompt"]
    text = analysis.template.render(evidence["messages"], **evidence["setting"])
    # The tools come before the conversation.
    assert evidence["text"].endswith(text[text.index("user") :])


def test_infinity_is_written_as_a_string() -> None:
    assert plain_json({"weights": [float("inf"), 0.5]}) == {"weights": ["inf", 0.5]}
