"""The fields of the target that are text, and the markup that belongs to no field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoparser.analysis.alignment import first_marker, is_unit
from autoparser.analysis.conversation import Json
from autoparser.analysis.export.limits import Limit, Piece
from autoparser.analysis.expression import Block, Turn
from autoparser.analysis.format import Part, Strip, TurnFormat, Written

from .framing import CallsField
from .joints import ANY, Joint, between
from .patterns import anchor, at_most, behind, either, exact, loose, widest


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the fields need to know of the whole turn."""

    format: TurnFormat
    turn: Turn
    joints: tuple[Joint, ...]
    calls: CallsField | None
    reasoning: Block | None = None
    """The reasoning, where the target can read it."""

    @property
    def begins(self) -> str:
        """Match where a turn begins."""
        return turn_begins(self.format, self.turn)

    @property
    def end(self) -> str:
        """Match what ends a turn, the end of the text aside; empty where nothing does."""
        return turn_ends(self.turn)

    @property
    def explicit(self) -> bool:
        """Whether content is always opened, so that what stands outside is nothing."""
        core = self.turn.content.open.core
        joints = list(between(self.joints, left=ANY, right=[Part.CONTENT]))
        return bool(core) and all(self._opened(joint) for joint in joints)

    def _opened(self, joint: Joint) -> bool:
        blocks = (self.turn.content.open, *self.turn.content.others)
        return any(joint.text.rstrip().endswith(each.core) for each in blocks if each.core)


def turn_begins(format_: TurnFormat, turn: Turn) -> str:
    """Match where a turn begins: the text's beginning, or a header that the model writes."""
    header = turn.header.core
    return rf"(?:\A|{exact(header)})" if writes_header(format_, turn) else r"\A"


def writes_header(format_: TurnFormat, turn: Turn) -> bool:
    """Whether the model may write a header: the prompt leaves it out, or the turn goes on."""
    header = turn.header.core
    if not header:
        return False
    unwritten = (
        header not in opening.text and opening.written is not Written.OTHER
        for opening in format_.openings
    )
    inside = [text for layout in format_.layouts.values() for text in layout.literals[1:]]
    inside += [format_.calls.separator] if format_.calls is not None else []
    return any(header in text for text in inside) or any(unwritten)


def turn_ends(turn: Turn) -> str:
    """Match what ends a turn; another header behind it means that the turn goes on."""
    cores = sorted({end.core for end in turn.ends if end.core}, key=len, reverse=True)
    if not cores:
        return ""
    header = turn.header.core
    going_on = rf"(?!\s*{exact(header)})" if turn.goes_on else ""
    # Where one marker ends a turn and begins the next, the first one in the text begins it.
    begun = r"(?!\A)" if header in cores else ""
    return begun + either(exact(core) for core in cores) + going_on


def reasoning_field(around: Surroundings) -> tuple[dict[str, Json] | None, list[Limit]]:
    """Read reasoning between its literals."""
    block = around.turn.reasoning
    if block is None:
        shown = any(Part.REASONING in layout.parts for layout in around.format.layouts.values())
        why = "nothing shows where it begins and ends"
        return None, [Limit(Piece.REASONING, why)] if shown else []
    close = block.close.core
    if not close:
        return None, [Limit(Piece.REASONING, "nothing closes it")]
    if any(_alike(joint, block) for joint in _content_alone(around)):
        return None, [Limit(Piece.REASONING, "it is opened as content is")]
    limits: list[Limit] = []
    closers = [joint for joint in around.joints if joint.left is Part.REASONING]
    if any(close not in joint.text and joint.right for joint in closers):
        return None, [Limit(Piece.REASONING, "what closes it depends on what follows")]
    opens = list(_reasoning_opens(around))
    if not block.open.core and any(close not in joint.text for joint in closers):
        limits.append(Limit(Piece.REASONING, "nothing opens it, nor closes it before the end"))
    before = widest(joint.text.partition(close)[0] for joint in closers if close in joint.text)
    behind_close = [
        _space_at_start(joint.text.partition(close)[2])
        for joint in between(closers, left=ANY, right=[Part.CONTENT])
    ]
    closing = f"{before or at_most(block.close.before)}{exact(close)}"
    if not around.explicit:
        closing += widest(behind_close or [block.close.after])
    ends = [end.core for end in around.turn.ends if is_unit(end.core) and end.core != close]
    if ends:
        closing = either([closing, f"(?={either(map(exact, ends))})"])
    strip = _stripped(around.format, Part.REASONING)
    return {
        **anchor("open", either(opens)),
        **anchor("close", closing),
        "content": "text",
        "content_args": {"strip": strip},
    }, limits


