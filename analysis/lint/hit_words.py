"""Words of hits: quoted pieces of text, failures and lists, and hits for a pair of renders.

For example, in a message:

    >>> f"{quote_text('a' * 70)} is lost {count_words(3)}"
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is lost 3 times"
    >>> list_words(["text", "image", "video"])
    'text, image and video'
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.text_alignment import common_prefix

from .hit import Hit, Severity
from .lint_renders import Render, compare_renders, in_plain_words


def raising_hit(
    message: str,
    failing: tuple[Render, str],
    sound: tuple[Render, str],
    *,
    crashed: Severity | None = None,
    refused: Severity | None = None,
    setting: Mapping[str, Json] | None = None,
) -> Hit:
    """Return a hit for a conversation that raises, beside a similar one that renders.

    Each render has its label. `crashed` and `refused` are the severities of a crash and of
    `raise_exception`; None keeps the rule's. `setting` holds the only switches under which it
    raises.
    """
    raising, _ = failing
    return Hit(
        message,
        (compare_renders(*failing, *sound),),
        line=None if raising.error is None else raising.error.line,
        severity=crashed if raising.crashed else refused,
        cause=raising.cause,
        setting=setting or {},
    )


def rewriting_hit(message: str, shorter: tuple[Render, str], longer: tuple[Render, str]) -> Hit:
    """Return a hit for a longer conversation whose render does not extend a shorter one's.

    Each render has its label.
    """
    # In the words of the evidence, so that the message quotes the same.
    one, other = in_plain_words(shorter[0], longer[0])
    start = len(common_prefix(one.text, other.text))
    before, after = (render.text[start : start + _SHOWN] for render in (one, other))
    return Hit(
        f"{message}: {before!r} becomes {after!r}",
        (compare_renders(one, shorter[1], other, longer[1]),),
        line=one.line_at(start),
    )


_SHOWN = 30
"""The number of quoted characters of a rewritten text."""
LONGEST_QUOTE = 60
"""The maximum length of a quoted piece; longer ones are cut in the middle."""


def quote_text(text: str) -> str:
    """Return a piece of text in quotes, with control characters escaped."""
    if len(text) > LONGEST_QUOTE:
        kept = LONGEST_QUOTE // 2
        text = f"{text[:kept]}…{text[-kept:]}"
    return one_line(repr(text))


def failure_words(render: Render) -> str:
    """Describe a render's failure: the template refuses, or Jinja raised."""
    error = render.error
    if error is None:
        return "renders"
    reason = one_line(error.reason, 2 * LONGEST_QUOTE).rstrip(".")
    return f"raises {reason!r}" if error.refused else f"fails: {reason}"


def undefined_fix(reason: str) -> str:
    """Return the remedy if a render failed on an undefined name; otherwise empty."""
    found = _UNDEFINED.search(reason)
    return "" if found is None else f"test whether {found[1] or found[2]} is defined"


_UNDEFINED = re.compile(r"^UndefinedError: (?:.* has no attribute '(.+)'|'(.+)' is undefined)$")


def quoted_reasons(reason: str) -> tuple[str, ...]:
    """Return an exception's message in every form in which messages quote it."""
    whole, short = one_line(reason).rstrip("."), one_line(reason, 2 * LONGEST_QUOTE).rstrip(".")
    return whole, repr(short), short


def count_words(count: int) -> str:
    """Return how often something happens: `once`, `3 times`."""
    return "once" if count == 1 else f"{count} times"


def list_words(words: Sequence[str]) -> str:
    """Join words as in a sentence: ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
