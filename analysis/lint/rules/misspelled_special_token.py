from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

MEANT = "/0123456789"
"""Characters by which markers differ on purpose: a closing slash, a number."""


@rule("AP217")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the markers of every conversation with the tokenizer's added tokens."""
    tokenizer = subject.tokenizer
    if tokenizer is None:
        return
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    seen: set[str] = set()
    for played in subject.matrix:
        markup = {text.before for text in played.written_texts} | {
            text.after for text in played.written_texts
        }
        markers = {marker for text in markup for marker in TemplateLiteral.of(text).markers}
        for marker in sorted(markers - seen - added):
            seen.add(marker)
            near = next((token for token in sorted(added) if is_misspelled(marker, token)), "")
            if near and tokenizer.token_to_id(marker) is None:
                message = f"{quote_text(marker)} is not a token, but {quote_text(near)} is"
                yield played.hit(message, played.render.line_of(marker))


def is_misspelled(marker: str, token: str) -> bool:
    """Return whether one letter is missing, added or changed, or two are swapped."""
    one, other = sorted((marker, token), key=len)
    at = next(
        (at for at, (a, b) in enumerate(zip_longest(one, other)) if a != b),
        len(other),
    )
    if len(other) - len(one) == 1:
        # A plural is a marker of its own: `<tools>` around every `<tool>`.
        plural = other[at] == "s" and not other[at + 1 : at + 2].isalpha()
        return one[at:] == other[at + 1 :] and other[at] not in MEANT and not plural
    if len(other) != len(one) or at >= len(one):
        return False
    swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    changed = one[at + 1 :] == other[at + 1 :]
    return swapped or (changed and one[at] not in MEANT and other[at] not in MEANT)
