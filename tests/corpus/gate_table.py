"""What came of formats per setting over a corpus, laid out as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from .behind import Silence
from .gate_causes import CAUSES, cause_of
from .gate_judge import Verdict, Way
from .gates import Gated


def gate_table(found: Sequence[Gated]) -> str:
    """Lay out what both judges say, and name the templates that do not pass."""
    done = [each for each in found if each.analysed]
    rows = [
        *_counted(found, done),
        "",
        *_gate(done),
        "",
        *_judge(done),
        "",
        *_defaults(done),
        *_alike(done),
        "",
        *_words(done),
    ]
    return "\n".join(rows) + "\n"


def unexplained(found: Sequence[Gated]) -> list[str]:
    """Name what is bad without a known cause: crashes, faults, defaults that differ."""
    bad = [f"{each.name}: {each.crash}" for each in found if each.crash]
    bad += [each.name for each in found if each.faults and not _gate_cause(each)]
    bad += [each.name for each in found if each.usual_faults and not _usual_cause(each)]
    bad += [f"{each.name}: {verdict.title}" for each, verdict, cause in _bad(found) if not cause]
    return bad + [each.name for each in _differing(found)]


def _counted(found: Sequence[Gated], done: Sequence[Gated]) -> Iterator[str]:
    def total(name: str) -> int:
        return sum(getattr(each.counts, name) for each in done)

    yield f"{len(found):>6}  templates"
    yield f"{len(done):>6}  analysed"
    crashes = [each for each in found if each.crash]
    yield f"{len(crashes):>6}  crashed"
    yield from (f"{'':8}  {each.name}: {each.crash}" for each in crashes)
    yield f"{total('formats'):>6}  formats, {_more(done, 'formats')} templates have several"
    yield f"{total('settings'):>6}  settings learnt, {total('untried')} beyond the limit untried"
    yield f"{total('prompts'):>6}  different generation prompts"
    yield f"{total('unprompted'):>6}  settings without one"
    yield f"{total('failed_checks'):>6}  formats whose self-check fails"
    yield from (
        f"{'':8}  {each.name}: {each.counts.failed_checks} of {each.counts.formats}"
        for each in done
        if each.counts.failed_checks
    )


def _more(done: Sequence[Gated], name: str) -> int:
    return sum(getattr(each.counts, name) > 1 for each in done)


def _gate(done: Sequence[Gated]) -> Iterator[str]:
    asked = sum(each.counts.asked for each in done)
    passed = sum(each.counts.passed for each in done)
    yield "the gate of the analysis"
    yield f"{asked:>6}  continuations asked"
    yield f"{passed:>6}  passed: {passed / max(asked, 1):.2%}"
    yield f"{sum(each.counts.not_asked for each in done):>6}  messages that no turn goes on with"
    short = [each for each in done if each.faults]
    yield f"{len(short):>6}  templates do not pass"
    for cause in sorted({_gate_cause(each) for each in short}):
        same = [each for each in short if _gate_cause(each) == cause]
        yield f"{len(same):>6}    {cause or 'of unknown cause'}"
        for each in same:
            yield f"{'':10}  {each.name}: {each.counts.passed} of {each.counts.asked}"
            yield f"{'':12}  {each.faults[0][:200]}"
    yield from _usual(done)
    silent = Counter(why for each in done for why in each.silent)
    yield f"{silent.total():>6}  prompts that nothing goes on from"
    yield from (f"{count:>6}    {why}" for why, count in silent.most_common())


def _usual(done: Sequence[Gated]) -> Iterator[str]:
    asking = [each for each in done if each.counts.usual_asked]
    asked = sum(each.counts.usual_asked for each in asking)
    yield f"{asked:>6}  asked again as users send them, of {len(asking)} templates"
    yield f"{sum(each.counts.usual_passed for each in asking):>6}    passed"
    short = [each for each in asking if each.counts.usual_passed < each.counts.usual_asked]
    for cause in sorted({_usual_cause(each) for each in short}):
        same = [each for each in short if _usual_cause(each) == cause]
        yield f"{len(same):>6}    {cause or 'of unknown cause'}"
        for each in same:
            passed = f"{each.counts.usual_passed} of {each.counts.usual_asked}"
            yield f"{'':10}  {each.name}: {passed}"


def _usual_cause(gated: Gated) -> str:
    """Return what is spoiled, or the cause for which the template's own form does not pass."""
    spoiled = f"spoiled as users send it: {gated.spoiled}" if gated.spoiled else ""
    return spoiled or (_gate_cause(gated) if gated.faults else "")


def _gate_cause(gated: Gated) -> str:
    """Return the template's cause, or that of the settings whose self-check fails."""
    causes = Counter(cause_of(gated.name, each, gated.judged) for each in gated.failed)
    most = causes.most_common(1)
    return CAUSES.get(gated.name, "") or (most[0][0] if most else "")


