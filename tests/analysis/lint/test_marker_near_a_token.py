"""Which markers are taken for misspelt tokens."""

from __future__ import annotations

import pytest

from autoparser.analysis.lint.rules.marker_near_a_token import misspelt


@pytest.mark.parametrize(
    ("marker", "wrong"),
    [
        ("<|asistant|>", True),
        ("<|asssistant|>", True),
        ("<|assistent|>", True),
        ("<|assitsant|>", True),
        ("<|assistants|>", False),
        ("<|/assistant|>", False),
        ("<|assistant2|>", False),
        ("<|assistant|>", False),
        ("<|asstant|>", False),
        ("<|system|>", False),
    ],
)
def test_one_letter_is_a_mistake_and_another_word_is_none(marker: str, wrong: bool) -> None:
    assert misspelt(marker, "<|assistant|>") is wrong
