"""Values against JSON schemas, by jsonschema; nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema
import referencing

from autoparser.analysis.conversation import Json

Validate = Callable[[Json], str]
"""Says what in a value the schema does not allow; empty: it is valid."""


def validator(schema: Json) -> Validate:
    """Make the check of one schema; None as a schema allows everything.

    A schema without `$schema` is one of draft 2020-12.
    """
    if schema is None:
        return lambda _: ""
    # Neither ships types that say all.
    library: Any = jsonschema
    references: Any = referencing
    kind = library.validators.validator_for(schema, default=library.Draft202012Validator)
    # Its own registry would fetch what a `$ref` names.
    checker = kind(schema, registry=references.Registry())

    def complaint(value: Json) -> str:
        error = library.exceptions.best_match(checker.iter_errors(value))
        return "" if error is None else f"{error.message} at {error.json_path}"

    return complaint


def read_object(text: str) -> tuple[Mapping[str, Json], str]:
    """Read arguments; give what is wrong with them instead, where they are no JSON object."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"{text!r} is no JSON: {error}"
    return (value, "") if isinstance(value, dict) else ({}, f"{text!r} is no object")
