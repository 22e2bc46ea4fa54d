"""R2: the generation prompt with thinking off against on."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.format import Part
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.prompt_reasoning import NamedReasoning, read_prompts
from autoparser.analysis.inference.learning.prompt_words import WordedPair, find_worded_reasoning
from autoparser.analysis.inference.probing import Probe, Setting

from .draft import Draft
from .phase_finding import Evidence, Finding


def examine(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """See what each setting's generation prompt has written of the turn, and of reasoning.

    It needs the header, and so comes after T3.
    """
    prober = observer.prober
    default, *others = draft.settings

    def prompt(setting: Setting) -> Probe:
        return prober.probe((prober.user,), generation=True, setting=setting)

    pairs = [
        Evidence(f"unset / {_words(setting)}", prompt(default), prompt(setting))
        for setting in others
    ]
    if not pairs:
        bare = prober.probe((prober.user,), setting=default)
        words = "no generation prompt / generation prompt"
        pairs = [Evidence(words, bare, prompt(default))]
    worded = None
    if not draft.shows_reasoning and draft.cut is None and draft.fullest is None:
        worded = find_worded_reasoning(observer, draft.switches)
    if worded is not None:
        pairs.append(Evidence("switch unset / set", worded.without, worded.told))
    named = _named(observer, draft, worded)
    draft = replace(draft, named_reasoning=named)
    texts = {each.text for each in draft.prompts}
    if len(texts) > 1:
        conclusion = f"{len(texts)} different generation prompts, by the switches"
    elif texts == {""}:
        conclusion = "no generation prompt"
    else:
        conclusion = "one generation prompt, whatever is set"
    if draft.untried:
        conclusion += f"; {draft.untried} further variables were not tried"
    if worded is not None:
        conclusion += "; a switch's words in the prompt name a pair of tags"
    elif named is not None and not named.confirmed:
        conclusion += f"; reasoning, which no turn shows, begins with {named.open!r} there"
    kind = EvidenceKind.RENDER if worded is None else EvidenceKind.WORDS
    return draft, Finding(
        "R2",
        "reasoning switch",
        conclusion,
        tuple(pairs),
        kind=kind,
    )


def _named(observer: Observer, draft: Draft, worded: WordedPair | None) -> NamedReasoning | None:
    """Name what opens and closes reasoning that turns do not show; None where they do."""
    parts = {part for layout in draft.layouts.values() for part in layout.parts}
    if draft.shows_reasoning or Part.REASONING in parts:
        return None
    if draft.fullest is not None and Part.REASONING in draft.fullest.shown:
        block = draft.fullest.reasoning
        return None if block is None else NamedReasoning(block.open.text, block.close.text)
    cut = "" if draft.cut is None else draft.cut.text
    named = read_prompts(observer, draft.prompts, draft.header, cut)
    if not named.close and worded is not None:
        return NamedReasoning(worded.open, worded.close, confirmed=False)
    return named


def _words(setting: Setting) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in setting.items())
