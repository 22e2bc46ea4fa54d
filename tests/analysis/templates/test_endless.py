"""A template none of whose renders ends is named after the first: each takes its whole time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.errors import Limit, TemplateLimitError
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.subject import Subject


class _Endless(ChatTemplate):
    """Every render of it runs into the limit on its time, as a worker would end it."""

    asked = 0

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        del variables
        type(self).asked += 1
        raise TemplateLimitError(Limit.RENDER_TIME, "it takes more than 5 s")


def _linted(template: ChatTemplate) -> object:
    return lint(Subject(template))


@pytest.mark.parametrize("look", [analyze, _linted])
def test_one_render_is_enough(look: Callable[[ChatTemplate], object]) -> None:
    _Endless.asked = 0
    with pytest.raises(TemplateLimitError, match="more than 5 s"):
        look(_Endless("{{ messages[0].content }}"))
    assert _Endless.asked == 1