def _reasoning_opens(around: Surroundings) -> Iterator[str]:
    block = around.turn.reasoning
    if block is None:
        return
    core, close = block.open.core, exact(block.close.core)
    before = [joint for joint in around.joints if joint.right is Part.REASONING]
    if core:
        spaces = [joint.text.rpartition(core)[2] for joint in before if core in joint.text]
        yield f"{exact(core)}{widest(spaces or [block.open.after])}"
    if block.leads or not core:
        begins = rf"(?<={around.begins}\s*)" if around.begins != r"\A" else r"\A"
        not_open = f"(?!{exact(core)})" if core else ""
        yield rf"{begins}{not_open}(?=.*?{close})"


def content_field(around: Surroundings) -> tuple[dict[str, Json], list[Limit]]:
    """Read content: between its literals, or all that is nothing else."""
    settings: dict[str, Json] = {
        "content": "text",
        "content_args": {"strip": _stripped(around.format, Part.CONTENT)},
        "repeats": True,
        "join": "",
    }
    limits = list(_content_limits(around))
    if not around.explicit:
        return {**anchor("close", either(_implicit_closes(around))), **settings}, limits
    reasoning = around.turn.reasoning
    taken = "" if reasoning is None else reasoning.open.core
    blocks = [
        each
        for each in (around.turn.content.open, *around.turn.content.others)
        if each.core != taken or around.reasoning is None
    ]
    opens = (f"{exact(each.core)}{at_most(each.after)}" for each in blocks if each.core)
    closes = either(_explicit_closes(around))
    closing = anchor("close", closes) if closes else {}
    return {**anchor("open", either(opens)), **closing, **settings}, limits


def _content_limits(around: Surroundings) -> Iterator[Limit]:
    reasoning = around.turn.reasoning
    for layout in around.format.layouts.values():
        if layout.parts.count(Part.CONTENT) > 1:
            yield Limit(Piece.CONTENT, "it is written twice")
            return
    alone = _content_alone(around)
    joints = between(around.joints, left=ANY, right=[Part.CONTENT])
    if reasoning is not None and any(_alike(joint, reasoning) for joint in joints):
        if not any(_alike(joint, reasoning) for joint in alone):
            yield Limit(Piece.CONTENT_BESIDE_CALLS, "it is opened as reasoning is")


def _content_alone(around: Surroundings) -> list[Joint]:
    """Give what stands before content in turns without calls."""
    layouts = around.format.layouts
    texts = [
        literal
        for presence, layout in layouts.items()
        if not presence.calls
        for literal, part in zip(layout.literals, layout.parts, strict=False)
        if part is Part.CONTENT
    ]
    return [Joint(None, Part.CONTENT, text) for text in texts]


def _alike(joint: Joint, block: Block) -> bool:
    """Whether content is opened there as reasoning is."""
    core = block.open.core
    return bool(core) and joint.text.rstrip().endswith(core)


def _explicit_closes(around: Surroundings) -> Iterator[str]:
    close = around.turn.content.close.core
    cores = [end.core for end in around.turn.ends if end.core]
    for joint in between(around.joints, left=[Part.CONTENT], right=ANY):
        text = joint.text
        if close and close in text:
            before = text.partition(close)[0]
            yield f"{at_most(before) if before.isspace() else exact(before)}{exact(close)}"
        elif not text.strip():
            if joint.right is Part.CALLS and around.calls is not None:
                yield f"{at_most(text)}(?={around.calls.ahead})"
            elif text and joint.right is None:
                yield rf"{at_most(text)}\Z"
        else:
            core = text.strip()
            end = next((each for each in cores if core.startswith(each)), "")
            marker = end or first_marker(core).strip()
            yield f"{at_most(text[: text.index(core)])}{exact(marker)}"
    yield either(exact(core) for core in cores)


def _implicit_closes(around: Surroundings) -> Iterator[str]:
    ends = list(between(around.joints, left=[Part.CONTENT], right=[None]))
    cores = [end.core for end in around.turn.ends if end.core]
    close = around.turn.content.close.core
    if around.end:
        spaces = [_before(joint.text, cores) for joint in ends]
        yield rf"{_blank(around)}{widest(spaces)}{around.end}.*"
    if close:
        before = around.turn.content.close.before
        yield f"{at_most(before)}{exact(close)}"
    yield rf"{behind(either(_closed(around)))}\s+\Z"
    tails = [joint.text for joint in ends if joint.text and joint.blank]
    tail = max(tails, key=len, default=around.turn.tail)
    if tail:
        yield rf"{exact(tail)}\Z"


