"""The format as far as the phases have got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Layout, ReasoningRetention, Text, TurnFormat
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.inference.learning.calls_frame import CallsFrame
from autoparser.analysis.inference.learning.content_cut import Cut
from autoparser.analysis.inference.learning.free_words import FreeStretch
from autoparser.analysis.inference.learning.layouts import SectionMarkers
from autoparser.analysis.inference.learning.leads import Leads
from autoparser.analysis.inference.learning.learnt_arguments import Enclosure, LearntArguments
from autoparser.analysis.inference.learning.learnt_ids import SeenId
from autoparser.analysis.inference.learning.openings import PromptText
from autoparser.analysis.inference.learning.prompt_reasoning import NamedReasoning
from autoparser.analysis.inference.learning.prompt_words import WordedCall
from autoparser.analysis.inference.learning.slots import SeenSlot
from autoparser.analysis.inference.learning.string_notation import Strings
from autoparser.analysis.inference.learning.turn_ends import SeenEnd
from autoparser.analysis.inference.learning.typed_rows import TypedRows
from autoparser.analysis.inference.probing import Setting, Suggestions


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known so far; each phase adds to it."""

    suggestions: Suggestions
    shows_reasoning: bool
    shows_calls: bool
    switches: tuple[Switch, ...] = ()
    untried: int = 0
    """Variables beyond the number that is tried."""
    settings: tuple[Setting, ...] = ()
    """All settings under which a turn or its beginning may differ, the default one first."""
    beginnings: tuple[str, ...] = ()
    """What turns begin with, up to their first part, under all these settings."""
    fullest: TurnFormat | None = None
    """The format under the setting that shows most, where that is another one."""
    layouts: Mapping[Presence, Layout] = field(default_factory=dict[Presence, Layout])
    cut: Cut | None = None
    retention: ReasoningRetention = field(default_factory=ReasoningRetention)
    named_reasoning: NamedReasoning | None = None
    """What opens and closes reasoning, where no turn shows it but prompts or words do."""
    worded_call: WordedCall | None = None
    prompts: tuple[PromptText, ...] = ()
    """What each setting's generation prompt adds."""
    header: str = ""
    frame: CallsFrame | None = None
    section: SectionMarkers | None = None
    ends: tuple[SeenEnd, ...] = ()
    leads: Leads = field(default_factory=Leads)
    """Markers before calls, and stops, that only a list of tools or a constant tells of (T3)."""
    name: SeenSlot | None = None
    """Where a call's name stands (T4)."""
    call_id: SeenSlot | None = None
    """Where its id does (T7)."""
    seen_id: SeenId | None = None
    """How the id carries the name, where no name is written (T7)."""
    free: tuple[FreeStretch, ...] = ()
    """What of a call a field of the message replaces (T1)."""
    listed: LearntArguments | None = None
    """How arguments follow one another (T5)."""
    key: SeenSlot | None = None
    """Where an argument's name stands (A1)."""
    names: Text = field(default_factory=Text)
    """How arguments' names are written (A1)."""
    strings: Strings | None = None
    """How a string is written, and what stands around it (A2)."""
    types: TypedRows | None = None
    """How arguments of each other type are written (A3)."""
    enclosure: Enclosure | None = None
    """What encloses the arguments, and a call without any (T6)."""
    requires_nonnull_content: bool = False
    """Null content beside a call raises, or is printed as a word."""
