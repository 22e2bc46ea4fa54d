"""``autoparser grammar``: the allowed output for a request, for constrained decoding."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    JsonOption,
    LoosenOption,
    OutputOption,
    TokenizerOption,
    chosen_form,
    format_option,
    help_order,
)
from .output import Outlet, open_outlet, print_warning
from .request import ChatRequestOptions, read_output, warn_of_loosening, warn_of_request
from .source import STANDARD_INPUT, LearnedSource, NamedSource

REFUSED = 1
"""The exit code if the grammar rejects the output of `--accepts`."""


class GrammarFormat(StrEnum):
    """The forms of a grammar."""

    GBNF = "gbnf"
    LARK = "lark"
    STRUCTURAL_TAG = "structural-tag"
    EBNF = "ebnf"
    JSON = "json"


@help_order(
    "form as_json accepts tools tokenizer tool_choice no_parallel json_schema strict lazy loosen "
    "prompt chat_template_kwargs switch"
)
def grammar(
    *,
    request_options: ChatRequestOptions,
    form: Annotated[
        GrammarFormat | None,
        format_option(
            "gbnf for llama.cpp; lark for llguidance, which needs the tokenizer; ebnf for"
            " xgrammar, as SGLang takes it; structural-tag for xgrammar; json has all of them,"
            " with triggers, tokens and stop strings. [default: gbnf]"
        ),
    ] = None,
    as_json: JsonOption = False,
    accepts: Annotated[
        Path | None,
        "FILE",
        "Check whether the grammar (Lark, or as --format says) accepts this output, and if not,"
        " where it stops and what is allowed there. Reads it by tokens if there is a tokenizer,"
        " else by bytes.",
    ] = None,
    tokenizer: TokenizerOption = None,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--loose",
            help="Enforce argument schemas (no extra keys), or accept any JSON object. [default:"
            " as each tool says]",
            show_default=False,
        ),
    ] = None,
    lazy: Annotated[bool, "Begin at the tool calls, for engines that wait for a trigger."] = False,
    loosen: LoosenOption = False,
    output: OutputOption = None,
    source: LearnedSource,
) -> int:
    """Write a grammar for constrained decoding: GBNF, Lark or EBNF.

    It accepts the turns that the template would render for these tools and schemas.
    Keywords that a grammar cannot express are an error that lists each tool, place and keyword;
    --loosen drops them with a warning.

    Exit code: 0 if it is written, 1 if the output of --accepts is rejected, 2 if it cannot be
    written.
    """
    form = chosen_form(form, as_json, GrammarFormat.JSON)
    source.check()
    request = request_options.read()
    if strict is not None and not request.tools:
        raise AutoparserError(
            f"{'--strict' if strict else '--loose'} applies to arguments, but there are no tools",
            hint="pass --tools; the schema of --json-schema is always enforced",
        )
    # Read before the analysis, so that a bad file is reported at once.
    text = None if accepts is None else _read_answer(accepts, source.source)

    analysis = source.learned_format(tokenizer)
    made = analysis.grammar(
        request.tools,
        chat_template_kwargs=request.setting,
        **request.options,
        strict=strict,
        lazy=lazy,
        loosen=loosen,
    )
    warn_of_request(source.label, analysis, request)
    if text is not None:
        loaded = source.tokenizer(tokenizer, analysis.template, segmenting=True)
        with open_outlet(output) as outlet:
            return _write_acceptance(made, form, loaded, text, outlet)
    form = form or GrammarFormat.GBNF
    known = None
    # With a tokenizer, markers are written as its tokens, so that they cannot be spelled out.
    if tokenizer is not None or form in (GrammarFormat.LARK, GrammarFormat.JSON):
        # Without a tokenizer, JSON has all forms but Lark.
        lark = form is GrammarFormat.LARK
        known = _opaque_tokens(source, tokenizer, analysis, needed=lark)
    if known is not None:
        _warn_of_markers(source.label, made, known)
    written = _grammar_text(made, form, known, analysis.template)
    if loosen and form in _HELD_BY:
        warn_of_loosening(source.label, made.loosened(_HELD_BY[form]))
    with open_outlet(output) as outlet:
        # JSON ends without a newline, but a text file should end with one.
        outlet.text(written if written.endswith("\n") else f"{written}\n")
    return 0


# Not JSON, which holds several grammars with the limits of each.
_HELD_BY: Mapping[GrammarFormat, wings.GrammarForm] = {
    GrammarFormat.GBNF: "gbnf",
    GrammarFormat.EBNF: "ebnf",
    GrammarFormat.LARK: "lark",
    GrammarFormat.STRUCTURAL_TAG: "structural_tag",
}


def _read_answer(path: Path, source: str | None) -> str:
    """Read the output to check against the grammar."""
    if str(path) == STANDARD_INPUT == source:
        raise AutoparserError(
            "the template and the output cannot both come from standard input",
            hint="give the output as a file",
        )
    return read_output(path)


def _write_acceptance(
    grammar: wings.Grammar,
    form: GrammarFormat | None,
    tokenizer: object | None,
    text: str,
    outlet: Outlet,
) -> int:
    """Report whether the grammar accepts a text; return the exit code."""
    # llguidance checks, which reads Lark and GBNF, but no tags.
    if form is GrammarFormat.STRUCTURAL_TAG:
        raise AutoparserError(
            "--accepts cannot check a structural tag",
            hint="give --format lark, gbnf or json",
        )
    by_bytes = form in (GrammarFormat.GBNF, GrammarFormat.EBNF)
    dialect = wings.GrammarDialect.GBNF if by_bytes else wings.GrammarDialect.LARK
    found = grammar.accepts(text, tokenizer, dialect=dialect)
    unit: Literal["byte", "token"] = "byte" if by_bytes or tokenizer is None else "token"
    # A rejected text is not a message; its report shows where the grammar stops.
    message = grammar.parser().parse(text) if found.accepted else None
    if form is GrammarFormat.JSON:
        outlet.json(wings.acceptance_document(found, message, text, unit))
    else:
        outlet.report(wings.acceptance_report(found, message, text, unit, outlet.width))
    return 0 if found.accepted else REFUSED


# Only special tokens are used of a tokenizer, so its exact segmentation does not matter.
def _opaque_tokens(
    source: NamedSource, tokenizer: Path | None, analysis: wings.LearnedFormat, *, needed: bool
) -> wings.OpaqueTokens | None:
    """Return the tokens for a grammar, or None if there are none and none are `needed`."""
    loaded = source.tokenizer(
        tokenizer,
        analysis.template,
        segmenting=False,
        needed="Lark needs the tokenizer" if needed else None,
    )
    return None if loaded is None else wings.tokenizer_of(loaded).opaque


def _grammar_text(
    grammar: wings.Grammar,
    form: GrammarFormat,
    opaque_tokens: wings.OpaqueTokens | None,
    template: wings.NamedTemplate,
) -> str:
    """Return a grammar as text; as JSON, with the template's identity.

    Raises GrammarError and SchemaError for inexpressible parts.
    """
    match form:
        case GrammarFormat.GBNF:
            return grammar.gbnf(opaque_tokens)
        case GrammarFormat.EBNF:
            return grammar.ebnf()
        case GrammarFormat.LARK:
            return grammar.lark(cast("wings.OpaqueTokens", opaque_tokens))
        case GrammarFormat.STRUCTURAL_TAG:
            return wings.json_text(grammar.structural_tag(opaque_tokens), indent=2)
        case GrammarFormat.JSON:
            return wings.json_text(
                wings.grammar_document(grammar, opaque_tokens, template), indent=2
            )


def _warn_of_markers(
    source: str, grammar: wings.Grammar, opaque_tokens: wings.OpaqueTokens
) -> None:
    """Warn of markers that are not single tokens of the tokenizer."""
    missing = [token for token in grammar.preserved_tokens if token not in opaque_tokens.ids]
    if missing:
        print_warning(
            source,
            "these markers are not special tokens of the tokenizer, so they are"
            f" spelled out: {' '.join(missing)}; see that the tokenizer is the template's",
        )
