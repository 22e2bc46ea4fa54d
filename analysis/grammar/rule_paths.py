"""Turn ways to write something into nodes of rules; common beginnings are written once.

A way is a row of texts, nodes and free texts. Readers of grammars look at text from the left and
some never backtrack, so alternatives have to part exactly where they differ. Free text
takes everything up to a closing text, so its close stands with it. `Brancher` makes nodes of ways.
`RuleTable` (rule_table.py) names the rules.

Two ways part where they differ, unless a tokenizer has one token there:

    >>> brancher = Brancher(OpaqueTokens())
    >>> node = brancher.branch([("<call>a",), ("<call>b",)])
    >>> options = choice_node(LiteralNode("a"), LiteralNode("b"))
    >>> node == sequence_node(LiteralNode("<call>"), options)
    True
    >>> brancher = Brancher(OpaqueTokens({"<call>": 7, "<calls>": 8}))
    >>> brancher.branch([("<call>",), ("<calls>",)])
    ChoiceNode(options=(LiteralNode(text='<call>'), LiteralNode(text='<calls>')))
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TypeAlias

from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.turn_parts import EdgeStrip
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .grammar_rules import (
    NOTHING,
    ChoiceNode,
    FreeProse,
    FreeTextNode,
    LiteralNode,
    Node,
    PatternNode,
    ProseExit,
    RuleReference,
    choice_node,
    sequence_node,
)

Item: TypeAlias = str | Node | FreeProse
Path: TypeAlias = tuple[Item, ...]


def join_path(*items: Item) -> Path:
    """Return a path: adjacent texts are joined, empty ones dropped."""
    path: list[Item] = []
    last: Item = ""
    for item in items:
        if isinstance(item, str):
            if not item:
                continue
            if path and isinstance(last, str):
                path[-1] = last = last + item
                continue
        path.append(item)
        last = item
    return tuple(path)


def join_paths(first: Path, second: Path) -> Path:
    """Return one path followed by another."""
    if first and second and isinstance(first[-1], str) and isinstance(second[0], str):
        return (*first[:-1], first[-1] + second[0], *second[1:])
    return (*first, *second)


class Brancher:
    """Makes nodes of paths. Some texts are never cut: they are one token of a tokenizer."""

    def __init__(self, opaque: OpaqueTokens) -> None:
        """Store the tokens that are never cut."""
        self.opaque = opaque
        self._units: dict[str, list[str]] = {}
        self._pairs: dict[tuple[str, str], str] = {}
        """Cached common beginnings of two texts."""
        self._branch_nodes: dict[Hashable, Node] = {}
        """Nodes by their paths and marks: the same may follow several parts of a turn."""

    def units(self, text: str) -> list[str]:
        """Split a text into indivisible units: single characters, and the texts that stay whole."""
        known = self._units.get(text)
        if known is None:
            known = self._units[text] = []
            for piece in self.opaque.pieces(text):
                known += [self.opaque.texts[piece]] if isinstance(piece, int) else piece
        return known

    def shared(self, texts: Sequence[str]) -> str:
        """Return the longest common beginning of texts that cuts no token."""
        if len(texts) == 1:
            return texts[0]
        if len(texts) != 2:  # noqa: PLR2004 - the same two come again and again
            return self._shared(texts)
        pair = (texts[0], texts[1])
        known = self._pairs.get(pair)
        if known is None:
            known = self._pairs[pair] = self._shared(texts)
        return known

    def _shared(self, texts: Sequence[str]) -> str:
        for pieces in map(self.opaque.pieces, texts):
            if len(pieces) > 1 or (pieces and isinstance(pieces[0], int)):
                break  # a token
        else:
            # A prefix of the smallest and the largest text is a prefix of all.
            least, most = min(texts, default=""), max(texts, default="")
            return least[: prefix_length(least, most)]
        # Cut within a marker, its token could not be written.
        rows = [self.units(text) for text in texts]
        same = takewhile(lambda units: len(set(units)) == 1, zip(*rows, strict=False))
        return "".join(units[0] for units in same)

    def begins(self, text: str, beginning: str) -> bool:
        """Return whether a text begins with another one, without a cut within a token."""
        return text.startswith(beginning) and self.shared([text, beginning]) == beginning

    def branch(self, paths: Sequence[Path], marks: Sequence[str] = ()) -> Node:
        """Return the node that writes any of the paths.

        `marks` are texts that end free text wherever they stand: closes may part after them.
        """
        rest = list(dict.fromkeys(paths))
        if not marks:
            return self._branched(rest, marks)
        key = (*rest, *marks)
        known = self._branch_nodes.get(key)
        if known is None:
            known = self._branch_nodes[key] = self._branched(rest, marks)
        return known

    def _branched(self, rest: Sequence[Path], marks: Sequence[str]) -> Node:
        # Free text takes everything up to a close, so the other ways are exits of the same place.
        for path in rest:
            if path and isinstance(path[0], FreeProse):
                return FreeTextNode(tuple(self._exits(rest, marks)))
        if len(rest) == 1:
            return self._alone(rest[0], marks)
        rest = self._cut_behind_nodes(rest, marks)
        options: list[Node] = []
        words = [path[0] for path in rest if path and isinstance(path[0], PatternNode)]
        # Ways with one beginning share it, and branch behind it.
        for same in self._parted(rest, words):
            first = same[0][:1]
            if not first:
                # One way ends here.
                options.append(NOTHING)
            elif len(same) == 1:
                options.append(self._alone(same[0], marks))
            elif isinstance(first[0], str):
                text = self.shared([str(path[0]) for path in same])
                follows = self.branch([without_prefix(path, text) for path in same], marks)
                options.append(sequence_node(LiteralNode(text), follows))
            elif not isinstance(first[0], FreeProse):
                follows = self.branch([path[1:] for path in same], marks)
                options.append(sequence_node(first[0], follows))
        return choice_node(*options)

    def _alone(self, path: Path, marks: Sequence[str]) -> Node:
        """Return the node of a path without alternatives."""
        if len(path) == 1 and isinstance(path[0], ChoiceNode | RuleReference):
            return path[0]
        nodes: list[Node] = []
        for at, item in enumerate(path):
            # A free text is one node with its close and all behind that.
            if isinstance(item, FreeProse):
                nodes.append(self.branch([path[at:]], marks))
                break
            nodes.append(LiteralNode(item) if isinstance(item, str) else item)
        return sequence_node(*nodes)

    def _cut_behind_nodes(self, paths: Sequence[Path], marks: Sequence[str]) -> Sequence[Path]:
        """Cut the text behind a node where that behind another one in its place ends.

        Both may write the same, and readers that take the longest text would not backtrack from
        `<end>` to the `<` that goes on otherwise.
        """
        texts = [
            path[1]
            if len(path) > 1 and not isinstance(path[0], str) and isinstance(path[1], str)
            else ""
            for path in paths
        ]
        behind = sorted({*texts} - {""}, key=len)
        cuts: dict[str, str] = {}
        for text in behind[1:]:
            cut = next((other for other in behind if self.begins(text, other)), text)
            if cut != text:
                cuts[text] = cut
        if not cuts:
            return paths
        found: list[Path] = []
        for path, text in zip(paths, texts, strict=True):
            if text in cuts:
                cut = cuts[text]
                rest = self._alone(without_prefix(path[1:], cut), marks)
                # In a choice of one, so that the two texts are not joined again.
                path = (path[0], cut, ChoiceNode((rest,)))  # noqa: PLW2901
            found.append(path)
        return found

    def _parted(
        self, paths: Sequence[Path], words: Sequence[PatternNode]
    ) -> Iterable[Sequence[Path]]:
        """Group the paths that begin alike, if only with one unit of their text.

        A text that one of the patterns beside it could also match is not cut there: readers that
        take the longest match would go on with the pattern.
        """
        found: dict[Item | None, list[Path]] = {}
        for path in paths:
            found.setdefault(self._front(path, words), []).append(path)
        return found.values()

    def _front(self, path: Path, words: Sequence[PatternNode]) -> Item | None:
        """Return the item by which a path parts from others: a unit of text, a word, a node."""
        head = path[0] if path else None
        if not isinstance(head, str):
            return head
        if words:
            found = [re.match(word.regex, head) for word in words]
            longest = max((match.end() for match in found if match), default=0)
            if longest:
                # With the character that distinguishes the text from the pattern.
                return head[: longest + 1]
        first = self.opaque.pieces(head)[0]
        return first[0] if isinstance(first, str) else self.opaque.texts[first]

    def _exits(self, paths: Sequence[Path], marks: Sequence[str]) -> Iterator[ProseExit]:
        """Group paths by their free text, and by its close."""
        groups: list[tuple[FreeProse | None, list[Path]]] = []
        by_prose: dict[FreeProse | None, list[Path]] = {}
        for prose, path in map(_opened, _alike_text(paths)):
            by_prose.setdefault(prose, []).append(path)
        for prose, closes in by_prose.items():
            left = closes
            while left:
                group = self._closed_alike(left, marks)
                taken = set(group)
                left = [path for path in left if path not in taken]
                groups.append((prose, group))
        texts = [self.shared([leading_text(path) for path in group]) for _, group in groups]
        for (prose, group), text in zip(groups, texts, strict=True):
            # A reader sees the shorter of two closes with a common prefix first: join their exits.
            cut = min(
                (
                    shared
                    for (other, _), shared in zip(groups, texts, strict=True)
                    if shared and text.startswith(shared) and not _apart(prose, other, shared)
                ),
                key=len,
                default="",
            )
            behind = [without_prefix(path, cut) if cut else path for path in group]
            yield ProseExit(prose, cut, self.branch(behind, marks))

    def _closed_alike(self, paths: Sequence[Path], marks: Sequence[str]) -> list[Path]:
        """Return the paths that close like the first one: the same text up to and with a mark.

        If one close begins another, every reader takes the shorter one.
        """
        text = leading_text(paths[0])
        if not text:
            return [path for path in paths if not leading_text(path)]
        ends = [at + len(mark) for mark in marks if mark and (at := text.find(mark)) >= 0]
        stem = text[: min(ends)] if ends else text
        group = [paths[0]]
        for path in sorted(paths[1:], key=lambda path: len(leading_text(path))):
            shared = self.shared([leading_text(path), text])
            # From the shortest on, so that a close that begins others is seen before them.
            if shared and (shared.startswith(stem) or shared == leading_text(path)):
                group.append(path)
                stem = min(stem, shared, key=len)
        return group


def _alike_text(paths: Sequence[Path]) -> list[Path]:
    """Exclude the same texts from free texts that begin at one place, so that they are one."""
    proses = list(
        dict.fromkeys(path[0] for path in paths if path and isinstance(path[0], FreeProse))
    )
    if len(proses) < 2:  # noqa: PLR2004 - one text is the same as itself
        return list(paths)
    # A reader cannot distinguish texts that only exclude different things.
    same = {replace(prose, exclude=()) for prose in proses}
    kept_out = {
        bare: tuple(
            dict.fromkeys(
                text
                for prose in proses
                if replace(prose, exclude=()) == bare
                for text in prose.exclude
            )
        )
        for bare in same
    }
    return [
        (replace(path[0], exclude=kept_out[replace(path[0], exclude=())]), *path[1:])
        if path and isinstance(path[0], FreeProse)
        else path
        for path in paths
    ]


def _apart(one: FreeProse | None, other: FreeProse | None, text: str) -> bool:
    """Return whether free text cannot begin with the text that stands in its place."""
    proses = [prose for prose in (one, other) if prose is not None]
    if len(proses) != 1 or proses[0].may_be_empty:
        return False
    return proses[0].left is EdgeStrip.WHITESPACE and text[0].isspace()


def distinct_paths(paths: Sequence[Path]) -> list[Path]:
    """Remove duplicate paths."""
    return list(dict.fromkeys(paths))


def without_prefix(path: Path, text: str) -> Path:
    """Remove a text from the front of a path that begins with it, or with a node."""
    head = path[0]
    if not isinstance(head, str):
        return path
    return (head[len(text) :], *path[1:]) if len(head) > len(text) else path[1:]


def _opened(path: Path) -> tuple[FreeProse | None, Path]:
    """Split a path into its leading free text and the rest."""
    if path and isinstance(path[0], FreeProse):
        return path[0], path[1:]
    return None, path


def leading_text(path: Path) -> str:
    """Return the text that a path begins with; empty if a node leads.

    Behind free text it is the close.
    """
    head = path[0] if path else ""
    return head if isinstance(head, str) else ""


def path_nodes(paths: Iterable[Path]) -> Iterator[Node]:
    """Return the nodes of paths, without texts and free texts."""
    for path in paths:
        for item in path:
            if not isinstance(item, str | FreeProse):
                yield item
