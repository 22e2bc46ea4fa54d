"""The document of a whole analysis.

Contract: the same analysis gives the same document, byte for byte, in any process; it holds
no time, no machine and nothing that a JSON writer refuses. `docs/json-schema.md` explains it
and `docs/analysis.schema.json` describes it; a change that is no mere addition counts `SCHEMA` up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from autoparser.analysis.constraining.gate import Gate
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Formats, JsonFields, TurnFormat
from autoparser.analysis.describing.view import View
from autoparser.analysis.inference.check import Check
from autoparser.analysis.inference.learning.switches import Switch
from autoparser.analysis.inference.phases import Finding
from autoparser.analysis.inference.probing import (
    Shape,
    ShapeTrial,
    StringArguments,
    choose_sentinels,
)
from autoparser.analysis.loading.template import ChatTemplate

from .evidence import (
    check_document,
    finding_document,
    gate_document,
    sandbox_document,
)
from .source import source_document
from .switches import switch_document
from .turns import format_document

SCHEMA = "autoparser.analysis/1"
"""Name and version of the document's schema."""


class Documented(Protocol):
    """What a document is made of: an analysis, which is made above the document."""

    @property
    def template(self) -> ChatTemplate:
        """The template."""
        ...

    @property
    def format(self) -> TurnFormat:
        """Its format."""
        ...

    @property
    def formats(self) -> Formats:
        """Its formats under every setting."""
        ...

    @property
    def view(self) -> View:
        """The format in the seeds' words."""
        ...

    @property
    def phases(self) -> Sequence[Finding]:
        """What each phase found."""
        ...

    @property
    def check(self) -> Check:
        """The self-check's verdict."""
        ...

    @property
    def checks(self) -> Sequence[Check]:
        """The verdict on each of the formats."""
        ...

    @property
    def gate(self) -> Gate:
        """What became of the texts that the template writes after its prompts."""
        ...

    @property
    def switches(self) -> Sequence[Switch]:
        """Its switches."""
        ...

    @property
    def shape(self) -> Shape:
        """What it wants of its messages."""
        ...

    @property
    def string_arguments(self) -> StringArguments | None:
        """What becomes of arguments that are JSON text."""
        ...

    @property
    def trials(self) -> Sequence[ShapeTrial]:
        """The shapes that were tried."""
        ...

    @property
    def stand_ins(self) -> Mapping[str, str]:
        """What stood for unknown special tokens."""
        ...

    @property
    def renders(self) -> int:
        """How many renders it took."""
        ...


def document(analysis: Documented) -> dict[str, Json]:
    """Return all of an analysis as values that JSON can hold, always in the same order."""
    template, view = analysis.template, analysis.view
    markers = dict(view.markers.items())
    # The sentinels are chosen by the template's text alone, so these are the ones of the probes.
    system = choose_sentinels(template.text).system
    return {
        "schema": SCHEMA,
        "template": {
            "name": template.name,
            "origin": template.origin,
            "sha256": _digest(template.text),
            "characters": len(template.text),
            "source": source_document(template.source),
        },
        **_view(view),
        "markers": {**markers},
        "preserved_tokens": list(view.preserved_tokens),
        "switches": [switch_document(switch, analysis.formats) for switch in analysis.switches],
        "format": format_document(analysis.format),
        "formats": [format_document(each) for each in analysis.formats],
        "fullest": analysis.formats.each.index(analysis.formats.fullest),
        "untried_settings": analysis.formats.untried,
        "check": check_document(analysis.check),
        "checks": [check_document(each) for each in analysis.checks],
        "gate": gate_document(analysis.gate),
        "sandbox": sandbox_document(analysis.check, template.origin),
        "shape": _shape(analysis.shape),
        "string_arguments": None
        if analysis.string_arguments is None
        else analysis.string_arguments.value,
        "trials": [{"what": trial.what, "outcome": trial.outcome} for trial in analysis.trials],
        "phases": [
            finding_document(finding, analysis.shape, system, markers)
            for finding in analysis.phases
        ],
        "stand_ins": {**analysis.stand_ins},
        "renders": analysis.renders,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _view(view: View) -> dict[str, Json]:
    flags, fields = view.flags, view.json_fields
    return {
        "modes": {
            "reasoning": view.reasoning.value,
            "content": view.content.value,
            "tools": view.tools.value,
            "call_id": view.call_id.value,
        },
        "flags": {
            "supports_tools": flags.supports_tools,
            "supports_parallel_calls": flags.supports_parallel_calls,
            "requires_nonnull_content": flags.requires_nonnull_content,
            "tools_array_wrapped": flags.tools_array_wrapped,
        },
        "json_fields": None if fields is None else _fields(fields),
    }


def _fields(fields: JsonFields) -> dict[str, Json]:
    return {
        "fun_name_is_key": fields.fun_name_is_key,
        "function_field": fields.function_field,
        "name_field": fields.name_field,
        "args_field": fields.args_field,
        "id_field": fields.id_field,
        "gen_id_field": fields.gen_id_field,
        "parameter_order": list(fields.parameter_order),
    }


def _shape(shape: Shape) -> dict[str, Json]:
    return {
        "system": shape.system,
        "user_content": shape.user_content.value,
        "assistant_content": shape.assistant_content.value,
        "empty_content": shape.empty_content.value,
        "arguments_as_string": shape.arguments_as_string,
        "tools": shape.tools.value,
        "calls": shape.calls.value,
        "answered": shape.answered,
        "reasoning_form": shape.reasoning_form.value,
        "reasoning_field": shape.reasoning_field,
    }
