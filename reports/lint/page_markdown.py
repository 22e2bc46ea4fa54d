"""A rule's page, and the index of all rules, as Markdown: the files in ``docs/rules``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autoparser.analysis.lint import Rule, RuleGroup, profiles_of

from .page import fix_reason, safety_of

__all__ = ["page_file", "page_markdown", "rules_index"]

_BLANK_LINES = re.compile(r"\n\s*\n")


def page_file(rule: Rule) -> str:
    """Return the name of a rule's page in ``docs/rules``."""
    return f"{rule.code}-{rule.name}.md"


def page_markdown(rule: Rule) -> str:
    """Return a rule's page, ended by a newline."""
    return "\n".join(_page(rule)) + "\n"


def _page(rule: Rule) -> Iterator[str]:
    page = rule.page
    yield f"# {rule.code}: {rule.name}"
    yield ""
    yield f"{_capital(_prose(page.summary))}."
    yield ""
    yield "| severity | confidence | group | looks at | profiles |"
    yield "|---|---|---|---|---|"
    yield (
        f"| {rule.severity} | {rule.confidence} | {rule.group.value} | {rule.needs.value}"
        f" | {', '.join(profiles_of(rule)) or 'where selected'} |"
    )
    yield ""
    yield "## Why it matters"
    for paragraph in _BLANK_LINES.split(page.why):
        yield ""
        yield _prose(" ".join(paragraph.split()))
    for title, code in (("Before", page.before), ("After", page.after)):
        if code:
            yield ""
            yield f"## {title}"
            yield ""
            yield from _fenced(code)
    yield ""
    yield "## Fix"
    if rule.fix:
        yield ""
        yield f"{_capital(_prose(rule.fix))}."
    yield ""
    reason = fix_reason(rule).replace("--unsafe-fixes", "`--unsafe-fixes`")
    if rule.fixable:
        yield (
            f"`autoparser fix SOURCE --select {rule.code}` tries edits of the template, and makes"
            f" the smallest that renders prove; see [fix](../fix.md). That is {safety_of(rule)}."
            f" {_prose(reason)}"
        )
    else:
        yield f"`autoparser fix` leaves it. {_prose(reason)}"
    if rule.covers:
        yield ""
        codes = ", ".join(rule.covers)
        yield f"Where it fires, nothing more is said of {codes}: that is but its consequence."
    yield ""
    yield "## To accept it"
    yield ""
    yield from _fenced(f"{{#- autoparser: ignore {rule.code} the reason -#}}")


def _fenced(code: str) -> Iterator[str]:
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}jinja"
    yield code
    yield fence


_CODE_OR_SIGN = re.compile(r"(`[^`]*`)|([<*|\[\]])")


def _prose(text: str) -> str:
    """Escape what Markdown would take for its own, outside of code spans."""
    return _CODE_OR_SIGN.sub(lambda match: match[1] or f"\\{match[2]}", text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def rules_index(rules: Sequence[Rule]) -> str:
    """Return the index of all pages, ended by a newline."""
    return "\n".join(_index(rules)) + "\n"


def _index(rules: Sequence[Rule]) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield (
        f"The {len(rules)} rules of `autoparser lint`. A rule fires on what renders show, never"
        " on a word in the template's source."
    )
    yield ""
    yield (
        "The column *fix* says whether [`autoparser fix`](../fix.md) has edits for it, and whether"
        " they change only renders that the finding calls wrong (safe) or others too (unsafe)."
    )
    yield ""
    yield "Written by the command `autoparser rule --markdown`; do not edit by hand."
    for group in RuleGroup:
        of_group = [rule for rule in rules if rule.group is group]
        if not of_group:
            continue
        yield ""
        yield f"## {_capital(group.value)} (AP{group.digit})"
        yield ""
        yield "| code | name | severity | confidence | fix | what |"
        yield "|---|---|---|---|---|---|"
        for rule in of_group:
            summary = _prose(rule.summary)
            yield (
                f"| [{rule.code}]({page_file(rule)}) | {rule.name} | {rule.severity}"
                f" | {rule.confidence} | {safety_of(rule)} | {summary} |"
            )
