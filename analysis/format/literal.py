"""Text that a template writes, and what of it a reader may notice."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.alignment import edge_units


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that the template writes, the whitespace at its edges apart."""

    before: str = ""
    core: str = ""
    after: str = ""

    @classmethod
    def of(cls, text: str) -> Literal:
        """Cut a text into its core and its edges; all of a text without a core is before it."""
        core = text.strip()
        if not core:
            return cls(before=text)
        start = text.index(core[0])
        return cls(text[:start], core, text[start + len(core) :])

    @property
    def text(self) -> str:
        """All that is written."""
        return f"{self.before}{self.core}{self.after}"

    @property
    def units(self) -> tuple[str, ...]:
        """The parts of the core between which a model may put whitespace."""
        return tuple(unit.strip() for unit in edge_units(self.core) if unit.strip())

    @property
    def mark(self) -> str:
        """The core, where it is noticed in a text; empty where it is only punctuation."""
        return self.core if any(map(str.isalnum, self.core)) else ""


@dataclass(frozen=True, slots=True)
class Block:
    """What opens and closes reasoning or content."""

    open: Literal
    close: Literal
    others: tuple[Literal, ...] = ()
    """Literals that open it beside other parts."""
    leads: bool = False
    """The turn begins with it, and nothing opens it."""
    empty: str | None = None
    """Whitespace behind it where it is empty; None: the template writes no empty block."""

    def opened_by(self, prompt: str) -> str | None:
        """Give the whitespace that is missing behind a prompt that opens it at its very end.

        None where it opens nothing. The front of a generation prompt varies: behind the result of
        a call some templates write no header.
        """
        core = prompt.rstrip()
        if not self.open.mark or not core.endswith(self.open.mark):
            return None
        space, after = prompt[len(core) :], self.open.after
        return after[len(space) :] if after.startswith(space) else ""
