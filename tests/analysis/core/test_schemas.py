"""Check the reading of JSON schemas; jsonschema decides whether two are equivalent."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.schema_document import ROOT, SchemaDocument
from autoparser.analysis.core.schema_errors import SchemaError
from autoparser.analysis.core.schema_keywords import schema_references, with_simple_names
from autoparser.analysis.core.schema_parts import ANY, SchemaPart, allowed_types, flat_conjunction
from autoparser.analysis.core.schema_validation import schema_breaches, schema_flaws
from autoparser.analysis.grammar.schema_reader import SchemaReader
from tests.case_tables import case_tables, load_cases
from tests.fuzz.schemas.instances import ArgumentMaker
from tests.fuzz.schemas.random_schemas import DEFS, VALUES, random_schema
from tests.lanes import sampled

TABLES = load_cases(__file__, "schemas.yaml")
DEFINITIONS: dict[str, Any] = TABLES["definitions"]
table = case_tables(__file__, "schemas.yaml")


def whole(schema: Any) -> Any:
    """Return a schema with the definitions that it may refer to."""
    return {"$defs": DEFINITIONS, **schema} if isinstance(schema, dict) else schema


def named(types: str | None) -> frozenset[str] | None:
    return None if types is None else frozenset(types.split())


@table("types")
def test_allowed_types_match_the_table(case: Any) -> None:
    document = SchemaDocument.of(whole(case["schema"]))
    found = allowed_types(document.root, document)
    assert found == (named(case["types"]) if case["types"] is not None else ANY)
    assert SchemaPart.of(whole(case["schema"])).kinds == named(case["types"])


@table("not_schemas")
def test_non_schema_raises_and_has_no_members(case: Any) -> None:
    document = SchemaDocument.of(case["schema"])
    with pytest.raises(SchemaError) as caught:
        allowed_types(document.root, document)
    assert case["words"] in str(caught.value)
    part = SchemaPart.of(case["schema"])
    assert (part.kinds, part.member("a").kinds, part.item(0).kinds) == (None, None, None)
    assert not part.names


@table("members")
def test_member_types_match_the_table(case: Any) -> None:
    assert SchemaPart.of(whole(case["schema"])).member("name").kinds == named(case["types"])


@table("items")
def test_item_types_match_the_table(case: Any) -> None:
    part = SchemaPart.of(case["schema"])
    found = [part.item(at).kinds for at in range(len(case["types"]))]
    assert found == [named(kind) for kind in case["types"]]


def test_names_are_collected_from_every_subschema() -> None:
    schema: Any = {
        "properties": {"a": {}},
        "allOf": [{"properties": {"b": {}}}, {"required": ["c"]}],
        "anyOf": [{"$ref": "#/$defs/Login"}, {"properties": {"d": {}}}],
    }
    assert SchemaPart.of(whole(schema)).names == {"a", "b", "c", "d", "name", "tries"}


def test_forty_forking_references_resolve_quickly() -> None:
    forks: dict[str, Any] = {
        f"D{at}": {"anyOf": [{"$ref": f"#/$defs/D{at + 1}"}, {"$ref": f"#/$defs/D{at + 1}"}]}
        for at in range(40)
    }
    forks["D40"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    part = SchemaPart.of({"$ref": "#/$defs/D0", "$defs": forks})
    assert part.kinds == frozenset({JsonType.OBJECT})
    assert part.member("a").kinds in (None, {JsonType.STRING})
    assert part.names <= {"a"}


@table("same_pointers")
def test_schema_with_only_pointers_is_not_copied(case: Any) -> None:
    assert SchemaDocument.of(case["schema"]).root is case["schema"]


@table("names")
def test_anchors_and_ids_become_equivalent_pointers(case: Any) -> None:
    root: Any = SchemaDocument.of(case["schema"]).root
    assert all(reference.startswith(ROOT + "/") for reference in schema_references(root))
    values = ["x", 3, None, {}, []]
    assert verdicts(root, values) == verdicts(case["schema"], values)
    assert SchemaPart.of(case["schema"]).kinds == frozenset({JsonType.STRING})


@table("lost_references")
def test_unresolvable_reference_is_kept(case: Any) -> None:
    part: Any = SchemaPart.of(case["schema"])
    assert "$ref" in part.document.root
    assert part.kinds is None


@table("joined")
def test_conjunction_of_two_schemas_matches_the_table(case: Any) -> None:
    assert flat_conjunction(case["first"], case["second"]) == case["both"]


def verdicts(schema: Any, values: list[Any]) -> list[bool]:
    judge = Draft202012Validator(schema)
    return [judge.is_valid(value) for value in values]


ROWS = [row for most in range(5) for row in itertools.combinations("abcd", most)]
OBJECTS: list[Json] = [3, *(dict[str, Json](dict.fromkeys(row, 1)) for row in ROWS)]


@table("exclusive_members")
def test_one_of_required_members_becomes_equivalent_any_of(case: Any) -> None:
    found: Any = with_simple_names(case["schema"])
    assert "oneOf" not in str(found)
    assert verdicts(found, OBJECTS) == verdicts(case["schema"], OBJECTS)


@table("other_options")
def test_other_one_of_schemas_stay_unchanged(case: Any) -> None:
    assert with_simple_names(case["schema"]) == case["schema"]


def unlike(part: SchemaPart, value: Any) -> str:
    """Return where a value has a type that its part of the schema lacks, or an empty text."""
    kinds = part.kinds
    whole = isinstance(value, float) and value.is_integer()
    if kinds is not None and not {json_type(value), *([JsonType.INTEGER] * whole)} & kinds:
        return f"{value!r} is none of {sorted(kinds)}"
    inner = [(part.item(at), item) for at, item in enumerate(value)] if type(value) is list else []
    if isinstance(value, dict):
        inner = [(part.member(name), item) for name, item in value.items()]
    return next(filter(None, (unlike(item, below) for item, below in inner)), "")


@pytest.mark.parametrize("seed", sampled(range(400), 4))
def test_joined_schema_accepts_the_same_values(seed: int) -> None:
    rng = random.Random(seed)
    parts: list[Json] = [random_schema(rng, 3) for _ in range(rng.randint(1, 3))]
    schema: dict[str, Any] = {"allOf": parts, "$ref": f"#/$defs/{rng.choice([*DEFS])}"}
    beside = random_schema(rng, 1)
    schema |= {**(beside if isinstance(beside, dict) else {}), "$defs": DEFS}
    merged = SchemaReader(schema).resolved(schema)
    assert "$ref" not in merged or "unevaluatedProperties" in str(merged)
    before = Draft202012Validator(schema)
    after = Draft202012Validator({**merged, "$defs": DEFS})
    part = SchemaPart.of(schema)
    maker = ArgumentMaker(rng, schema)
    met = [maker.meeting() for _ in range(8)]
    for value in [*VALUES, *met, *map(maker.missing, met)]:
        valid = before.is_valid(value)
        assert after.is_valid(value) == valid, (value, schema, merged)
        assert not valid or not unlike(part, value), schema


def keyword_value(chance: random.Random, depth: int) -> Json:
    """Return the value of a keyword: valid for some keywords and invalid for others."""
    plain: list[Json] = [True, False, 1, 2.0, "string", "integer", "x", [], ["a"], ["a", "a"], {}]
    if depth and chance.random() < 0.5:
        return {"a": keyword_schema(chance, depth - 1)}
    return (
        keyword_schema(chance, depth - 1)
        if depth and chance.random() < 0.5
        else plain.pop(chance.randrange(len(plain)))
    )


def keyword_schema(chance: random.Random, depth: int) -> dict[str, Json]:
    """Return a schema of a few keywords, valid or not."""
    names = ["type", "title", "required", "properties", "items", "additionalProperties", "enum"]
    chosen = chance.sample([*names, "default", "minLength"], chance.randint(0, 4))
    return {name: keyword_value(chance, depth) for name in chosen}


def test_own_validator_agrees_with_jsonschema_on_random_schemas() -> None:
    chance = random.Random(1)
    values: list[Json] = ["a", "x", 1, 2.0, True, None, [], ["a"], [1], {}, {"a": 1}, {"a": "x"}]
    valid = breached = 0
    for _ in range(2000):
        schema = keyword_schema(chance, 3)
        right = Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(schema)
        assert right == (not [*schema_flaws(schema)]), schema
        valid += right
        for value in values if right else ():
            fits = Draft202012Validator(schema).is_valid(value)
            assert fits == (not schema_breaches(schema, value)), (schema, value)
            breached += not fits
    assert valid > 300
    assert breached > 100


USE = TABLES["use"]


@pytest.mark.slow
def test_uri_grammar_is_imported_only_for_uris() -> None:
    for format_, value, printed in (
        ("date", "2026-11-22", "False False True False"),
        ("iri", "https://example.org/ä", "False True True True"),
    ):
        command = [sys.executable, "-c", USE % (format_, value)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
        assert done.stdout.strip() == printed


@pytest.mark.parametrize("member", TABLES["unsatisfiable_members"])
def test_unsatisfiable_required_member_makes_the_object_unsatisfiable(member: Json) -> None:
    optional: dict[str, Json] = {"type": "object", "properties": {"a": member}}
    reader = SchemaReader(optional)
    assert not reader.may_be_met(member)
    assert reader.may_be_met(optional)
    assert not reader.may_be_met({**optional, "required": ["a"]})
