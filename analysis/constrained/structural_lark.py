"""A structural tag as a grammar of llguidance, in the idioms that are fast and that work.

A lexeme of llguidance is greedy, so free text is always written together with what ends it:

- an opaque added token: ``TEXT <[id]>``, the fastest;
- text: one lazy lexeme, ``TEXT "text"`` up to its first occurrence;
- text before an opaque token: a lexeme that ends in that text, then ``<[id]>``.

Free text takes the added tokens that decoding keeps (they are text to a reader) but those that end
or lead out of it; tokens that decoding drops and ends of the answer are not part of a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from llguidance import regex_to_lark

from autoparser.analysis.tokens import ModelTokenizer

from .ebnf import lark_grammar
from .errors import ConstraintError
from .literals import lark_literal, lark_regex_text, lark_string
from .structural import (
    Arm,
    Choice,
    Dispatch,
    Free,
    Json,
    Part,
    Pattern,
    Repeat,
    Row,
    Subgrammar,
    Text,
)

__all__ = ["structural_grammar"]

ANY = r"/(.|\n)*/"


def structural_grammar(tag: Part, tokenizer: ModelTokenizer) -> str:
    """Write a structural tag as a grammar that ``LLMatcher`` takes (JSON with Lark inside).

    Raises ``ConstraintError`` where free text is not followed by fixed text.
    """
    writer = _Writer(tokenizer)
    start = writer.expression(tag, last=True)
    lark = "\n".join(["%llguidance {}", f"start: {start}", *writer.rules, ""])
    grammars = [{"lark_grammar": lark}]
    for name, text in writer.subgrammars.items():
        grammars.append({"name": name, "lark_grammar": text})
    return json.dumps({"grammars": grammars}, ensure_ascii=False)


class _Writer:
    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.tokenizer = tokenizer
        self.opaque = tokenizer.opaque
        self.rules: list[str] = []
        self.subgrammars: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def expression(self, part: Part, *, last: bool) -> str:
        """Write ``part``; ``last`` if the answer ends where it ends."""
        row = list(_merged(_flat(part)))
        written: list[str] = []
        while row:
            first = row.pop(0)
            if not isinstance(first, Free | Dispatch | Pattern):
                written.append(self._bound(first, last=last and not row))
                continue
            ends: tuple[str, ...] = ()
            if row and isinstance(row[0], Text):
                ends = row[0].options
                del row[0]
                _check_ends(ends)
            elif not isinstance(first, Pattern) and (row or not last):
                raise ConstraintError(
                    "free text has to be followed by fixed text, or by nothing",
                    place="structural_tag",
                    hint="put it into a tag with an end",
                )
            written.append(self._unbound(first, ends, last=last))
        return " ".join(written) or '""'

    def _bound(self, part: Part, *, last: bool) -> str:
        match part:
            case Text(options):
                return _either(lark_literal(option, self.opaque) for option in options)
            case Json(schema):
                return f"%json {json.dumps(schema, ensure_ascii=False)}"
            case Subgrammar(text):
                name = f"sub_{len(self.subgrammars) + 1}"
                self.subgrammars[name] = lark_grammar(text, self.opaque)
                return f"@{name}"
            case Choice(parts):
                return _either(self.expression(part, last=last) for part in parts)
            case Repeat():
                return self._repeat(part, last=last)
            case _:
                raise AssertionError(part)

    def _repeat(self, part: Repeat, *, last: bool) -> str:
        inner = self._rule(self.expression(part.part, last=last and part.most == 1))
        if not part.separator:
            most = "" if part.most is None else part.most
            return f"{inner}{{{part.least},{most}}}"
        again = "" if part.most == 1 else f" ({lark_literal(part.separator, self.opaque)} {inner})*"
        return f"{inner}{again}" if part.least else f"({inner}{again})?"

    def _unbound(
        self, part: Free | Dispatch | Pattern, ends: tuple[str, ...], *, last: bool
    ) -> str:
        if isinstance(part, Pattern):
            return self._until(_regex(part), ends) if ends else _regex(part)
        if isinstance(part, Free):
            text = self._text(part.excludes)
            skip = self._skip(text, ends, part.excludes)
            return f"{skip} {self._until(text, ends) if ends else text}"
        return self._dispatch(part, ends, last=last)

    def _dispatch(self, part: Dispatch, ends: tuple[str, ...], *, last: bool) -> str:
        arms = [split for arm in part.arms for split in self._cut_at_tokens(arm)]
        triggers = tuple(trigger for trigger, _ in arms)
        text = self._text(part.excludes)
        skip = self._skip(text, (*triggers, *ends), part.excludes)
        last = last and part.once and not ends
        bodies = [self._rule(self._bodies(going_on, last=last)) for _, going_on in arms]
        led = _either(
            f"{self._until(text, (trigger,))} {body}"
            for trigger, body in zip(triggers, bodies, strict=True)
        )
        direct = _either(
            f"{lark_literal(trigger, self.opaque)} {body}"
            for trigger, body in zip(triggers, bodies, strict=True)
        )
        rest = f"{skip} {self._until(text, ends) if ends else text}"
        end = _either(lark_literal(end, self.opaque) for end in ends) if ends else ""
        if part.once:
            return f"{direct} {end}" if part.starts_with_arm else f"({skip} {led} {end} | {rest})"
        looped = f"({skip} {led})* {rest}"
        return f"{direct} {looped}" if part.starts_with_arm else looped

    def _bodies(self, going_on: list[tuple[str, Part]], *, last: bool) -> str:
        return _either(
            self.expression(Row((Text((rest,)), body)), last=last) for rest, body in going_on
        )

    def _cut_at_tokens(self, arm: Arm) -> Iterator[tuple[str, list[tuple[str, Part]]]]:
        """Let a trigger that ends inside an added token of a begin go on to that token's end.

        The model writes the whole token; its first characters alone never come.
        """
        cut: dict[str, list[tuple[str, Part]]] = {}
        for begin, body in zip(arm.begins, arm.bodies, strict=True):
            length = 0
            for piece in self.opaque.pieces(begin):
                size = len(self.opaque.texts[piece] if isinstance(piece, int) else piece)
                if length + size >= len(arm.trigger):
                    whole = isinstance(piece, int)
                    length = length + size if whole else len(arm.trigger)
                    break
                length += size
            cut.setdefault(begin[:length], []).append((begin[length:], body))
        yield from cut.items()

    def _until(self, text: str, ends: tuple[str, ...]) -> str:
        """Write ``text`` (a regex, or a terminal) up to the first of ``ends``, with that end."""
        return _either(self._until_one(text, end) for end in ends)

    def _until_one(self, text: str, end: str) -> str:
        head, *rest = (*self.opaque.pieces(end), "")
        if isinstance(head, int):
            return f"{text} {lark_literal(end, self.opaque)}"
        if rest == [""]:
            return self._rule(f"{text} {lark_string(head)}", modifier="[lazy]")
        behind = lark_literal(end[len(head) :], self.opaque)
        return f"{self._terminal(f'{text} {lark_string(head)}')} {behind}"

    def _text(self, excludes: tuple[str, ...]) -> str:
        """Give the terminal of any text without ``excludes``."""
        banned: list[str] = []
        for exclude in excludes:
            pieces = self.opaque.pieces(exclude)
            if len(pieces) > 1:
                raise ConstraintError(
                    f"{exclude!r} cannot be excluded: it holds a token among other text",
                    place="structural_tag",
                )
            banned += [lark_regex_text(piece) for piece in pieces if isinstance(piece, str)]
        without = rf" & ~/(.|\n)*({'|'.join(banned)})(.|\n)*/" if banned else ""
        return self._terminal(f"{ANY}{without}")

    def _skip(self, text: str, ends: Iterable[str], excludes: Iterable[str]) -> str:
        """Write the added tokens that free text may hold, each with the text before it."""
        reserved = {
            piece
            for fixed in (*ends, *excludes)
            for piece in self.opaque.pieces(fixed)
            if isinstance(piece, int)
        }
        taken = [
            token.id
            for token in self.tokenizer.added
            if token.opaque
            and not token.special
            and token.id not in reserved
            and token.id not in self.tokenizer.eos_ids
        ]
        return f"({text} <[{_ranges(taken)}]>)*" if taken else ""

    def _rule(self, body: str, modifier: str = "") -> str:
        return self._named(f"{modifier}: {body}", "part")

    def _terminal(self, body: str) -> str:
        return self._named(f": {body}", "TEXT")

    def _named(self, body: str, kind: str) -> str:
        """Give the name of a rule; equal ones share it."""
        if body not in self._known:
            self._known[body] = f"{kind}_{len(self._known) + 1}"
            self.rules.append(f"{self._known[body]}{body}")
        return self._known[body]


def _flat(part: Part) -> Iterator[Part]:
    if isinstance(part, Row):
        for inner in part.parts:
            yield from _flat(inner)
    elif part != Text(("",)):
        yield part


def _merged(parts: Iterable[Part]) -> Iterator[Part]:
    """Join fixed texts that stand side by side: an added token may lie across their border."""
    before: Text | None = None
    for part in parts:
        if isinstance(part, Text) and before is not None:
            joined = (own + next_ for own in before.options for next_ in part.options)
            before = Text(tuple(joined))
            continue
        if before is not None:
            yield before
        before = part if isinstance(part, Text) else None
        if before is None:
            yield part
    if before is not None:
        yield before


def _check_ends(ends: tuple[str, ...]) -> None:
    if "" in ends:
        raise ConstraintError(
            "free text and a regex need an end that is not empty", place="structural_tag"
        )


def _regex(part: Pattern) -> str:
    return f"/{regex_to_lark(part.regex, use_ascii='')}/"


def _either(options: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(options))
    return distinct[0] if len(distinct) == 1 else "(" + " | ".join(distinct) + ")"


def _ranges(ids: list[int]) -> str:
    """Write ids as Lark does: ``1,4-6``."""
    runs: list[list[int]] = []
    for number in sorted(ids):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
