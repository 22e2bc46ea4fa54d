"""``autoparser rule``: the rules of the linter, and the page of one."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import print_report, report_width

__all__ = ["rule"]


def rule(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]",
            help="A rule's code such as AP301, or its name. Without it all are listed.",
            show_default=False,
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as in docs/rules.")
    ] = False,
) -> None:
    """Show a rule's page: what is wrong, why it matters, before and after.

    Exit code: 0, or 2 if there is no such rule.
    """
    # Imported here so that help does without the engine.
    from autoparser.analysis.lint import all_rules, rule_of
    from autoparser.reports.lint import page_markdown, rule_page, rule_table, rules_index

    if which is None:
        rules = all_rules()
        if markdown:
            typer.echo(rules_index(rules), nl=False)
        else:
            print_report(rule_table(rules, report_width()))
        return
    found = rule_of(which)
    if markdown:
        typer.echo(page_markdown(found), nl=False)
    else:
        print_report(rule_page(found, report_width()))
