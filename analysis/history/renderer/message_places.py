"""Where in a render the texts of its messages stand, found by rendering them again with marks.

Contract: what is found is checked. A marked render counts only if it is the plain render once
its marks are taken out. Where a template looks at a text and so writes something else, the
texts are marked in another style, then each kind of text for itself, then each text; a text
that cannot be marked at all is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.loading.template import REASONING_FIELDS

from .history_renders import HistoryRenders, Message, Messages
from .leaves import LeafKind, Path, leaves, replaced
from .text_marks import Marks, Run, Style


@dataclass(frozen=True, slots=True)
class Places:
    """The stretches of one render that came from its messages' texts."""

    marks: Marks
    styles: Mapping[int, Style]
    """How each text was marked; a text that is not here cannot be."""
    runs: tuple[Run, ...]
    """In the order of the render, none of them touching another's characters."""

    def marked(self, messages: Messages) -> list[Message]:
        """Return these messages, or the first of them, with marks in their texts."""
        return replaced(messages, self._texts(len(messages)))

    def read(self, marked: str) -> tuple[str, list[Run]]:
        """Take the marks out of a render: its text, and what came from the messages' texts."""
        text, found = self.marks.read(marked)
        return text, self.marks.runs(text, found, self.styles)

    def _texts(self, count: int) -> dict[tuple[int, Path], str]:
        leaves = self.marks.leaves
        known = {at: style for at, style in self.styles.items() if leaves[at].message < count}
        return _texts(self.marks, known)

    def message(self, run: Run) -> int:
        """Say which message a stretch came from."""
        return self.marks.leaves[run.leaf].message


def find_places(
    renders: HistoryRenders,
    messages: Messages,
    text: str,
    *,
    generation: bool,
    reasoning_fields: Sequence[str] = REASONING_FIELDS,
) -> Places:
    """Find the texts of `messages` in `text`, their render."""
    search = _Search(renders, messages, text, generation, reasoning_fields)
    search.mark_all()
    search.widen()
    return _own(Places(search.marks, search.styles, _apart(search.runs)), renders, messages)


def _own(places: Places, renders: HistoryRenders, messages: Messages) -> Places:
    """Leave out what a later message repeats of an earlier one, such as the name of a call.

    How often a message writes a text itself shows where the conversation ends with it.
    """
    repeated = [leaf for leaf, times in Counter(r.leaf for r in places.runs).items() if times > 1]
    allowed: dict[int, int] = {}
    for leaf in repeated:
        count = places.marks.leaves[leaf].message + 1
        marked = renders.attempt(places.marked(messages[:count]))
        if marked is not None:
            _, runs = places.read(marked)
            allowed[leaf] = max(1, sum(run.leaf == leaf for run in runs))
    if not allowed:
        return places
    seen: Counter[int] = Counter()
    kept: list[Run] = []
    for run in places.runs:
        seen[run.leaf] += 1
        if seen[run.leaf] <= allowed.get(run.leaf, seen[run.leaf]):
            kept.append(run)
    return Places(places.marks, places.styles, tuple(kept))


class _Search:
    """Marks texts until each is found or cannot be."""

    def __init__(
        self,
        renders: HistoryRenders,
        messages: Messages,
        text: str,
        generation: bool,
        reasoning_fields: Sequence[str],
    ) -> None:
        self.leaves = leaves(messages, reasoning_fields)
        self.marks = Marks(self.leaves, renders.template.text + text)
        self.styles: dict[int, Style] = {}
        self.runs: list[Run] = []
        self._renders = renders
        self._messages = messages
        self._text = text
        self._generation = generation

    def mark_all(self) -> None:
        """Mark all texts at once if that can be, else in smaller and smaller groups."""
        everything = range(len(self.leaves))
        if not everything or self._found(everything):
            return
        for kind in LeafKind:
            group = [leaf for leaf in everything if self.leaves[leaf].kind is kind]
            if group and not self._found(group):
                for leaf in group:
                    self._found([leaf])

    def widen(self) -> None:
        """Count the whitespace at a text's edges in, where the template keeps it."""
        padded = [run.leaf for run in self.runs if self._padded(run)]
        for kind in LeafKind:
            group = {leaf for leaf in padded if self.leaves[leaf].kind is kind}
            runs = self._try(dict.fromkeys(group, Style.OUTER)) if group else None
            if runs is not None:
                self.styles |= dict.fromkeys(group, Style.OUTER)
                self.runs = [run for run in self.runs if run.leaf not in group] + runs

    def _padded(self, run: Run) -> bool:
        whole = self.leaves[run.leaf].text
        if self.styles[run.leaf] is not Style.EDGES or whole == whole.strip():
            return False
        before, behind = self._text[: run.start], self._text[run.end :]
        return before[-1:] == whole[0] or behind[:1] == whole[-1]

    def _found(self, group: Iterable[int]) -> bool:
        for style in (Style.EDGES, Style.MIDDLE):
            styles = dict.fromkeys(group, style)
            runs = self._try(styles)
            if runs is not None:
                self.styles |= styles
                self.runs += runs
                return True
        return False

    def _try(self, styles: Mapping[int, Style]) -> list[Run] | None:
        """Render with marks; None where that is another text."""
        texts = _texts(self.marks, styles)
        marked = self._renders.attempt(replaced(self._messages, texts), generation=self._generation)
        if marked is None:
            return None
        text, found = self.marks.read(marked)
        return self.marks.runs(text, found, styles) if text == self._text else None


def _texts(marks: Marks, styles: Mapping[int, Style]) -> dict[tuple[int, Path], str]:
    return {
        (marks.leaves[leaf].message, marks.leaves[leaf].path): marks.put(leaf, style)
        for leaf, style in styles.items()
    }


def _apart(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Sort runs; of characters that two of them claim, the first keeps them."""
    kept: list[Run] = []
    end = 0
    for run in sorted(runs, key=lambda run: (run.start, run.end)):
        start = max(run.start, end)
        if run.end > start:
            kept.append(Run(start, run.end, run.leaf))
            end = run.end
    return tuple(kept)
