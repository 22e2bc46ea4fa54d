"""A rule's page, and the list of all rules, for a terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.rule import Rule, RuleGroup, rule_profiles
from autoparser.reports.blocks import Block, Blocks, blank, excerpt, heading, prose, rows, sentence
from autoparser.reports.markdown import fence_lines
from autoparser.reports.terminal import report_text
from autoparser.reports.visible import visible

SEVERITY_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.INFO: "blue",
}

_BLANK_LINES = re.compile(r"\n\s*\n")


def rule_page(rule: Rule, width: int) -> Text:
    """Return a rule's page in lines of at most ``width`` cells."""
    head = sentence(
        (rule.code, SEVERITY_STYLES[rule.severity]),
        (f" {rule.name}", "bold"),
    )
    traits = f"{rule.severity}, {rule.confidence} confidence, group: {rule.group.value}"
    if not rule.default:
        profile = "" if rule.runs_for is None else f" or in the profile {rule.runs_for}"
        traits += f"; runs only if selected{profile}"
    drawn = [
        *prose(head, indent=0),
        *prose(Text(traits, style="dim"), indent=0),
        *blank(),
        *page_lines(rule, 0),
    ]
    drawn += [*blank(), *rows(_rule_facts(rule), indent=0)]
    return report_text(drawn, width)


def _rule_facts(rule: Rule) -> list[tuple[str, Text]]:
    facts = [("fix", Text(rule.fix))] if rule.fix else []
    if rule.fixable:
        facts.append(("fixable", Text(f"autoparser fix SOURCE --select {rule.code}")))
    # Every page states whether a fix exists, or why not.
    facts.append((fix_safety(rule) or "no fix", Text(fix_reason(rule))))
    facts.append(("requires", Text(rule.needs.value)))
    if profiles := rule_profiles(rule):
        facts.append(("profiles", Text(", ".join(profiles))))
    if rule.covers:
        facts.append(("covers", Text(", ".join(rule.covers))))
    ignore = f"{{#- autoparser: ignore {rule.code} reason -#}}"
    facts.append(("to accept it", Text(ignore)))
    return facts


def fix_safety(rule: Rule) -> str:
    """Return whether a rule's fix is safe or unsafe; empty if it has none."""
    if not rule.fixable:
        return ""
    return "unsafe" if rule.never_safe else "safe"


def fix_reason(rule: Rule) -> str:
    """Return why a rule's fix is safe, unsafe or missing, in sentences."""
    if not rule.fixable:
        return f"No automatic fix: {rule.why_unfixed}."
    # Generation markers add no text to a prompt.
    if rule.marks:
        return "It changes no rendered text."
    if rule.never_safe:
        return (
            "No render shows which of a turn's two forms the model was trained on. The fix"
            " therefore needs --unsafe-fixes, and shows one example of its changes."
        )
    wrong = " or ".join(mend.words for mend in rule.mends)
    return (
        f"It changes only renders in which {wrong}. An edit that changes more is unsafe, and needs"
        " --unsafe-fixes."
    )


def page_lines(rule: Rule, indent: int) -> Iterator[Block]:
    """Return a page's text: the fault, why it matters, before and after."""
    yield from prose(Text(f"{_capital(rule.summary)}.", style="bold"), indent)
    for paragraph in _BLANK_LINES.split(rule.why):
        yield from [*blank(), *prose(" ".join(paragraph.split()), indent)]
    for title, code in (("Before", rule.before), ("After", rule.after)):
        yield from [*blank(), *prose(Text(title, style="bold"), indent)]
        lines = (Text(visible(line), style="cyan") for line in code.splitlines())
        yield from excerpt(lines, indent + 2)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def rule_table(rules: Sequence[Rule], width: int) -> Text:
    """List all rules by group."""
    drawn: Blocks = []
    for group in RuleGroup:
        of_group = [rule for rule in rules if rule.group is group]
        # A selection of rules may leave groups empty.
        if of_group:
            drawn += heading(f"{group.value} (AP{group.digit})")
            drawn += _rule_list(of_group)
    words = "'autoparser rule CODE' shows a rule's page."
    drawn += [*blank(), *prose(Text(words, style="dim"), indent=0)]
    return report_text(drawn, width, first_gap=False)


