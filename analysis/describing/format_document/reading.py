"""A format read back from its document: nothing is lost, and nothing is concluded anew."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import asdict

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import (
    Arguments,
    CallFormat,
    Container,
    EvidenceKind,
    Layout,
    Notation,
    Opening,
    Row,
    TurnFormat,
)

from .notation_document import ContainerDocument, NotationDocument, PieceDocument
from .turns import CallsDocument, LayoutDocument, TurnDocument

__all__ = ["format_read"]


def format_read(document: TurnDocument) -> TurnFormat:
    """Return the format that a document tells."""
    openings, later = (
        tuple(Opening(**asdict(each)) for each in told)
        for told in (document.openings, document.later_openings)
    )
    layouts = {Presence(**asdict(each.presence)): _layout(each) for each in document.layouts}
    kinds = document.evidence.items()
    return TurnFormat(
        header=document.header,
        layouts=layouts,
        calls=None if document.calls is None else _calls(document.calls),
        openings=openings,
        later_openings=later,
        ends=document.ends,
        stop_strings=document.stop_strings,
        argument_form=document.argument_form,
        setting=document.setting,
        reasoning_cut=document.reasoning_cut,
        reasoning_open=document.reasoning_open,
        reasoning_close=document.reasoning_close,
        not_rendered={part: kind for part, kind in kinds if kind is not EvidenceKind.RENDER},
        elsewhere=frozenset(document.elsewhere),
        retention=document.retention,
    )


def _layout(document: LayoutDocument) -> Layout:
    edges = document.edges
    return Layout(
        document.parts, document.literals, edges.reasoning, edges.content, document.refusal or ""
    )


def _calls(document: CallsDocument) -> CallFormat:
    told = document.arguments
    return CallFormat(
        row=_row(document.row),
        arguments=Arguments(
            members=_container(told.members),
            values=_notation(told.values),
            margin=told.margin,
            refused=frozenset(told.refused),
            encoded=told.encoded,
            verbatim=told.verbatim,
        ),
        section_open=document.section_open,
        section_close=document.section_close,
        separator=document.separator,
        empty_row=None if document.empty_row is None else _row(document.empty_row),
        later_close=document.later_close,
        index_base=document.index_base,
        index_goes_on=document.index_goes_on,
        limit=document.limit,
        id_row=_row(document.id_row),
        free_words=document.free_words,
        leads=document.leads,
    )


def _row(pieces: tuple[PieceDocument, ...]) -> Row:
    told = (piece.slot if piece.literal is UNSET else piece.literal for piece in pieces)
    return tuple(piece for piece in told if piece is not UNSET)


def _container(document: ContainerDocument) -> Container:
    return Container(
        open=document.open,
        close=document.close,
        separator=document.separator,
        empty=document.empty,
        entry=_row(document.entry),
        typed={kind: None if row is None else _row(row) for kind, row in document.typed.items()},
        key=document.key,
        order=document.order,
        indent=document.indent,
        values=None if document.values is None else _notation(document.values),
    )


def _notation(document: NotationDocument) -> Notation:
    return Notation(
        string=document.string,
        true=document.true,
        false=document.false,
        null=document.null,
        array=_container(document.array),
        object=_container(document.object),
        number=document.number,
    )
