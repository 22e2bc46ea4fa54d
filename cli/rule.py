"""``autoparser rule``: the rules of the linter, and the page of one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from . import wings
from .options import JsonOption, OutputOption, chosen_form, complete_rules, format_option
from .output import open_outlet


class RuleForm(StrEnum):
    """The forms of a rule's page."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def rule(
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]",
            help="Code of a rule such as AP301, or its name. [default: list all]",
            show_default=False,
            autocompletion=complete_rules,
        ),
    ] = None,
    form: Annotated[
        RuleForm | None,
        format_option(
            "json has the fields of the page; markdown is as in docs/rules. [default: text]"
        ),
    ] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
) -> None:
    """Explain a lint rule, or list all of them.

    Its page describes the fault and why it matters, with a template before and after the fix.

    Exit code: 0, or 2 for an unknown rule.
    """
    form = chosen_form(form, as_json, RuleForm.JSON)
    markdown = form is RuleForm.MARKDOWN
    found = None if which is None else wings.find_rule(which)
    with open_outlet(output) as outlet:
        if found is None:
            rules = wings.all_rules()
            if form is RuleForm.JSON:
                outlet.json([wings.document_json(rule) for rule in rules])
            elif markdown:
                outlet.text(wings.rules_index(rules))
            else:
                outlet.report(wings.rule_table(rules, outlet.width))
        elif form is RuleForm.JSON:
            outlet.json(wings.document_json(found))
        elif markdown:
            outlet.text(wings.page_markdown(found))
        else:
            outlet.report(wings.rule_page(found, outlet.width))