def _rule_list(rules: Sequence[Rule]) -> Iterator[Block]:
    for rule in rules:
        head = sentence((f"{rule.code} ", SEVERITY_STYLES[rule.severity]), (rule.name, "bold"))
        weight = rule.severity.value
        if rule.confidence.value != "high":
            weight += f", {rule.confidence} confidence"
        if not rule.default:
            weight += ", not by default"
        head.append(f" ({weight})", style="dim")
        yield from prose(head, hang=6)
        yield from prose(rule.summary, indent=8)


def page_file(rule: Rule) -> str:
    """Return the file name of a rule's page, beside its module and on the site."""
    return f"{rule.code}-{rule.name}.md"


def page_markdown(rule: Rule) -> str:
    """Return a rule's page, ended by a newline."""
    return "\n".join(_page(rule)) + "\n"


def _page(rule: Rule) -> Iterator[str]:
    """Yield the lines of a rule's page in Markdown."""
    yield from (f"# {rule.code}: {rule.name}", "", f"{_capital(_prose(rule.summary))}.", "")
    yield from _table_head("severity", "confidence", "group", "requires", "profiles")
    profiles = ", ".join(rule_profiles(rule)) or "if selected"
    traits = (rule.severity, rule.confidence, rule.group.value, rule.needs.value, profiles)
    yield f"| {' | '.join(traits)} |"
    yield from ("", "## Why it matters")
    for paragraph in _BLANK_LINES.split(rule.why):
        yield from ("", _prose(" ".join(paragraph.split())))
    for title, code in (("Before", rule.before), ("After", rule.after)):
        yield from ("", f"## {title}", "", *fence_lines([code], "jinja"))
    yield from ("", "## Fix", "")
    if rule.fix:
        yield from (f"{_capital(_prose(rule.fix))}.", "")
    # A terminal shows the same sentence without backquotes.
    reason = _prose(fix_reason(rule).replace("--unsafe-fixes", "`--unsafe-fixes`"))
    if rule.fixable:
        yield (
            f"`autoparser fix SOURCE --select {rule.code}` tries edits of the template, and applies"
            f" the smallest one that renders verify; see [fix](../fix.md). The fix is"
            f" {fix_safety(rule)}. {reason}"
        )
    else:
        yield f"`autoparser fix` does not change it. {reason}"
    if rule.covers:
        codes = ", ".join(rule.covers)
        words = f"It covers {codes}: if both fire, only this finding is reported, as their cause."
        yield from ("", words)
    ignore = f"{{#- autoparser: ignore {rule.code} the reason -#}}"
    yield from ("", "## To accept it", "", *fence_lines([ignore], "jinja"))


def _table_head(*titles: str) -> tuple[str, str]:
    return f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"


_CODE_OR_SIGN = re.compile(r"(`[^`]*`)|([<*|\[\]])")


def _prose(text: str) -> str:
    """Escape Markdown's special characters outside of code spans."""
    return _CODE_OR_SIGN.sub(lambda match: match[1] or f"\\{match[2]}", text)


def rules_index(rules: Sequence[Rule], folder: str = "") -> str:
    """Return the index of all pages, ended by a newline; they are in ``folder``."""
    return "\n".join(_index(rules, folder)) + "\n"


def _index(rules: Sequence[Rule], folder: str) -> Iterator[str]:
    """Yield the lines of the index: a table for each group of rules."""
    yield from ("# Rules", "")
    yield (
        f"The {len(rules)} rules of `autoparser lint`. A rule fires on rendered behavior, never on"
        " a word in the template's source."
    )
    yield ""
    yield (
        "The column *fix* shows whether [`autoparser fix`](../fix.md) has edits for a rule: safe"
        " edits change only renders with the fault, unsafe ones change others too."
    )
    yield ""
    yield "Written by the command `autoparser rule --format markdown`; do not edit by hand."
    for group in RuleGroup:
        of_group = [rule for rule in rules if rule.group is group]
        if not of_group:
            continue
        yield from ("", f"## {_capital(group.value)} (AP{group.digit})", "")
        yield from _table_head("code", "name", "severity", "confidence", "fix", "fault")
        for rule in of_group:
            page = f"[{rule.code}]({folder}{page_file(rule)})"
            traits = (rule.name, rule.severity, rule.confidence, fix_safety(rule))
            yield f"| {' | '.join((page, *traits, _prose(rule.summary)))} |"
