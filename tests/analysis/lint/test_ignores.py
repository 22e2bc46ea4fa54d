from __future__ import annotations

import pytest

from autoparser.analysis.lint.baselines import ignores_of

GOOD = [
    ("{#- autoparser: ignore AP306 as the model was trained -#}", ("AP306",), "as the model was"),
    ("{# autoparser: ignore AP306, AP101 both are meant #}", ("AP306", "AP101"), "both are"),
    ("{# autoparser: ignore AP306,AP101: both are meant #}", ("AP306", "AP101"), "both are"),
    ("{#autoparser:ignore AP306 - meant#}", ("AP306",), "meant"),
    ("{# autoparser: ignore: AP306 meant #}", ("AP306",), "meant"),
    ("{# autoparser: ignore AP3 whole group #}", ("AP3",), "whole group"),
    (
        "{# autoparser: ignore content-dropped-beside-calls it is so #}",
        ("content-dropped-beside-calls",),
        "it is so",
    ),
    ("{#\n autoparser: ignore AP306\n  over\n  lines\n#}", ("AP306",), "over lines"),
]


@pytest.mark.parametrize(("text", "selectors", "reason"), GOOD)
def test_an_ignore_names_rules_and_a_reason(
    text: str, selectors: tuple[str, ...], reason: str
) -> None:
    found, problems = ignores_of(f"one\ntwo {text}", "a.jinja")
    assert problems == ()
    assert [(each.selectors, each.line) for each in found] == [(selectors, 2)]
    assert found[0].reason.startswith(reason)


BAD = [
    ("{# autoparser: ignore AP306 #}", "gives no reason", "say why"),
    ("{# autoparser: ignore AP306, AP101 #}", "gives no reason", "say why"),
    ("{# autoparser: ignore AP306 -#}", "gives no reason", "say why"),
    ("{# autoparser: ignore AP306 — #}", "gives no reason", "say why"),
    (
        "{# autoparser: ignore AP3066 a reason #}",
        "there is no rule 'AP3066'",
        "did you mean AP306?",
    ),
    ("{# autoparser: ignore since it is fine #}", "there is no rule 'since'", ""),
    ("{# autoparser: ignore #}", "names no rule", "write {#-"),
    ("{# autoparser: ignroe AP306 a reason #}", "says 'ignroe'", "did you mean ignore?"),
    ("{# autoparser: AP306 a reason #}", "says 'AP306'", "write {#-"),
    ("{# autoparser: #}", "says ''", "write {#-"),
]


@pytest.mark.parametrize(("text", "words", "hint"), BAD)
def test_a_comment_that_does_nothing_is_a_problem_with_its_line(
    text: str, words: str, hint: str
) -> None:
    found, problems = ignores_of(f"one\n\n{text}", "a.jinja")
    assert found == ()
    assert [(each.path, each.line) for each in problems] == [("a.jinja", 3)]
    assert words in problems[0].message
    assert hint in problems[0].hint


NONE = [
    "{# about autoparser: ignore AP306 #}",
    "{% raw %}{# autoparser: ignore AP306 #}{% endraw %}",
    "{{ '{# autoparser: ignore AP306 #}' }}",
    "autoparser: ignore AP306",
    "{# autoparsers: ignore #}",
]


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_comment_for_autoparser_is_none(text: str) -> None:
    assert ignores_of(text, "a.jinja") == ((), ())


def test_comments_before_a_mistake_are_read() -> None:
    found, problems = ignores_of("{# autoparser: ignore AP101 wip #}{% if", "a.jinja")
    assert (len(found), problems) == (1, ())
