"""All formats of a template: which of them a prompt or a setting belongs to is answered here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from autoparser.analysis.core.conversation import Json

from .shape import Opening
from .turn import TurnFormat


@dataclass(frozen=True, slots=True)
class Begun:
    """A format, and the generation prompt that begins its turns."""

    format: TurnFormat
    opening: Opening | None
    """None: no generation prompt is known, as where the template raises on being asked for one."""


@dataclass(frozen=True, slots=True)
class Formats:
    """One format for every setting of the switches that changes a turn, equal ones shared.

    Each format holds the openings of its settings; none is in two formats.
    """

    each: tuple[TurnFormat, ...]
    """The default's first."""
    base: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What is set by default: nothing, but where the template cannot be rendered without it."""
    fullest: TurnFormat = field(kw_only=True)
    """The format that shows most of a message: the default's, unless that keeps reasoning out."""
    untried: int = 0
    """Settings beyond the number that is tried."""

    @classmethod
    def of(cls, format_: TurnFormat) -> Formats:
        """Return the formats of a template whose switches change nothing."""
        return cls((format_,), format_.setting, fullest=format_)

    def __iter__(self) -> Iterator[TurnFormat]:
        """Go through the formats, the default's first."""
        return iter(self.each)

    def __len__(self) -> int:
        """Count the formats."""
        return len(self.each)

    @property
    def default(self) -> Begun:
        """What a prompt belongs to for which nothing was set, tools being offered."""
        return self.under(self.base) or Begun(self.each[0], None)

    @property
    def openings(self) -> tuple[Opening, ...]:
        """Every setting's generation prompt, the default's first."""
        return tuple(opening for each in self.each for opening in each.openings)

    @property
    def united(self) -> TurnFormat:
        """The fullest format with every setting's openings, to be looked at as a whole."""
        return replace(self.fullest, openings=self.openings)

    def under(self, setting: Mapping[str, Json], *, tools: bool = True) -> Begun | None:
        """Find what belongs to exactly this setting; None where it was not learnt.

        Switches that change neither a turn nor its beginning make no difference.

        `tools` says whether tools are offered, where that changes the generation prompt.
        """
        told = {name for opening in self.openings for name in opening.setting}
        wanted = _key({**self.base, **{name: setting[name] for name in setting if name in told}})
        found = [
            Begun(each, opening)
            for each in self.each
            for opening in each.openings
            if _key(opening.setting) == wanted
        ]
        return next(
            (begun for begun in found if begun.opening and begun.opening.tools is tools),
            found[0] if found else None,
        )

    def behind(self, prompt: str) -> tuple[Begun, ...]:
        """Find what a rendered prompt, or any tail of it, may belong to, by how it ends.

        Of the openings that it ends with, the longest one counts; formats whose openings are
        alike are all given, the default's first, unless what stands before tells them apart.
        None where it ends with no opening.
        """
        found: list[Begun] = []
        longest = 0
        for each in self.each:
            best = ending(each, prompt)
            if best is None:
                continue
            size = len(best.text.rstrip())
            if size > longest:
                found, longest = [], size
            if size == longest:
                found.append(Begun(each, best))
        told = [each for each in found if each.opening and _signed(each.opening, prompt)]
        return tuple(told if len(found) > 1 and told else found)

    def within(self, prompt: str) -> tuple[Begun, ...]:
        """Find what a prompt may belong to that has gone on after a generation prompt.

        The opening counts that begins last in it, of several the longest one.
        """
        found: list[tuple[int, int, Begun]] = []
        for each in self.each:
            for opening in each.openings:
                core = opening.text.strip()
                at = prompt.rfind(core) if any(map(str.isalnum, core)) else -1
                if at >= 0:
                    found.append((at, len(core), Begun(each, opening)))
        last = max((place[:2] for place in found), default=None)
        latest: dict[int, Begun] = {}
        for at, size, begun in found:
            if (at, size) == last:
                latest.setdefault(id(begun.format), begun)
        return tuple(latest.values())

    @property
    def alike(self) -> tuple[tuple[Begun, ...], ...]:
        """Return the groups of formats that a generation prompt's text does not tell apart."""
        texts = dict.fromkeys(opening.text for opening in self.openings if opening.text.strip())
        groups = (self.behind(text) for text in texts)
        return tuple(group for group in groups if len(group) > 1)


def ending(format_: TurnFormat, prompt: str) -> Opening | None:
    """Find the longest of a format's openings that a prompt ends with; None where there is none."""
    end = prompt.rstrip()
    fitting = [
        opening
        for opening in (*format_.openings, *format_.later_openings)
        if (core := opening.text.rstrip()) and end.endswith(core)
    ]
    return max(fitting, key=lambda opening: len(opening.text.rstrip()), default=None)


def _signed(opening: Opening, prompt: str) -> bool:
    return bool(opening.signs) and all(sign in prompt for sign in opening.signs)


def _key(setting: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Tell settings apart by their texts, since to Python true is 1."""
    return tuple(sorted((name, repr(value)) for name, value in setting.items()))


def written_alike(one: TurnFormat, other: TurnFormat) -> bool:
    """Whether two formats differ in their settings and openings alone."""
    return replace(one, openings=(), setting={}) == replace(other, openings=(), setting={})


def share(formats: list[TurnFormat]) -> list[TurnFormat]:
    """Put formats together that differ in their settings and openings alone."""
    shared: list[TurnFormat] = []
    for each in formats:
        for at, other in enumerate(shared):
            if written_alike(other, each):
                shared[at] = replace(other, openings=(*other.openings, *each.openings))
                break
        else:
            shared.append(each)
    return shared
