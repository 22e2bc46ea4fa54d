"""Every template of a corpus in one table, with what sorts and filters it.

The table is whole without the page's script: what needs that is hidden until it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.overview.survey import Record
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .page_parts import badge, lead, table

__all__ = ["survey_index"]


@dataclass(frozen=True, slots=True)
class _ColumnFilter:
    """What rows are left by one column."""

    column: str
    options: tuple[tuple[str, str], ...]
    """Values, and the words for them."""
    counts: bool = False
    """Whether the column counts something, and the values are `some` and `none`."""


_SEVERITIES = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "notes"}
_WORDS = {"passes": "good", "fails": "bad", "not analysed": "bad"}
"""Verdicts of the self-check, and how each looks."""


def survey_index(records: Sequence[Record], folder: str, pages: Mapping[str, str]) -> Element:
    """List all templates; `pages` has the names of their own pages by their sources."""
    linted = any(record.findings is not None for record in records)
    heads = ["template", "verdict", "round trips"]
    heads += [*_SEVERITIES.values()] if linted else []
    heads += ["reasoning", "calls", "switches"]
    rows = [
        [_name(record, folder, pages), *_cells(record, linted=linted), *_modes(record)]
        for record in records
    ]
    return fragment(
        lead(
            "The verdict is that of the self-check: whether all fixed messages come out as the"
            " template renders them.",
            "" if linted else " What lint finds was not asked: --lint counts it.",
        ),
        _controls(heads, list(_choices(records, linted=linted))),
        h("div", table("All templates", heads, rows, "all index"), class_="across"),
    )


def _name(record: Record, folder: str, pages: Mapping[str, str]) -> Node:
    name = visible(record.source.removeprefix(folder))
    page = pages.get(record.source)
    return name if page is None else h("a", name, href=page)


def _verdict(record: Record) -> str:
    return "not analysed" if record.error else "passes" if record.ok else "fails"


def _cells(record: Record, *, linted: bool) -> Iterator[Node]:
    verdict = _verdict(record)
    figure = (
        None
        if record.error
        else fragment(" ", h("small", f"{record.check.passed}/{record.check.total}"))
    )
    yield fragment(badge(verdict, _WORDS[verdict]), figure)
    yield f"{record.held}/{record.played}" if record.played else ""
    if linted:
        found = record.findings
        yield from ("" if found is None else str(found.get(each, 0)) for each in _SEVERITIES)


def _modes(record: Record) -> Iterator[Node]:
    yield h("code", record.reasoning) if record.reasoning else ""
    yield h("code", record.tools) if record.tools else ""
    yield visible(", ".join(record.switches))


def _choices(records: Sequence[Record], *, linted: bool) -> Iterator[_ColumnFilter]:
    yield _named("verdict", [_verdict(record) for record in records])
    if linted:
        told = (("some", "with errors"), ("none", "without errors"))
        yield _ColumnFilter(_SEVERITIES[Severity.ERROR], told, counts=True)
    yield _named("reasoning", [record.reasoning or "" for record in records])
    yield _named("calls", [record.tools or "" for record in records])


def _named(column: str, values: Sequence[str]) -> _ColumnFilter:
    return _ColumnFilter(column, tuple((each, each) for each in sorted(set(values)) if each))


def _controls(heads: Sequence[str], choices: Sequence[_ColumnFilter]) -> Element:
    search = h("label", h("span", "Search"), h("input", type="search", autocomplete="off"))
    return h(
        "div",
        search,
        [_select(each, heads.index(each.column)) for each in choices],
        h("p", role="status"),
        class_="controls",
        hidden=True,
    )


def _select(choice: _ColumnFilter, column: int) -> Element:
    options = [h("option", words, value=value) for value, words in choice.options]
    return h(
        "label",
        h("span", choice.column),
        h(
            "select",
            h("option", "all", value=""),
            options,
            data_column=column,
            data_kind="count" if choice.counts else None,
        ),
    )
