"""A source map is held to a worker's limits as a render is."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.errors import Limit, TemplateLimitError
from autoparser.analysis.templates.worker_limits import Limits
from autoparser.analysis.templates.worker_pool import run_task

LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}BODY{% endfor %}{% endfor %}"
BEYOND = [
    ("{{ 'a' }}\n" + LOOP.replace("BODY", ""), Limit.RENDER_TIME, "it takes more than 0.2 s"),
    ("{{ 'a' }}\n" + LOOP.replace("BODY", "text"), Limit.OUTPUT, "has more than 5000 characters"),
]


def mapped(text: str) -> str:
    return "".join(span.text for span in ChatTemplate(text).source_map({}).spans)


@pytest.mark.parametrize(("text", "limit", "words"), BEYOND)
def test_what_is_too_much_is_told_with_its_line(text: str, limit: Limit, words: str) -> None:
    limits = Limits(seconds=20.0, render_seconds=0.2, characters=5000)
    with pytest.raises(TemplateLimitError) as caught:
        run_task(mapped, text, limits=limits)
    assert caught.value.limit is limit
    assert words in caught.value.reason


def test_what_is_not_is_the_render() -> None:
    text = "{% for a in range(9) %}{{ a }}{% endfor %}"
    assert run_task(mapped, text, limits=Limits()) == "012345678"