def _bad(found: Sequence[Gated]) -> list[tuple[Gated, Verdict, str]]:
    return [
        (each, verdict, cause_of(each.name, verdict, each.judged))
        for each in found
        for verdict in each.failed
    ]


def _judge(done: Sequence[Gated]) -> Iterator[str]:
    asked = [verdict for each in done for verdict in each.asked]
    passed = sum(not verdict.faults for verdict in asked)
    yield "a second judge, by plain renders: told the setting, the prompt, both"
    yield f"{len(asked):>6}  continuations asked"
    yield f"{passed:>6}  passed in all three ways: {passed / max(len(asked), 1):.2%}"
    for way in Way:
        told = sum(all(fault.way is not way for fault in verdict.faults) for verdict in asked)
        yield f"{told:>6}    {way}"
    bad = _bad(done)
    names = {each.name for each, _, _ in bad}
    yield f"{len(names):>6}  templates do not pass"
    for cause in sorted({cause for _, _, cause in bad}):
        same = [(each, verdict) for each, verdict, why in bad if why == cause]
        counted = Counter(each.name for each, _ in same)
        yield f"{len(counted):>6}    {cause or 'of unknown cause'}"
        for name, count in counted.items():
            first = next(verdict for each, verdict in same if each.name == name)
            fault = first.faults[0]
            yield f"{'':10}  {name}: {count} messages, first {first.title}, {fault.way}"
            yield f"{'':12}  {fault.detail[:200]}"
    not_asked = Counter(each.silence for gated in done for each in gated.judged if each.silence)
    yield f"{not_asked.total():>6}  messages not asked"
    yield from (f"{not_asked[why]:>6}    {why}" for why in Silence)
    yield from _disagreeing(done)


def _disagreeing(done: Sequence[Gated]) -> Iterator[str]:
    """Count the templates on which the judges differ, told the setting as the gate is."""
    rows = Counter((_word(each.counts.asked, each.faults), _second(each)) for each in done)
    yield "the gate / the second judge, templates:"
    yield from (f"{count:>6}    {one} / {other}" for (one, other), count in rows.most_common())


def _second(gated: Gated) -> str:
    return _word(len(gated.asked), gated.failed)


def _word(asked: int, bad: Sequence[object]) -> str:
    if not asked:
        return "asks nothing"
    return "does not pass" if bad else "passes"


def _differing(found: Sequence[Gated]) -> list[Gated]:
    return [each for each in found if each.differs and not each.counts.failed_checks]


def _defaults(done: Sequence[Gated]) -> Iterator[str]:
    differing = _differing(done)
    yield f"{len(differing):>6}  default formats that differ from a render with nothing set"
    yield from (f"{'':8}  {each.name}: {each.differs}" for each in differing)
    failing = [each for each in done if each.differs and each.counts.failed_checks]
    yield f"{len(failing):>6}    more, whose self-check fails"
    yield from (f"{'':8}  {each.name}: {each.differs[:200]}" for each in failing)


def _alike(done: Sequence[Gated]) -> Iterator[str]:
    having = [each for each in done if each.alike]
    groups = [group for each in having for group in each.alike]
    asked = [group for group in groups if group.asked]
    yield f"{len(having):>6}  templates with prompts that end alike before formats that differ"
    yield f"{len(groups):>6}    such prompts; of {len(asked)} the template goes on in several"
    read = sum(group.read for group in asked)
    accepted = sum(group.accepted for group in asked)
    yield f"{read:>6}    of these read under every setting as when the setting is told"
    yield f"{accepted:>6}    of these accepted so"
    yield from (
        f"{'':10}  {each.name}"
        for each in having
        if any(not (group.read and group.accepted) for group in each.alike)
    )


def _words(done: Sequence[Gated]) -> Iterator[str]:
    """Name each word that changes a turn as the value of a switch, and what came of it alone."""
    named = [(each, word) for each in done for word in each.words]
    asked = [(each, word) for each, word in named if word.asked]
    yield f"{len(named):>6}  words that change a turn, of {len({id(each) for each, _ in named})}"
    yield f"{len(asked):>6}    whose turns go on from the prompt"
    yield f"{sum(word.checked for _, word in asked):>6}      self-check"
    yield f"{sum(word.gated for _, word in asked):>6}      gate"
    yield f"{sum(not word.misread for _, word in asked):>6}      read, told the setting"
    yield f"{sum(not word.refused for _, word in asked):>6}      accepted, told the setting"
    for each, word in named:
        verdict = "passes" if word.ok and word.asked else "fails" if word.asked else "not asked"
        yield f"{'':8}  {each.name}: {word.switch}={word.value}: {verdict}"
