"""Each phase learns its own piece of the calls' format, whatever the others found."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import Row, RowSlot, json_notation
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.learning.argument_containers import Enclosure
from autoparser.analysis.learning.call_phases import PHASES, Phase
from autoparser.analysis.learning.call_rows import SeenSlot, learn_slot
from autoparser.analysis.learning.format_assembly import assemble_format, learn_formats
from autoparser.analysis.learning.observer import Observer
from autoparser.analysis.learning.suggestions import suggest_values
from autoparser.analysis.learning.turn_phases import Draft
from tests.analysis.tiny import CONTENT, calls, observer_of, turn


def template_of(
    *,
    head: str = "{{ f.name }}#{{ c.id }}",
    key: str = "{{ k }}",
    string: str = "{{ v }}",
    other: str = "{{ v|tojson }}",
    separator: str = "; ",
    none: str = "",
) -> ChatTemplate:
    """Return a template whose calls are written entry by entry."""
    entry = f"{key}={{% if v is string %}}{string}{{% else %}}{other}{{% endif %}}"
    between = f"{{% if not loop.first %}}{separator}{{% endif %}}"
    listed = f"{{% for k, v in f.arguments.items() %}}{between}{entry}{{% endfor %}}"
    return turn(CONTENT, calls(f"({head} [{listed}]{none})"))


def concluded(template: ChatTemplate) -> tuple[Observer, Draft]:
    """Run all phases."""
    observer = observer_of(template)
    draft = Draft(suggest_values(template.syntax_tree), shows_reasoning=False, shows_calls=True)
    return observer, learn_formats(observer.prober, draft, {}).draft


def written(observer: Observer, draft: Draft) -> CallFormat:
    """Put the calls together."""
    found = assemble_format(observer, draft, [{}]).calls
    assert found is not None
    return found


def shown(calls_: CallFormat) -> Row:
    """Return what is written of a call and of an argument."""
    return calls_.row + (calls_.arguments.members.row(JsonType.STRING) or ())


def with_piece(draft: Draft, piece: str, value: object) -> Draft:
    """Put one piece in the place of another."""
    changed: dict[str, Any] = {piece: value}
    return replace(draft, **changed)


def phase_of(name: str) -> Phase:
    return next(phase for phase in PHASES if phase.__name__ == f"examine_{name}")


BASE = template_of()
OTHERS = [
    ("t4", "name", template_of(head="{{ f.name }}#{{ c.id }}~{{ f.name }}"), "written twice"),
    ("t4", "name", template_of(head="#{{ c.id }}"), "not written"),
    ("t7", "call_id", template_of(head="{{ f.name }}"), "not written"),
    ("t5", "listed", template_of(separator=" + "), "another separator"),
    ("t5", "listed", turn(CONTENT, calls("({{ f.name }} {{ f.arguments|tojson }})")), "JSON"),
    ("a1", "key", template_of(key="{{ k }} {{ k }}"), "written twice"),
    ("a2", "strings", template_of(string="{{ v|e }}"), "the escapes of HTML"),
    ("a2", "strings", template_of(string="{{ [v]|string|trim('[]') }}"), "Python's repr"),
    ("a3", "types", template_of(other="{{ v }}"), "Python's words"),
    ("a3", "types", template_of(other="({{ v|tojson }})"), "signs of their own"),
    (
        "t6",
        "enclosure",
        template_of(none="{{ '-' if not f.arguments }}"),
        "a sign for none",
    ),
]
# Of these, calls of one plain string look as in the base: only the one piece tells them apart.
ALIKE = (
    "another separator",
    "the escapes of HTML",
    "Python's words",
    "signs of their own",
    "a sign for none",
)


@pytest.mark.parametrize(("name", "piece", "template", "reason"), OTHERS)
def test_a_phase_learns_its_piece_from_its_own_renders(
    name: str, piece: str, template: ChatTemplate, reason: str
) -> None:
    _, base = concluded(BASE)
    observer, other = concluded(template)
    # The renders are of the other template, all else that is known is of the base.
    draft, finding = phase_of(name)(observer, base)
    assert getattr(base, piece) != getattr(draft, piece) == getattr(other, piece), reason
    assert finding.evidence
    untouched = {field.name for field in fields(Draft)} - {piece}
    assert all(getattr(draft, each) is getattr(base, each) for each in untouched)


@pytest.mark.parametrize(
    ("name", "piece", "template", "reason"),
    [case for case in OTHERS if case[3] in ALIKE],
)
def test_the_format_is_put_together_from_the_pieces(
    name: str, piece: str, template: ChatTemplate, reason: str
) -> None:
    observer, base = concluded(BASE)
    other_observer, other = concluded(template)
    mixed = written(observer, with_piece(base, piece, getattr(other, piece)))
    assert mixed != written(observer, base)
    assert mixed == written(other_observer, other), f"{name}: {reason}"


@pytest.mark.parametrize(
    ("piece", "slot"), [("name", RowSlot.NAME), ("call_id", RowSlot.ID), ("key", RowSlot.KEY)]
)
def test_a_slot_is_there_because_its_phase_saw_it(piece: str, slot: RowSlot) -> None:
    observer, base = concluded(BASE)
    assert slot in shown(written(observer, base))
    if piece == "key":
        # A2 and A3 read entries by what A1 found.
        base = replace(base, key=None)
        for name in ("a2", "a3"):
            base, _ = phase_of(name)(observer, base)
    assert slot not in shown(written(observer, with_piece(base, piece, None)))


def object_of(
    string: str = "{{ v|tojson }}", other: str = "{{ v|tojson }}", separator: str = ", "
) -> ChatTemplate:
    """Return a template whose arguments are an object that is written by hand."""
    value = f"{{% if v is string %}}{string}{{% else %}}{other}{{% endif %}}"
    between = f"{{% if not loop.first %}}{separator}{{% endif %}}"
    listed = (
        f"{{% for k, v in f.arguments.items() %}}{between}{{{{ k|tojson }}}}: {value}{{% endfor %}}"
    )
    return turn(CONTENT, calls("({{ f.name }} {{ '{' }}" + listed + "})"))


def test_brackets_enclose_arguments_as_they_enclose_objects_in_them() -> None:
    _, entries = concluded(BASE)
    _, whole = concluded(object_of())
    assert entries.enclosure == Enclosure(None), "objects are JSON, the arguments are not"
    assert whole.enclosure == Enclosure(json_notation())


@pytest.mark.parametrize(
    ("piece", "template"),
    [
        ("strings", object_of(string='"{{ v|e }}"')),
        ("types", object_of(other="{{ v }}")),
        ("listed", object_of(separator="; ")),
        ("enclosure", BASE),
    ],
)
def test_arguments_are_json_because_every_piece_says_so(piece: str, template: ChatTemplate) -> None:
    observer, base = concluded(object_of())
    assert written(observer, base).arguments.values == json_notation()
    _, other = concluded(template)
    mixed = written(observer, with_piece(base, piece, getattr(other, piece))).arguments
    assert mixed.members.open == "", "what encloses the entries is a part of the call then"
    assert mixed.members.entry != json_notation().object.entry


@pytest.mark.parametrize(
    ("one", "other", "times", "reason"),
    [
        ("<a>", "<b>", 1, "moves"),
        ("<a a>", "<b b>", 2, "moves, twice"),
        ("<a a>", "<a b>", 1, "stands once where it does not move"),
        ("<a>", "<a>", 0, "comes from elsewhere"),
        ("<c>", "<c>", 0, "is not written"),
        ("<a>", None, 1, "the other is refused"),
        (None, "<b>", 0, "the one is refused"),
    ],
)
def test_a_slot_moves_with_its_thing(
    one: str | None, other: str | None, times: int, reason: str
) -> None:
    expected = SeenSlot(RowSlot.NAME, "a", times) if times else None
    assert learn_slot(RowSlot.NAME, "a", one, other) == expected, reason


def test_arguments_held_by_a_string_are_read_in_it() -> None:
    """JSON text in a JSON string, which some templates write without spaces."""
    held = '({{ f.name }} {{ f.arguments|tojson(separators=(",", ":"))|tojson }})'
    observer, draft = concluded(turn(CONTENT, calls(held)))
    arguments = written(observer, draft).arguments
    assert arguments.encoded
    assert arguments.write({"a": 'say "hi"', "b": [1, None]}) in (
        observer.text_of_arguments({"a": 'say "hi"', "b": [1, None]}) or ""
    )
