r"""The phase on generation prompts, R2: it runs after those on calls, and before arguments.

A prompt's progress shows only once T3 has found the header of turns. For the switch
`enable_thinking`, `fixtures/templates/a1-function-parameter.jinja` writes two prompts,

    <|im_start|>assistant\n<think>\n                   unset, and True
    <|im_start|>assistant\n<think>\n\n</think>\n\n     False

and after the header `<|im_start|>assistant\n` one has opened reasoning, the other closed it:

    R2    2 generation prompts, chosen by switches
"""

from __future__ import annotations

from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind

from .generation_prompts import NamedReasoning, read_prompts
from .observer import Observer
from .prober import Evidence, Finding, Probe
from .prompt_words import find_worded_reasoning
from .reasoning_phases import PartsStage, PhaseInput


def examine_r2(
    observer: Observer, start: PhaseInput, parts: PartsStage, header: str
) -> tuple[NamedReasoning | None, Finding]:
    """Find how much of the turn, and of reasoning, each setting's generation prompt has written.

    Return the markers of reasoning that only prompts show, or None if turns show them.
    """
    prober = observer.prober
    default, *others = start.settings

    def prompt(setting: Setting) -> Probe:
        return prober.probe((prober.user,), generation=True, setting=setting)

    # Compare each setting's prompt with the default one: the debugger shows the effect of a switch.
    pairs = [
        Evidence(f"unset / {_setting_words(setting)}", prompt(default), prompt(setting))
        for setting in others
    ]
    if not pairs:
        # With one setting only, its prompt is compared with no prompt.
        bare = prober.probe((prober.user,), setting=default)
        words = "no generation prompt / generation prompt"
        pairs = [Evidence(words, bare, prompt(default))]
    worded = None
    # The words of a switch prove less than a render, so they are searched only if no field, no cut
    # and no other setting shows where reasoning is.
    if not start.shows_reasoning and parts.cut is None and start.fullest is None:
        worded = find_worded_reasoning(observer, start.switches)
    if worded is not None:
        pairs.append(worded[1])
    named = _named_reasoning(observer, start, parts, header, None if worded is None else worded[0])
    texts = {prompt_text.text for prompt_text in start.prompts}
    if len(texts) > 1:
        conclusion = f"{len(texts)} generation prompts, chosen by switches"
    elif texts == {""}:
        conclusion = "no generation prompt"
    else:
        conclusion = "one generation prompt under all switches"
    if start.untried:
        conclusion += f"; {start.untried} more variables were not tried"
    if worded is not None:
        conclusion += "; the text of a switch in the prompt names a pair of tags"
    elif named is not None and not named.confirmed:
        conclusion += f"; reasoning, which no turn shows, begins with {named.open!r} there"
    kind = EvidenceKind.RENDER if worded is None else EvidenceKind.WORDS
    return named, Finding("R2", "reasoning switch", conclusion, tuple(pairs), kind=kind)


def _named_reasoning(
    observer: Observer,
    start: PhaseInput,
    parts: PartsStage,
    header: str,
    worded: NamedReasoning | None,
) -> NamedReasoning | None:
    """Return the markers of reasoning that turns do not show, or None if they do."""
    shown = {part for layout in parts.layouts.values() for part in layout.parts}
    if start.shows_reasoning or TurnPart.REASONING in shown:
        return None
    # Another setting shows reasoning, so its markers are known, though not written here.
    if start.fullest is not None and TurnPart.REASONING in start.fullest.shown_parts:
        block = start.fullest.reasoning
        return None if block is None else NamedReasoning(block.open.text, block.close.text)
    cut = "" if parts.cut is None else parts.cut.text
    named = read_prompts(observer, start.prompts, header, cut)
    # Prompts take precedence, because models continue them; words only describe.
    if not named.close and worded is not None:
        return worded
    return named


def _setting_words(setting: Setting) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in setting.items())
