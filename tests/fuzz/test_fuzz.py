"""Small samples of what `python -m tests.fuzz` and `tests.fuzz.schemas` do a million times."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.corpus.corpus_templates import own_paths

from .__main__ import fuzz

SLICES = 8
NOTATIONS = (
    *("j1-json-in-tags", "a1-function-parameter", "a7-token-pairs", "j8-python-dict"),
    *("arguments-html-escaped", "arguments-cdata", "p1-python-lines", "toml"),
)


@pytest.mark.parametrize(
    ("part", "edits"),
    [(0, 4), *(pytest.param(part, 60, marks=pytest.mark.slow) for part in range(SLICES))],
)
def test_no_spoiled_turn_makes_a_parser_raise_or_contradict_itself(part: int, edits: int) -> None:
    paths = own_paths()[part::SLICES]
    tally = fuzz(paths, edits=edits * len(paths), seed=7)
    assert tally.counts["turns"] == edits * len(paths)
    assert not tally.finds, "\n".join(map(str, tally.finds[:3]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTATIONS)
def test_a_grammar_accepts_the_valid_values_of_a_schema_and_no_others(name: str) -> None:
    paths = [path for path in own_paths() if path.stem == name]
    # What judges schemas and reads grammars takes a while to load.
    schemas = import_module("tests.fuzz.schemas.__main__")
    tally = schemas.fuzz_schemas(paths, grammars=24, seed=5)
    assert tally.counts["grammars"] == 24
    assert all(tally.counts[each] for each in ("held", "loosened", "instances"))
    assert not tally.finds, "\n".join(map(str, tally.finds[:3]))
