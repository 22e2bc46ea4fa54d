"""A `oneOf` of required members as an `anyOf`: jsonschema judges that both mean the same."""

from __future__ import annotations

import itertools
from typing import Any

import jsonschema
import pytest

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_keywords import with_names_told_apart

NAMES = "abcd"
ROWS = [row for most in range(len(NAMES) + 1) for row in itertools.combinations(NAMES, most)]
VALUES: list[Json] = [3, *(dict[str, Json](dict.fromkeys(row, 1)) for row in ROWS)]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c", "d"]}]},
        {"oneOf": [{"required": ["a", "b"]}, {"required": ["b", "c"]}]},
        {"oneOf": [{"required": ["a"]}, {"required": ["a", "b"]}]},
        {"oneOf": [{"required": ["a"]}, {"required": ["a"]}]},
        {
            "properties": {"b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["d"]}],
            "oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["c"]}],
        },
    ],
)
def test_options_of_required_members_become_options_of_members_that_are_not_there(
    schema: dict[str, Any],
) -> None:
    told = with_names_told_apart(schema)
    assert "oneOf" not in str(told)
    before, after = (jsonschema.Draft202012Validator(each) for each in (schema, told))
    assert [after.is_valid(value) for value in VALUES] == [
        before.is_valid(value) for value in VALUES
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"required": ["a"]}, {"properties": {"b": {}}}]},
        {"oneOf": [{"required": ["a"]}, {"type": "array", "required": ["b"]}]},
        # Other values meet the first option alone.
        {"oneOf": [{"required": ["a"]}, {"type": "object", "required": ["b"]}]},
        {"oneOf": [{"required": ["a"]}]},
        {"const": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}},
        {"oneOf": [{"required": [f"{at}", *NAMES]} for at in range(20)]},
    ],
)
def test_other_schemas_stay_as_they_are(schema: dict[str, Any]) -> None:
    assert with_names_told_apart(schema) == schema
