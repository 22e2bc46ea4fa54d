r"""All formats of a template, and which of them belongs to a prompt or a setting.

`Formats` holds one format for every setting of the switches. Under `enable_thinking=False` a prompt
may end with `<think></think>`, and then its format is the one with this opening:

    >>> from autoparser import analyze, load_template
    >>> formats = analyze(load_template("fixtures/templates/a1-function-parameter.jinja")).formats
    >>> prompt = "…<|im_start|>assistant\n<think>\n\n</think>\n\n"
    >>> [match.opening.setting for match in formats.behind(prompt)]
    [{'enable_thinking': False}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from .conversation import Json
from .turn_format import TurnFormat
from .turn_parts import TurnPart
from .turn_shape import TurnOpening


class PromptFormat(Struct, frozen=True):
    """A format with the generation prompt that begins its turns."""

    format: TurnFormat
    r"""The format of the turn after the prompt, such as
    `<TurnFormat: '<|im_start|>assistant\n' reasoning, content, calls until '<|im_end|>'>`."""
    opening: TurnOpening | None
    r"""The generation prompt, such as the one with the text `"<|im_start|>assistant\n"`, or None if
    it is unknown, as when the template raises on it."""


class Formats(Struct, frozen=True):
    """One format for every setting of the switches that changes a turn, equal ones shared.

    A format has the openings of all its settings; no opening is in two formats.
    """

    distinct: tuple[TurnFormat, ...]
    r"""The formats, the default setting's first, such as
    `(<TurnFormat: '<|turn>model\n' content, calls until '<turn|>'>,)`."""
    base: Mapping[str, Json]
    """The default setting: empty unless the template cannot be rendered without some value."""
    fullest: TurnFormat
    """The format with most parts: the default setting's, unless it omits reasoning, such as
    `<TurnFormat: 'Assistant:' content>` of a template without calls and reasoning."""
    untried: int = 0
    """The number of settings that were not tried, beyond the limit, such as `28`."""

    @classmethod
    def of(cls, format_: TurnFormat) -> Formats:
        """Return the formats of a template whose switches change nothing."""
        return cls((format_,), format_.setting, fullest=format_)

    def __repr__(self) -> str:
        """Return the number of formats and the default one in one line."""
        return f"<{type(self).__name__}: {len(self)}, by default {self.default.format!r}>"

    def __iter__(self) -> Iterator[TurnFormat]:
        """Iterate over the formats, the default setting's first."""
        return iter(self.distinct)

    def __len__(self) -> int:
        """Return the number of formats."""
        return len(self.distinct)

    @property
    def default(self) -> PromptFormat:
        """The format and the generation prompt of the default setting, with tools offered."""
        return self.under(self.base) or PromptFormat(self.distinct[0], None)

    @property
    def openings(self) -> tuple[TurnOpening, ...]:
        """The generation prompts of all settings, the default setting's first."""
        return tuple(opening for format_ in self.distinct for opening in format_.openings)

    @property
    def united(self) -> TurnFormat:
        """The fullest format with the openings of all settings, for reports."""
        return replace(self.fullest, openings=self.openings)

    @property
    def lacks_parts(self) -> bool:
        """Whether no turn shows calls, or none shows reasoning, so that tokens may suggest them."""
        return not {TurnPart.REASONING, TurnPart.CALLS} <= self.united.shown_parts

    def under(self, setting: Mapping[str, Json], *, tools: bool = True) -> PromptFormat | None:
        """Return the format of exactly this setting, or None if it was not learned.

        Switches that change neither a turn nor its beginning are ignored. `tools` is whether tools
        are offered, which may change the generation prompt.
        """
        switch_names = {name for opening in self.openings for name in opening.setting}
        wanted = _setting_key(
            {**self.base, **{name: setting[name] for name in setting if name in switch_names}}
        )
        found = [
            PromptFormat(format_, opening)
            for format_ in self.distinct
            for opening in format_.openings
            if _setting_key(opening.setting) == wanted
        ]
        # A prompt without tools is listed apart only if it differs.
        return next(
            (begun for begun in found if begun.opening and begun.opening.tools is tools),
            found[0] if found else None,
        )

    def prompt_under(self, setting: Mapping[str, Json]) -> str | None:
        """Return the generation prompt of exactly this setting, or None if it was not rendered."""
        begun = self.under(setting)
        # A variable that is not a switch may still change the text of the prompt.
        if begun is None or begun.opening is None or setting.keys() - begun.opening.setting.keys():
            return None
        return begun.opening.text

    def behind(self, prompt: str) -> tuple[PromptFormat, ...]:
        """Return the formats of a rendered prompt, or any tail of it, by the opening at its end.

        The longest such opening counts. Formats with equal openings are all returned, the default's
        first, unless the text before the opening distinguishes them. Empty if the prompt
        does not end with an opening.
        """
        found: list[PromptFormat] = []
        longest = 0
        for format_ in self.distinct:
            best = opening_at_end(format_, prompt)
            if best is None:
                continue
            # Clients strip prompts, so the whitespace at the end does not make an opening longer.
            size = len(best.text.rstrip())
            # A longer opening says more: `…assistant\n<think>` instead of `…assistant`.
            if size > longest:
                found, longest = [], size
            if size == longest:
                found.append(PromptFormat(format_, best))
        signed = [match for match in found if match.opening and _has_signs(match.opening, prompt)]
        return tuple(signed if len(found) > 1 and signed else found)

    def within(self, prompt: str) -> tuple[PromptFormat, ...]:
        """Return the formats of a prompt that continues after its generation prompt.

        The last opening in the prompt counts, and the longest one of several there.
        """
        found: list[tuple[int, int, PromptFormat]] = []
        for format_ in self.distinct:
            for opening in format_.openings:
                core = opening.text.strip()
                # Punctuation alone occurs in any text.
                start = prompt.rfind(core) if any(map(str.isalnum, core)) else -1
                if start >= 0:
                    found.append((start, len(core), PromptFormat(format_, opening)))
        # The last one begins the turn that is continued; those before it are history.
        last = max((place[:2] for place in found), default=None)
        latest: dict[int, PromptFormat] = {}
        for start, size, begun in found:
            if (start, size) == last:
                # By identity: equal formats are shared already, and comparing them is slow.
                latest.setdefault(id(begun.format), begun)
        return tuple(latest.values())

    @property
    def alike(self) -> tuple[tuple[PromptFormat, ...], ...]:
        """The groups of formats with equal generation prompts."""
        texts = dict.fromkeys(opening.text for opening in self.openings if opening.text.strip())
        groups = (self.behind(text) for text in texts)
        return tuple(group for group in groups if len(group) > 1)


