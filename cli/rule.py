"""``autoparser rule``: the rules of the linter, and the page of one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from . import wings
from .options import OutputOption, format_option
from .output import open_outlet


class RuleForm(StrEnum):
    """The forms of a rule's page."""

    TEXT = "text"
    MARKDOWN = "markdown"


def rule(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]",
            help="Code of a rule such as AP301, or its name. [default: list all]",
            show_default=False,
        ),
    ] = None,
    form: Annotated[RuleForm, format_option("text, or markdown as in docs/rules.")] = (
        RuleForm.TEXT
    ),
    output: OutputOption = None,
) -> None:
    """Explain a lint rule, or list all of them.

    Its page says what is wrong and why it matters, and shows a template before and after.

    Exit code: 0, or 2 if there is no such rule.
    """
    markdown = form is RuleForm.MARKDOWN
    found = None if which is None else wings.rule_of(which)
    with open_outlet(output) as outlet:
        if found is None:
            rules = wings.all_rules()
            if markdown:
                outlet.text(wings.rules_index(rules))
            else:
                outlet.report(wings.rule_table(rules, outlet.width))
        elif markdown:
            outlet.text(wings.page_markdown(found))
        else:
            outlet.report(wings.rule_page(found, outlet.width))
