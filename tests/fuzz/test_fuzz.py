"""Run small samples of `python -m tests.fuzz` and `python -m tests.fuzz.schemas`."""

from __future__ import annotations

from importlib import import_module

import pytest

from autoparser import ChatTemplate
from tests.case_tables import case_tables
from tests.corpus.corpus_templates import own_paths
from tests.fixture_analyses import TOKENS

from .__main__ import fuzz, skipped_words, target_of
from .arguments import ANSWERS, fuzz as wrong_arguments
from .stream_answers import changes

table = case_tables(__file__, "fuzz.yaml")
SLICES = 8
NOTATIONS = (
    *("j1-json-in-tags", "a1-function-parameter", "a7-token-pairs", "j8-python-dict"),
    *("arguments-html-escaped", "arguments-cdata", "p1-python-lines", "toml"),
)


@pytest.mark.parametrize(
    ("part", "edits"),
    [(0, 4), *(pytest.param(part, 60, marks=pytest.mark.slow) for part in range(SLICES))],
)
def test_mutated_turns_parse_without_errors_or_contradictions(part: int, edits: int) -> None:
    paths = own_paths()[part::SLICES]
    tally = fuzz(paths, edits=edits * len(paths), seed=7)
    assert tally.counts["turns"] == edits * len(paths)
    assert not tally.finds, "\n".join(map(str, tally.finds[:3]))


@pytest.mark.parametrize("edits", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_mutated_outputs_yield_no_wrong_call(edits: int) -> None:
    paths = own_paths()[::10]
    tally = wrong_arguments(paths, edits=edits * len(paths), seed=7)
    assert tally.counts["turns"] == edits * len(paths)
    assert tally.counts["answers"] == ANSWERS * len(paths)
    assert not tally.finds, "\n".join(map(str, tally.finds[:3]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTATIONS)
def test_grammar_accepts_exactly_the_valid_values_of_a_schema(name: str) -> None:
    paths = [path for path in own_paths() if path.stem == name]
    # Imported here: the judges of schemas and the readers of grammars are slow to import.
    schemas = import_module("tests.fuzz.schemas.__main__")
    tally = schemas.fuzz_schemas(paths, grammars=24, seed=5)
    assert tally.counts["grammars"] == 24
    assert all(tally.counts[name] for name in ("held", "loosened", "instances"))
    assert not tally.finds, "\n".join(map(str, tally.finds[:3]))


@table("skipped_words")
def test_message_with_skipped_words_is_not_regular(template: str, text: str) -> None:
    (path,) = (path for path in own_paths() if path.stem == template)
    target = target_of(ChatTemplate(path.read_text("utf-8"), TOKENS), name=template)
    assert target is not None
    for _, parser in target.turns:
        message = parser.parse(text)
        assert not skipped_words(message, text)
        assert not message.status.regular


def test_only_later_deltas_count_as_a_stream_difference() -> None:
    early: dict[str, object] = {"message": {"content": "ab"}, "deltas": [[_TEXT_A], [], [_TEXT_B]]}
    late = {**early, "deltas": [[], [_TEXT_A], [_TEXT_B]]}
    other = {**early, "message": {"content": "a"}, "deltas": [[_TEXT_A], [], []]}
    assert [kind for kind, _ in changes(early, late)] == ["later"]
    assert [kind for kind, _ in changes(late, early)] == ["earlier"]
    assert [kind for kind, _ in changes(early, other)] == ["content", "deltas"]
    assert not [*changes(early, {**early})]


_TEXT_A, _TEXT_B = ["content", "a", 0, ""], ["content", "b", 0, ""]
