"""``autoparser export``: a format in another program's terms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    OutputOption,
    TokenizerOption,
    format_option,
)
from .output import open_outlet, print_report, print_warning, report_width
from .request import SwitchOptions, warn_of_settings
from .source import LearnedSource

FINDINGS = 1
"""The exit code if the target cannot express the whole format, or misreads a message."""


class ExportForm(StrEnum):
    """The forms of an export."""

    RESPONSE_TEMPLATE = "response-template"


class ExportDialect(StrEnum):
    """The readers of an export."""

    COMMON = "common"
    TRANSFORMERS = "transformers"


def export(
    *,
    form: Annotated[
        ExportForm,
        format_option("response-template", hidden=True),
    ] = ExportForm.RESPONSE_TEMPLATE,
    as_json: Annotated[
        bool, typer.Option("--json", help="Short for --format json.", hidden=True)
    ] = False,
    dialect: Annotated[
        ExportDialect,
        "common loads in transformers, vLLM and SGLang alike; transformers names reasoning as"
        " templates do, and joins the content around a call.",
    ] = ExportDialect.COMMON,
    output: OutputOption = None,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Parse every message of the battery with transformers' own parser, after every"
            " prompt, and render the result again. [default: if transformers is installed]",
            show_default=False,
        ),
    ] = None,
    switch_options: SwitchOptions,
    tokenizer: TokenizerOption = None,
    source: LearnedSource,
) -> int:
    """Export the format as a response_template for transformers.

    transformers, vLLM and SGLang read it from a tokenizer_config.json. Prints JSON, and to standard
    error the parts that a response_template cannot express and the results of transformers' own
    parser. For constrained decoding, see autoparser grammar.

    Exit code: 0 if the whole format is expressed, 1 if parts of it are not or messages parse
    differently, 2 if there is nothing to export.
    """
    # JSON is the only form so far; when another is added, choose it here.
    del form, as_json
    source.check()
    switches = switch_options.values()

    analysis = source.learned_format(tokenizer)
    warn_of_settings(source.label, analysis, switches)
    # Without switches, one document is for all settings.
    format_ = analysis.under(switches).format if switches else analysis.formats.united
    eos = analysis.template.special_tokens.get("eos_token")
    exported = wings.response_template(format_, wings.TemplateDialect(dialect), eos)
    trial = (
        None if check is False else _try_export(analysis, format_, exported, required=bool(check))
    )
    with open_outlet(output) as outlet:
        outlet.json(exported.document)
    warnings = list(_export_warnings(analysis, wings.json_text(exported.document)))
    for warning in warnings:
        print_warning(source.label, warning)
    # Standard output has the document alone, so that it can be redirected to a file.
    print_report(wings.export_report(exported, trial, report_width()), beside=True)
    good = not warnings and exported.whole and (trial is None or trial.ok)
    return 0 if good else FINDINGS


def _export_warnings(analysis: wings.LearnedFormat, text: str) -> Iterator[str]:
    """Yield warnings about the document."""
    verdict = analysis.check
    if not verdict.ok:
        yield wings.check_doubt(verdict, "the document may be wrong")
    for token, stand_in in analysis.stand_ins.items():
        # A stand-in that the document does not contain does no harm.
        if stand_in in text:
            yield (
                f"the {token} is unknown, so the document has {stand_in} in its place;"
                " name the model's directory or its tokenizer_config.json"
            )


def _try_export(
    analysis: wings.LearnedFormat,
    format_: wings.TurnFormat,
    exported: wings.Export,
    *,
    required: bool,
) -> wings.ExportTrial | None:
    """Try the export with its target, or return None if it cannot be, unless `required`."""
    if not isinstance(analysis, wings.Analysis):
        if not required:
            return None
        raise AutoparserError(
            "--check needs renders, and a saved format has no template",
            hint="leave out --check, or pass the template",
        )
    # Without this, transformers advises to install a framework, which its parser does not need.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    parse = wings.transformers_parser()
    if parse is not None:
        return wings.try_out(format_, exported, parse, analysis.prober())
    if not required:
        return None
    raise AutoparserError(
        "transformers is not installed, so the export cannot be checked",
        hint="install transformers 5.15 or later, or leave out --check",
    )