def _before(text: str, cores: Sequence[str]) -> str:
    """Give the whitespace before what ends a turn."""
    stripped = text.lstrip()
    return text[: len(text) - len(stripped)] if stripped.startswith(tuple(cores)) else ""


def _blank(around: Surroundings) -> str:
    """Match whitespace that is no content, since it stands between two pieces of markup."""
    return rf"(?:{behind(either(_closed(around)))}\s+)?"


def _closed(around: Surroundings) -> Iterator[str]:
    """Give what may stand before whitespace that is no content."""
    yield around.begins
    if around.reasoning is not None:
        yield exact(around.reasoning.close.core)
    yield exact(around.turn.content.close.core)
    if around.calls is not None:
        yield around.calls.section_close
        yield around.calls.behind


def call_opening(around: Surroundings) -> str:
    """Match what opens a call, with the whitespace before it that is no content."""
    calls = around.calls
    if calls is None:
        return ""
    if around.explicit:
        return calls.open
    spaces = [
        _space_at_end(joint.text)
        for joint in between(around.joints, left=[Part.CONTENT], right=[Part.CALLS])
    ]
    pieces = [rf"{behind(either(_closed(around)))}\s+"]
    if calls.separator:
        pieces.append(rf"{behind(calls.behind)}\s*{calls.separator}\s*")
    space = widest(spaces)
    if space:
        pieces.append(space)
    return (
        rf"{either(pieces)}?{calls.open}" if len(pieces) > 1 else rf"(?:{pieces[0]})?{calls.open}"
    )


def markup(around: Surroundings) -> str:
    """Match the markup between the fields that none of them takes; empty where there is none."""
    return "" if around.explicit else either(_markup(around))


def _markup(around: Surroundings) -> Iterator[str]:
    turn, calls = around.turn, around.calls
    if writes_header(around.format, turn):
        ends = either(exact(end.core) for end in turn.ends if end.core)
        going_on = rf"(?:{ends}\s*)?" if ends and turn.goes_on else ""
        yield rf"{going_on}{loose(turn.header.core)}{at_most(turn.header.after)}"
    if calls is not None and calls.section_close:
        yield rf"{behind(calls.behind)}\s*{calls.section_close}{_behind_calls(around)}"
    elif calls is not None and _behind_calls(around):
        yield rf"(?<={calls.behind}){_behind_calls(around)}"
    for joint in around.joints:
        yield from _joint_markup(around, joint)


def _behind_calls(around: Surroundings) -> str:
    spaces = [
        joint.text
        for joint in between(around.joints, left=[Part.CALLS], right=[Part.CONTENT])
        if joint.blank
    ]
    return widest(spaces)


def _joint_markup(around: Surroundings, joint: Joint) -> Iterator[str]:
    """Give a joint's text without what its neighbours take of it."""
    text, reasoning = joint.text, around.reasoning
    if joint.right is None or joint.left is Part.CONTENT:
        return
    back = around.begins
    if joint.left is Part.REASONING and reasoning is not None:
        back, text = exact(reasoning.close.core), text.partition(reasoning.close.core)[2]
    elif joint.left is Part.CALLS and around.calls is not None:
        back = either([around.calls.section_close, around.calls.behind])
    elif reasoning is not None and joint.left is None and reasoning.close.core in text:
        written = text.partition(reasoning.close.core)[0]
        if written.strip() == reasoning.open.core and reasoning.open.core:
            back, text = exact(reasoning.close.core), text.partition(reasoning.close.core)[2]
    if joint.right is Part.REASONING and reasoning is not None:
        text = text.rpartition(reasoning.open.core)[0] if reasoning.open.core else ""
    if not text.strip():
        if text and joint.left is None and joint.right is Part.CONTENT and back == around.begins:
            yield rf"(?<={back}){exact(text)}" if back != r"\A" else rf"\A{exact(text)}"
        return
    core = text.strip()
    after = at_most(_space_at_end(text)) if joint.right is Part.CONTENT else r"\s*"
    yield (
        rf"{behind(back)}\s*{loose(core)}{after}"
        if back != r"\A"
        else rf"\A\s*{loose(core)}{after}"
    )


def _space_at_start(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _space_at_end(text: str) -> str:
    return text[len(text.rstrip()) :]


def _stripped(format_: TurnFormat, part: Part) -> bool:
    """Whether the template strips a part's edges whenever it writes it."""
    edges = [
        layout.reasoning if part is Part.REASONING else layout.content
        for layout in format_.layouts.values()
        if part in layout.parts
    ]
    return bool(edges) and all(
        each.left is Strip.WHITESPACE and each.right is Strip.WHITESPACE for each in edges
    )
