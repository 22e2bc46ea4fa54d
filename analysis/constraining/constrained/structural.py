"""A structural tag as nodes of a grammar: free text up to what closes it, and what is bound.

A part is read into `Ways`: from the ways to go on after it to the ways to write it and go on. So
what closes free text is known where the free text is written, and fixed texts that meet are one
text, as an added token may lie across their border. Take any text and then `</a>`:
`free(())(fixed(("</a>",))(end))` is the one path `(Prose(), "</a>")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from llguidance import regex_to_lark

from autoparser.analysis.constraining.grammar.paths import Path, joined
from autoparser.analysis.constraining.grammar.rules import (
    NOTHING,
    GrammarRules,
    LiteralNode,
    Node,
    PatternNode,
    Prose,
    Ref,
    RepeatNode,
    choice,
    sequence,
)
from autoparser.analysis.constraining.grammar.table import RuleTable
from autoparser.analysis.loading.tokens import ModelTokenizer

from .constraint_errors import ConstraintError

__all__ = ["Arm", "Behind", "TagGrammar", "Ways"]

MOST_PATHS = 64
"""Ways to go on that are kept apart; more of them become a rule."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The ways to go on after a part."""

    paths: Sequence[Path] = ((),)
    last: bool = False
    """Whether the answer ends after them."""

    @property
    def nothing(self) -> bool:
        """Whether the answer ends here."""
        return self.last and list(self.paths) == [()]

    @property
    def closes(self) -> tuple[str, ...]:
        """The fixed texts that come next; empty where the answer ends or fits no free text.

        Raises ``ConstraintError`` where something else may come as well.
        """
        texts = tuple(path[0] for path in self.paths if path and isinstance(path[0], str))
        if texts and len(texts) < len(self.paths):
            raise ConstraintError(
                "free text and a regex need an end that is not empty", place="structural_tag"
            )
        return texts


Ways: TypeAlias = Callable[[Behind], list[Path]]


@dataclass(frozen=True, slots=True)
class Arm:
    """What is bound once ``trigger`` was written in free text."""

    trigger: str
    tags: tuple[tuple[str, Ways], ...]
    """The texts that may go on from the trigger, each with the trigger itself before it, and what
    follows each."""


