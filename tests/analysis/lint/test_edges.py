from __future__ import annotations

import pytest

from autoparser.analysis.lint.rule_conversations import lost_edges, pad_word

WORD = "word"
TEXT = pad_word(WORD)
TABLE = [
    (f"<a>{TEXT}</a>", "", "nothing is lost"),
    (f"<a>{TEXT.strip()}</a>", "beginning and end", "all is lost"),
    (f"<a>{TEXT.lstrip()}</a>", "beginning", "the left edge"),
    (f"<a>{TEXT.rstrip()}</a>", "end", "the right edge"),
    (f"<a>{TEXT.lstrip(chr(10))}</a>", "beginning", "line breaks alone"),
    ("<a></a>", "", "the word is not there at all"),
    (f"<a>\n\n{WORD}\n</a>", "beginning and end", "the template's own line breaks"),
]


@pytest.mark.parametrize(("text", "lost", "reason"), TABLE)
def test_what_the_edges_have_lost(text: str, lost: str, reason: str) -> None:
    assert lost_edges(text, WORD) == lost, reason
