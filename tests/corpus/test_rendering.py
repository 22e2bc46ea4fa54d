"""The renderer over a sample of the corpus; `python -m tests.corpus --render` takes all of it."""

from __future__ import annotations

from pathlib import Path

from .render_table import KINDS, Survey, surveyed

EVERY = 24


def sample(corpus: list[Path]) -> list[Survey]:
    return [found for found in map(surveyed, corpus[::EVERY]) if found is not None]


def test_texts_are_their_messages_and_bridges_keep_what_stands(corpus: list[Path]) -> None:
    found = sample(corpus)
    rendered = [each.attribution for each in found if each.attribution.rendered]
    assert len(rendered) > len(corpus) // EVERY // 2
    assert [(each.name, each.faults) for each in rendered if each.faults] == []
    for name in KINDS:
        rounds = [each.rounds[name] for each in found]
        assert sum(each.turns for each in rounds) > 0
        assert [each.name for each in rounds if each.bridge_breaks or each.silent] == []
    kept = [each.rounds["reasoning, all kept"] for each in found]
    assert sum(each.answered > 0 for each in kept) >= 0.9 * len(kept)