class TagGrammar:
    """Makes the parts of one grammar, for one tokenizer."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.tokenizer = tokenizer
        self._table = RuleTable(tokenizer.opaque)
        self._dispatches = 0

    def rules(self, whole: Ways) -> GrammarRules:
        """Return the grammar of a whole answer. Raises ``ConstraintError``."""
        return GrammarRules(self._branch(whole(Behind(last=True))), self._table.named)

    def _branch(self, paths: Sequence[Path]) -> Node:
        return self._table.brancher.branch(paths)

    def fixed(self, options: Sequence[str]) -> Ways:
        """Write one of some texts; an empty one may stand among them."""
        return lambda behind: [
            joined(option, *path) for option in options for path in self._few(behind.paths)
        ]

    def _few(self, paths: Sequence[Path]) -> Sequence[Path]:
        return paths if len(paths) <= MOST_PATHS else [(self._branch(paths),)]

    def bound(self, node: Node) -> Ways:
        """Write what a node of a grammar writes."""
        return lambda behind: [joined(node, *path) for path in behind.paths]

    def matching(self, regex: str) -> Ways:
        """Write a text of a regex; where fixed text follows, up to the first time that it comes."""
        pattern = regex_to_lark(regex, use_ascii="")

        def ways(behind: Behind) -> list[Path]:
            free = Prose(may_be_empty=True, shapes=(pattern,))
            node = free if behind.closes else PatternNode(pattern)
            return [joined(node, *path) for path in behind.paths]

        return ways

    def free(self, excludes: Sequence[str]) -> Ways:
        """Write any text without ``excludes``, up to the fixed text that follows, if any."""
        return lambda behind: [
            joined(self._prose(behind, (), excludes), *path) for path in behind.paths
        ]

    def row(self, parts: Sequence[Ways]) -> Ways:
        """Write parts one after another."""

        def ways(behind: Behind) -> list[Path]:
            paths = behind.paths
            for part in reversed(parts):
                paths = part(Behind(paths, behind.last))
            return list(paths)

        return ways

    def either(self, parts: Sequence[Ways]) -> Ways:
        """Write one of some parts."""

        def ways(behind: Behind) -> list[Path]:
            if behind.nothing:
                return [path for part in parts for path in part(behind)]
            node = choice(*(self._branch(part(Behind())) for part in parts))
            return self.bound(node)(behind)

        return ways

    def repeated(
        self, part: Ways, least: int, most: int | None, separator: str | None = None
    ) -> Ways:
        """Write a part again and again; with a separator at least 0 or 1 times."""

        def ways(behind: Behind) -> list[Path]:
            node = self._branch(part(Behind(last=most == 1 and behind.nothing)))
            if separator is None:
                return self.bound(RepeatNode(node, least, most))(behind)
            more = NOTHING if most == 1 else RepeatNode(sequence(LiteralNode(separator), node))
            row = sequence(node, more)
            return self.bound(row if least else RepeatNode(row, 0, 1))(behind)

        return ways

    def dispatch(
        self,
        arms: Iterable[Arm],
        *,
        excludes: Sequence[str] = (),
        starts_with_arm: bool = False,
        once: bool = False,
    ) -> Ways:
        """Write free text in which triggers lead into arms.

        ``starts_with_arm``: an arm comes first, before any free text. ``once``: nothing but what
        stands after the whole follows the first arm.
        """
        cut = {trigger: tags for arm in arms for trigger, tags in self._cut_at_tokens(arm).items()}

        def ways(behind: Behind) -> list[Path]:
            prose = self._prose(behind, tuple(cut), excludes)
            rest = [joined(prose, *path) for path in behind.paths]
            if once:
                led = self._arms(cut, behind)
                return led if starts_with_arm else [*(joined(prose, *path) for path in led), *rest]
            self._dispatches += 1
            key = f"dispatch {self._dispatches}"

            def looped() -> Node:
                led = self._arms(cut, Behind([(again(),)]))
                return self._branch([*(joined(prose, *path) for path in led), *rest])

            def again() -> Ref:
                return self._table.rule(key, "text", looped)

            loop = again()
            return self._arms(cut, Behind([(loop,)])) if starts_with_arm else [(loop,)]

        return ways

    def _arms(self, cut: dict[str, list[tuple[str, Ways]]], behind: Behind) -> list[Path]:
        """Return the ways through the arms: after its trigger each is one node, and bound."""
        return [
            (
                trigger,
                self._branch([joined(rest, *path) for rest, body in tags for path in body(behind)]),
            )
            for trigger, tags in cut.items()
        ]

    def _cut_at_tokens(self, arm: Arm) -> dict[str, list[tuple[str, Ways]]]:
        """Let a trigger that ends inside an opaque token of a begin go on to that token's end.

        The model writes the whole token; its first characters alone never come.
        """
        cut: dict[str, list[tuple[str, Ways]]] = {}
        for begin, body in arm.tags:
            length = 0
            for piece in self.tokenizer.opaque.pieces(begin):
                size = len(self.tokenizer.opaque.texts[piece] if isinstance(piece, int) else piece)
                if length + size >= len(arm.trigger):
                    whole = isinstance(piece, int)
                    length = length + size if whole else len(arm.trigger)
                    break
                length += size
            cut.setdefault(begin[:length], []).append((begin[length:], body))
        return cut

    def _prose(self, behind: Behind, triggers: Sequence[str], excludes: Sequence[str]) -> Prose:
        """Return free text; what ends it, leads out of it or is kept out is not a token in it."""
        closes = behind.closes
        if not closes and not behind.nothing:
            raise ConstraintError(
                "free text has to be followed by fixed text, or by nothing",
                place="structural_tag",
                hint="put it into a tag with an end",
            )
        pieces = {text: self.tokenizer.opaque.pieces(text) for text in excludes}
        for text, cut in pieces.items():
            if len(cut) > 1:
                raise ConstraintError(
                    f"{text!r} cannot be excluded: it holds a token among other text",
                    place="structural_tag",
                )
        fixed = (*closes, *triggers, *excludes)
        reserved = {piece for text in fixed for piece in self.tokenizer.opaque.pieces(text)}
        kept = (
            token.id
            for token in self.tokenizer.added
            if token.opaque and not token.special and token.id not in self.tokenizer.eos_ids
        )
        tokens = tuple(token for token in kept if token not in reserved)
        return Prose(tuple(excludes), may_be_empty=True, tokens=tokens)
