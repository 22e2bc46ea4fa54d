"""``autoparser compare``: changes between two templates' formats, renders and round trips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from autoparser import __version__
from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import (
    SOURCES,
    ExitZeroOption,
    JsonOption,
    NameOption,
    OutputOption,
    RevisionOption,
    chosen_form,
    format_option,
    refuse_full,
)
from .output import Outlet, open_outlet, status_line
from .request import SwitchOptions, warn_of_switches
from .source import NamedSource

DIFFERS = 1
"""The exit code if anything differs."""


class ComparisonForm(StrEnum):
    """The forms of a comparison."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


def compare(
    *,
    left: Annotated[
        str,
        typer.Argument(metavar="A", help=SOURCES, show_default=False),
    ],
    right: Annotated[
        str | None,
        typer.Argument(
            metavar="B",
            help="The source to compare with, such as the same file after a change.",
            show_default=False,
        ),
    ] = None,
    history: Annotated[
        bool,
        "Compare each revision of A with the one before it: a file or model directory in git, or a"
        " model on the Hub.",
    ] = False,
    form: Annotated[
        ComparisonForm | None,
        format_option(
            "json, as docs/compare.schema.json describes it; markdown for a comment on a pull"
            " request; html for a page. [default: text]"
        ),
    ] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    switch_options: SwitchOptions,
    name: NameOption = None,
    revision: RevisionOption = None,
    left_revision: Annotated[
        str | None, "REVISION", "Revision of A (overrides --revision)."
    ] = None,
    right_revision: Annotated[
        str | None, "REVISION", "Revision of B (overrides --revision)."
    ] = None,
    full: Annotated[bool, "Show every difference, and what was tested."] = False,
    exit_zero: ExitZeroOption = False,
) -> int:
    """Compare the renders of two templates, or of the revisions of one.

    Compares the format of a turn, its markers and switches, the renders of a battery of
    conversations under every value of a switch and with every kind of content, and round trips of
    sampled turns. --full shows all of it, and the list of tested inputs. --chat-template-kwargs and
    --switch apply to every render of both. If one of the two is a saved format, only the learned
    formats are compared.

    --history compares the revisions of one template, newest first, and exits with 0.

    Exit code: 0 if nothing that was tested differs, 1 if anything does, 2 if there is nothing to
    compare.
    """
    form = chosen_form(form, as_json, ComparisonForm.JSON) or ComparisonForm.TEXT
    if full and form is not ComparisonForm.TEXT:
        raise refuse_full(form)

    # Read before the templates are loaded: a wrong switch needs no network to be found.
    setting = switch_options.values()
    if history:
        if right is not None or revision or left_revision or right_revision:
            raise AutoparserError(
                "--history compares the revisions of one source",
                hint="leave out B and the revisions",
            )
        changes = _history_changes(left, name, setting)
        with open_outlet(output) as outlet:
            _write_history(changes, left, form, outlet, full=full)
        return 0
    if right is None:
        raise AutoparserError(
            "Missing argument B", hint="name a second template, or see the first's --history"
        )
    sources = [
        NamedSource(source=source, name=name, revision=own or revision)
        # The revision of one side overrides that of both.
        for source, own in ((left, left_revision), (right, right_revision))
    ]
    # A saved format has no template, so nothing can be rendered for it.
    if any(source.saved for source in sources):
        return _compare_formats(sources, form, output, switch_options, exit_zero=exit_zero)
    before, after = (source.template() for source in sources)
    # Each template on its own: a variable may be read by one of the two only.
    warn_of_switches(left, before, setting)
    warn_of_switches(right, after, setting)
    with status_line("analyzing") as show_step:
        analyses = wings.analyze(before), wings.analyze(after)
        show_step("comparing")
        found = wings.compare_templates(*analyses, setting)
    with open_outlet(output) as outlet:
        _write_comparison(found, form, outlet, full=full)
    return 0 if found.equal or exit_zero else DIFFERS


def _history_changes(
    source: str, name: str | None, setting: Mapping[str, wings.Json]
) -> Sequence[wings.RevisionChange]:
    """Compare the revisions of a template; says on standard error how many are done."""
    with status_line("reading revisions") as show_step:
        revisions = wings.template_history(source, name=name)

        def show_progress(done: int, count: int) -> None:
            show_step(f"comparing revision {done + 1} of {count}")

        return wings.compare_history(revisions, setting, show_progress)


def _write_history(
    changes: Sequence[wings.RevisionChange],
    source: str,
    form: ComparisonForm,
    outlet: Outlet,
    *,
    full: bool,
) -> None:
    match form:
        case ComparisonForm.TEXT:
            outlet.report(wings.history_report(changes, source, outlet.width, in_full=full))
        case ComparisonForm.JSON:
            outlet.json(wings.history_document(changes, source))
        case ComparisonForm.MARKDOWN:
            outlet.text(wings.history_markdown(changes, source))
        case ComparisonForm.HTML:
            outlet.text(wings.history_page(changes, source, __version__))


def _compare_formats(
    sources: Sequence[NamedSource],
    form: ComparisonForm,
    output: Path | None,
    switch_options: SwitchOptions,
    *,
    exit_zero: bool,
) -> int:
    """Compare learned formats, if one of the two is a saved format; return the exit code."""
    if switch_options.given:
        raise AutoparserError(
            "a saved format has no template to render with these variables",
            hint=f"leave out {' and '.join(switch_options.given)}, or compare the templates",
        )
    with status_line("analyzing"):
        left, right = (source.learned_format() for source in sources)
    found = wings.compare_formats(left, right)
    with open_outlet(output) as outlet:
        _write_comparison(found, form, outlet, full=False)
    return 0 if found.equal or exit_zero else DIFFERS


def _write_comparison(
    comparison: wings.Comparison | wings.FormatComparison,
    form: ComparisonForm,
    outlet: Outlet,
    *,
    full: bool,
) -> None:
    match form:
        case ComparisonForm.TEXT:
            outlet.report(wings.comparison_report(comparison, outlet.width, in_full=full))
        case ComparisonForm.JSON:
            outlet.json(wings.comparison_document(comparison))
        case ComparisonForm.MARKDOWN:
            outlet.text(wings.comparison_markdown(comparison))
        case ComparisonForm.HTML:
            outlet.text(wings.comparison_page(comparison, __version__))