def opening_at_end(format_: TurnFormat, prompt: str) -> TurnOpening | None:
    """Return the longest opening of a format at the end of a prompt, or None without one."""
    end = prompt.rstrip()
    fitting = [
        opening
        for opening in (*format_.openings, *format_.later_openings)
        if (core := opening.text.rstrip()) and end.endswith(core)
    ]
    return max(fitting, key=lambda opening: len(opening.text.rstrip()), default=None)


def _has_signs(opening: TurnOpening, prompt: str) -> bool:
    return bool(opening.signs) and all(sign in prompt for sign in opening.signs)


def _setting_key(setting: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Return a key that differs for true and 1, which are equal to Python."""
    return tuple(sorted((name, repr(value)) for name, value in setting.items()))


def written_alike(one: TurnFormat, other: TurnFormat) -> bool:
    """Return whether two formats differ only in their settings and openings."""
    return replace(one, openings=(), setting={}) == replace(other, openings=(), setting={})


def share_settings(formats: list[TurnFormat]) -> list[TurnFormat]:
    """Merge formats that differ only in their settings and openings."""
    shared: list[TurnFormat] = []
    for format_ in formats:
        for index, other in enumerate(shared):
            if written_alike(other, format_):
                shared[index] = replace(other, openings=(*other.openings, *format_.openings))
                break
        else:
            shared.append(format_)
    return shared
