"""A small sample of what `python -m tests.fuzz.schemas` does a hundred thousand times."""

from __future__ import annotations

import pytest

from tests.lanes import sampled

from .__main__ import fuzz_schemas, paths_of

NOTATIONS = (
    *("j1-json-in-tags", "a1-function-parameter", "a7-token-pairs", "j8-python-dict"),
    *("arguments-html-escaped", "arguments-cdata", "p1-python-lines", "toml"),
)


@pytest.mark.parametrize("name", sampled(NOTATIONS, 4))
def test_what_a_grammar_takes_is_valid_and_what_is_valid_it_takes(name: str) -> None:
    paths = [path for path in paths_of([name]) if path.stem == name]
    tally = fuzz_schemas(paths, grammars=24, seed=5)
    assert tally.grammars == 24
    assert tally.held
    assert tally.loosened
    assert tally.instances
    assert not tally.finds, "\n".join(map(str, tally.finds[:3]))
