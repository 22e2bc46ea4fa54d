"""A text without calls loses no character, whatever words it is made of."""

from __future__ import annotations

from pathlib import Path

from .plain_texts import lost_texts, words_of

EVERY = 12
EACH = 90


def test_five_thousand_texts_come_back_whole(corpus: list[Path]) -> None:
    paths = corpus[::EVERY]
    words = words_of(paths)
    assert len(words) > 500
    found = [lost_texts(path, words, EACH) for path in paths]
    assert sum(read for read, _ in found) >= 5_000
    lost = [each for _, texts in found for each in texts]
    assert not lost, lost[:3]
