"""Outputs read by a `response_schema`; the table is response_schemas.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser.analysis.teaching.suggested_labels import read_by_schema

TABLE = yaml.safe_load((Path(__file__).parent / "response_schemas.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", TABLE["read"], ids=lambda case: case["name"])
def test_an_output_has_the_value_of_its_schema(case: dict[str, Any]) -> None:
    assert repr(read_by_schema(case["text"], case["schema"])) == repr(case["read"])


@pytest.mark.parametrize("case", TABLE["unread"], ids=lambda case: f"{case['schema']}"[:60])
def test_an_output_that_does_not_fit_its_schema_is_an_error(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_by_schema(case["text"], case["schema"])
