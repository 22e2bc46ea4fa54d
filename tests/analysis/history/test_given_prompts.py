"""The prompts that bridges have given: found again, read once, and not kept for ever."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autoparser.analysis.history import prompt_tokens as given_prompts
from autoparser.analysis.history.prompt_tokens import GivenPrompts, PromptPast
from autoparser.analysis.sources.tokenizer import TokenText
from tests.analysis.history.tokenizers_here import small

TOKENS = TokenText(small())


def past(text: str) -> PromptPast:
    return PromptPast(TOKENS, tuple(TOKENS.ids(text)))


def test_a_prompt_is_found_by_all_of_its_ids() -> None:
    given = GivenPrompts()
    kept = past("One. " + "The end is the same in both of them.")
    other = past("Two. " + "The end is the same in both of them.")
    given.keep(kept)
    assert len(kept.ids) == len(other.ids)
    assert kept.ids[-given_prompts.KEY_IDS :] == other.ids[-given_prompts.KEY_IDS :]
    assert given.find(other.ids) is None
    assert given.find((*kept.ids,)) is kept


def test_the_oldest_are_dropped_where_too_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = [past(f"Prompt {at}.") for at in range(5)]
    monkeypatch.setattr(given_prompts, "MOST_IDS", 2 * len(prompts[0].ids))
    given = GivenPrompts()
    for each in (*prompts, prompts[-1]):
        given.keep(each)
    assert [given.find(each.ids) is not None for each in prompts] == [False] * 3 + [True] * 2


@pytest.mark.parametrize("read", [[0, 1, 2], [0, 2], [2]])
def test_the_text_is_that_of_all_ids_whenever_it_was_read(read: list[int]) -> None:
    texts = [
        "How 🚀?",
        "How 🚀? Hi.<|im_end|>\nAnd “now”?",
        "How 🚀? Hi.<|im_end|>\nAnd “now”? So.\n!",
    ]
    found = [past(texts[0])]
    for (before, text), said in zip(pairwise(texts), (" Hi.<|im_end|>", " So."), strict=True):
        if len(found) - 1 in read:
            assert found[-1].text == before
        written = TOKENS.ids(said)
        rest = text.removeprefix(before).removeprefix(said)
        ids = (*found[-1].ids, *written, *TOKENS.ids(rest))
        found.append(found[-1].followed_by(ids, len(written), rest))
    assert found[-1].text == texts[-1] == TOKENS.decode(found[-1].ids)


def test_what_stands_in_a_prompt_stands_in_those_that_go_on_from_it() -> None:
    first = past("Hi.<think>")
    thinks, ends = TOKENS.single("<think>"), TOKENS.single("<|im_end|>")
    assert thinks is not None
    assert ends is not None
    assert first.holds(thinks)
    assert not first.holds(ends)
    following = first.followed_by((*first.ids, ends), 1, "")
    assert following.holds(thinks)
    assert following.holds(ends)
