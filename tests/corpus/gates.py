"""Check formats per setting on the corpus: the analysis' gate, and a second independent judge.

The gate's counts come from the analysis. The second judge uses only the template: continuations
from plain renders, and every way to configure a parser. It is stricter: it compares each parsed
message with the original, part by part, as far as the template renders that part.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from llguidance import LLMatcher
from msgspec import structs

from autoparser import Analysis, AutoparserError, Json, Message, ParsedMessage, Status, ToolCall
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.core.turn_format import RefusedMessageError

from .corpus_templates import Board, analysis_at, by_cause, known_causes
from .grammar_readers import refused, started
from .rendered_turns import MESSAGES, OFFERED, RenderedTurn, Silence, TurnRenderer, without


class Way(StrEnum):
    """Arguments by which a parser and a grammar know the prompt."""

    SETTING = "by the setting"
    PROMPT = "by the prompt"
    BOTH = "by the prompt and the setting"


@dataclass(frozen=True, slots=True)
class Fault:
    way: Way
    read: bool
    """The parser reads something else; False: the grammar refuses it."""
    detail: str


@dataclass(frozen=True, slots=True)
class Verdict:
    setting: Mapping[str, Json]
    tools: bool
    title: str
    silence: Silence | None
    bare: bool = False
    """Being asked for a generation prompt changes nothing."""
    checked: bool = True
    """The self-check of the setting's format passes."""
    faults: tuple[Fault, ...] = ()

    def faulty(self, way: Way, *, read: bool) -> bool:
        """Whether it was misread one way, or refused."""
        return any(fault.way is way and fault.read is read for fault in self.faults)


def verdicts(analysis: Analysis) -> Iterator[Verdict]:
    """Ask all messages under every setting, with tools and without."""
    seen: set[str] = set()
    for format_, check in zip(analysis.formats, analysis.checks, strict=True):
        for opening in format_.openings:
            setting = dict(opening.setting)
            if repr(setting) in seen:
                continue
            seen.add(repr(setting))
            for tools in (True, False):
                for verdict in _under(analysis, setting, tools=tools):
                    yield replace(verdict, checked=not check.failures)


def _under(analysis: Analysis, setting: Mapping[str, Json], *, tools: bool) -> Iterator[Verdict]:
    asked = TurnRenderer(analysis, setting, tools)
    doors: list[_Door] = []
    for title, message in MESSAGES.items():
        if message.calls and not tools:
            continue
        turn = asked.turn(title, message)
        verdict = Verdict(setting, tools, title, turn.silence, asked.prompt == asked.alone)
        if turn.silence is None:
            prompt = asked.prompt or ""
            doors = doors or [_Door(analysis, way, prompt, setting, tools=tools) for way in Way]
            faults = tuple(fault for door in doors for fault in door.faults(asked, turn))
            verdict = replace(verdict, faults=faults)
        yield verdict


class _Door:
    def __init__(
        self, analysis: Analysis, way: Way, prompt: str, setting: Mapping[str, Json], *, tools: bool
    ) -> None:
        self._way = way
        offered = OFFERED if tools else ()
        told = None if way is Way.SETTING else prompt
        switches = None if way is Way.PROMPT else setting
        self._parser = analysis.parser(offered, prompt=told, chat_template_kwargs=switches)
        grammar = analysis.grammar(offered, prompt=told, chat_template_kwargs=switches)
        self._start: LLMatcher | str
        try:
            self._start = started(grammar)
        except AutoparserError as error:
            self._start = f"no grammar: {error}"
        except ValueError as error:
            self._start = str(error)

    def faults(self, asked: TurnRenderer, turn: RenderedTurn) -> Iterator[Fault]:
        refusal = self._start
        if not isinstance(refusal, str):
            refusal = refused(refusal, turn.text, turn.least)
        if refusal:
            yield Fault(self._way, False, refusal)
        misread = misreading(asked, turn, self._parser.parse(turn.text))
        if misread:
            yield Fault(self._way, True, misread)


def misreading(asked: TurnRenderer, turn: RenderedTurn, parsed: ParsedMessage) -> str:
    """Return how the parsed message differs from the rendered one, or an empty text."""
    if not parsed.status.regular and parsed.status is not Status.REPAIRED:
        return f"it is read with the status {parsed.status}"
    try:
        found = _message(turn.message, parsed)
    except ValueError:
        return "arguments are read that are not JSON"
    expected = _written(asked, turn)
    different = _difference(expected, found)
    if not different:
        return ""
    # If the template renders both alike and they have the same parts, no reader can differ.
    alike = expected.presence == found.presence and _names(expected) == _names(found)
    return "" if alike and asked.render(found) == turn.whole else different


def _names(message: Message) -> list[str]:
    return [call.name for call in message.calls]


def _message(message: Message, parsed: ParsedMessage) -> Message:
    ids = [call.id for call in message.calls]
    calls = tuple(
        ToolCall(call.name, json.loads(call.arguments), (ids[at:] or [call.id])[0])
        for at, call in enumerate(parsed.tool_calls)
    )
    return Message(parsed.content or "", parsed.reasoning_content or "", calls)


def _written(asked: TurnRenderer, turn: RenderedTurn) -> Message:
    """Take from a message what changes nothing when it is taken away: it was never written."""
    calls = [call.id for call in reversed(turn.message.calls)]
    members = [(call.id, key) for call in turn.message.calls for key in call.arguments]
    message = turn.message
    for take in (
        partial(structs.replace, content=""),
        partial(structs.replace, reasoning=""),
        *(partial(without, id_=id_) for id_ in calls),
        *(partial(without, id_=id_, key=key) for id_, key in members),
    ):
        fewer = take(message)
        if asked.render(fewer) == turn.whole:
            message = fewer
    return message


def _difference(expected: Message, found: Message) -> str:
    if expected.reasoning.strip() != found.reasoning.strip():
        return f"the reasoning {expected.reasoning!r} is read as {found.reasoning!r}"
    if expected.content.strip() != found.content.strip():
        return f"the content {expected.content!r} is read as {found.content!r}"
    if _names(expected) != _names(found):
        return f"the calls {_names(expected)} are read as {_names(found)}"
    for one, other in zip(expected.calls, found.calls, strict=True):
        # Compared as JSON, in which the order of keys says nothing and true is not 1.
        mine, its = (json.dumps(dict(call.arguments), sort_keys=True) for call in (one, other))
        if mine != its:
            return f"the arguments {dict(one.arguments)} are read as {dict(other.arguments)}"
    return ""


def default_differs(analysis: Analysis) -> str:
    """Name a message that the default format writes differently from a render without settings.

    Nothing, where it writes all of them as the template does, the text around them being the same.
    """
    asked = TurnRenderer(analysis, analysis.formats.base)
    around: set[tuple[str, str]] = set()
    titles: list[str] = []
    for title, message in MESSAGES.items():
        turn = asked.turn(title, message)
        if not turn.whole or turn.silence is Silence.NOTHING:
            continue
        try:
            written = analysis.format.write(turn.message)
        except RefusedMessageError:
            return f"{title}: the format refuses it, the template does not"
        if not written.strip():
            continue  # an empty text is found anywhere
        at = turn.whole.rfind(written)
        if at < 0:
            return f"{title}: {written!r} is not in the render"
        around.add((turn.whole[:at], turn.whole[at + len(written) :]))
        titles.append(title)
    return f"the texts around {', '.join(titles)} differ" if len(around) > 1 else ""


@dataclass(frozen=True, slots=True)
class Alike:
    """Formats that one generation prompt's text does not tell apart."""

    asked: bool
    """Something was asked under the settings of more than one of them."""
    read: bool
    """Given the prompt alone, the parser reads as much as with the setting."""
    accepted: bool
    """So does the grammar accept."""


@dataclass(frozen=True, slots=True)
class TurnWord:
    """A word that changes a turn as the value of a switch, and what came of it alone."""

    name: str
    """The switch, and the word."""
    gated: bool
    """No continuation under it fails the gate."""
    asked: Sequence[Verdict]
    """Verdicts of the second judge under it."""

    @property
    def checked(self) -> bool:
        """The self-check of its format passes."""
        return all(verdict.checked for verdict in self.asked)

    def told(self, *, read: bool) -> bool:
        """Whether parser or grammar do not fail, told the setting."""
        return not any(verdict.faulty(Way.SETTING, read=read) for verdict in self.asked)


@dataclass(frozen=True, slots=True)
class Gated:
    name: str
    analyzed: bool = False
    crash: str = ""
    counts: Counter[str] = field(default_factory=Counter[str])
    fault: str = ""
    """The first of the analysis' own gate, in the form that the template takes."""
    usual_fault: str = ""
    """And as users send it."""
    spoiled: str = ""
    """The OpenAI-style message part that the template silently loses, by the self-check."""
    silent: tuple[str, ...] = ()
    """For each prompt without a continuation: the reason, and the part that the prompt has
    written."""
    alike: tuple[Alike, ...] = ()
    differs: str = ""
    """How the default's format differs from a render with nothing set."""
    judged: tuple[Verdict, ...] = ()
    words: tuple[TurnWord, ...] = ()

    @property
    def asked(self) -> list[Verdict]:
        """Verdicts that the second judge could reach."""
        return [verdict for verdict in self.judged if verdict.silence is None]

    @property
    def failed(self) -> list[Verdict]:
        """Failed verdicts of the second judge."""
        return [verdict for verdict in self.judged if verdict.faults]


def gated(path: Path) -> Gated:
    """Analyze a template, and ask both judges."""
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return Gated(path.stem)
    try:
        return _gated(path.stem, analysis)
    except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
        return Gated(path.stem, crash=repr(error))


def _gated(name: str, analysis: Analysis) -> Gated:
    judged = tuple(verdicts(analysis))
    # The first fault of each kind counts.
    faults = {
        "OpenAI-style" in fault.title: (
            f"{fault.question}, {dict(fault.setting)}, {fault.title}: {fault.detail}"
        )
        for fault in reversed(analysis.gate.faults)
    }
    return Gated(
        name,
        analyzed=True,
        counts=_counts(analysis),
        fault=faults.get(False, ""),
        usual_fault=faults.get(True, ""),
        spoiled="" if analysis.spoiled is None else analysis.spoiled.usual,
        silent=tuple(_silent(analysis, judged)),
        alike=tuple(_alike(analysis.formats, judged)),
        differs=default_differs(analysis),
        judged=judged,
        words=tuple(_words(analysis, judged)),
    )


def _words(analysis: Analysis, judged: Sequence[Verdict]) -> Iterator[TurnWord]:
    turns = {SwitchEffect.TURN, SwitchEffect.CALLS}
    for switch in analysis.switches:
        for value, effects in zip(switch.values, switch.effects, strict=True):
            if not isinstance(value, str) or not turns & {*effects}:
                continue
            setting = {**analysis.formats.base, switch.name: value}
            gated = not any(fault.setting == setting for fault in analysis.gate.faults)
            asked = [
                verdict
                for verdict in judged
                if verdict.setting == setting and verdict.silence is None
            ]
            yield TurnWord(f"{switch.name}={value}", gated, asked)


def _counts(analysis: Analysis) -> Counter[str]:
    gate, formats = analysis.gate, analysis.formats
    names = ("asked", "passed", "not_asked", "usual_asked", "usual_passed")
    counts = Counter({name: getattr(gate, name) for name in names})
    # Count untried settings, and those without a generation prompt.
    counts["untried"] = formats.untried
    counts["unprompted"] = sum(not opening.text.strip() for opening in formats.openings)
    counts["formats"] = len(formats)
    counts["settings"] = len({repr(opening.setting) for opening in formats.openings})
    counts["prompts"] = len({opening.text for opening in formats.openings if opening.text.strip()})
    counts["failed_checks"] = sum(bool(check.failures) for check in analysis.checks)
    return counts


def _silent(analysis: Analysis, judged: Sequence[Verdict]) -> Iterator[str]:
    """Yield, for each prompt without a continuation, the reason by the second judge's renders."""
    found = analysis.continuations
    openings = {id(asked.opening): asked.opening for asked in found}
    spoken = {id(asked.opening) for asked in found if asked.text is not None and asked.form is None}
    for key, opening in openings.items():
        if key in spoken:
            continue
        causes = {
            str(verdict.silence or "the second judge does find continuations")
            for verdict in judged
            if repr(verdict.setting) == repr(opening.setting) and verdict.tools is opening.tools
        }
        yield f"{' / '.join(sorted(causes))}: {opening.written}"


def _alike(formats: Formats, judged: Sequence[Verdict]) -> Iterator[Alike]:
    for group in formats.alike:
        texts = {begun.opening.text.rstrip() for begun in group if begun.opening is not None}
        rows = [
            {repr(one.setting) for one in begun.format.openings if one.text.rstrip() in texts}
            for begun in group
        ]
        asked = [
            [
                verdict
                for verdict in judged
                if repr(verdict.setting) in row and verdict.silence is None
            ]
            for row in rows
        ]
        yield Alike(
            sum(bool(row) for row in asked) > 1,
            *(
                not any(
                    verdict.faulty(Way.PROMPT, read=read)
                    and not verdict.faulty(Way.SETTING, read=read)
                    for row in asked
                    for verdict in row
                )
                for read in (True, False)
            ),
        )


UNCHECKED = "open: the setting's format is not understood, its self-check fails"
BEGUN = "open: no generation prompt; told a prompt, the turn is taken to have begun"
UNASKED = "open: the generation prompt comes unasked; told the setting alone, it is not counted"
UNITED = "open: prompts of two settings end alike; told the prompt alone, one setting's are misread"
TOOLLESS = "open: turns are written otherwise where no tools are offered"


def cause_of(name: str, verdict: Verdict, judged: Sequence[Verdict]) -> str:
    """Return the cause of a bad verdict, or an empty text if it is unknown.

    `judged` are all verdicts on the template.
    """
    ways = {fault.way for fault in verdict.faults}
    if not verdict.checked and name not in known_causes("gate"):
        return UNCHECKED
    if verdict.bare and ways <= {Way.PROMPT, Way.BOTH}:
        return BEGUN
    with_tools = any(
        other.faults
        for other in judged
        if other.tools
        and other.title == verdict.title
        and repr(other.setting) == repr(verdict.setting)
    )
    if verdict.bare and ways == {Way.SETTING} and with_tools:
        return UNASKED
    if ways == {Way.PROMPT}:
        return UNITED
    if not verdict.tools and not with_tools:
        return TOOLLESS
    return known_causes("gate").get(name, "")


def _lines(found: Sequence[Gated]) -> Iterator[str]:
    done = [row for row in found if row.analyzed]
    yield from _counted(found, done)
    for parts in ((_gate,), (_judge,), (_defaults, _alike_lines), (_word_lines,)):
        yield ""
        for part in parts:
            yield from part(done)


def _explained(gated: Gated) -> bool:
    """Whether all that is bad has a known cause; crashes and defaults that differ have none."""
    return not (
        gated.crash
        or (gated.fault and not _gate_cause(gated))
        or (gated.usual_fault and not _usual_cause(gated))
        or not all(cause for _, _, cause in _bad([gated]))
        or _differing([gated])
    )


def _counted(found: Sequence[Gated], done: Sequence[Gated]) -> Iterator[str]:
    total = sum((row.counts for row in done), Counter[str]())
    yield f"{len(found):>6}  templates"
    yield f"{len(done):>6}  analyzed"
    crashes = [row for row in found if row.crash]
    several = sum(row.counts["formats"] > 1 for row in done)
    yield f"{len(crashes):>6}  crashed"
    yield from (f"{'':8}  {crash.name}: {crash.crash}" for crash in crashes)
    yield f"{total['formats']:>6}  formats, {several} templates have several"
    yield f"{total['settings']:>6}  settings learned, {total['untried']} beyond the limit untried"
    yield f"{total['prompts']:>6}  different generation prompts"
    yield f"{total['unprompted']:>6}  settings without one"
    yield f"{total['failed_checks']:>6}  formats whose self-check fails"
    yield from (
        f"{'':8}  {row.name}: {row.counts['failed_checks']} of {row.counts['formats']}"
        for row in done
        if row.counts["failed_checks"]
    )


def _gate(done: Sequence[Gated]) -> Iterator[str]:
    asked = sum(row.counts["asked"] for row in done)
    passed = sum(row.counts["passed"] for row in done)
    yield "the gate of the analysis"
    yield f"{asked:>6}  continuations asked"
    yield f"{passed:>6}  passed: {passed / max(asked, 1):.2%}"
    yield f"{sum(row.counts['not_asked'] for row in done):>6}  messages that no turn goes on with"
    short = [row for row in done if row.fault]
    yield f"{len(short):>6}  templates do not pass"
    for cause, same in by_cause(short, _gate_cause):
        yield f"{len(same):>6}    {cause or 'of unknown cause'}"
        for row in same:
            yield f"{'':10}  {row.name}: {row.counts['passed']} of {row.counts['asked']}"
            yield f"{'':12}  {row.fault[:200]}"
    yield from _usual(done)
    silent = Counter(why for row in done for why in row.silent)
    yield f"{silent.total():>6}  prompts that nothing goes on from"
    yield from (f"{count:>6}    {why}" for why, count in silent.most_common())


def _usual(done: Sequence[Gated]) -> Iterator[str]:
    asking = [row for row in done if row.counts["usual_asked"]]
    asked = sum(row.counts["usual_asked"] for row in asking)
    yield f"{asked:>6}  asked again as users send them, of {len(asking)} templates"
    yield f"{sum(row.counts['usual_passed'] for row in asking):>6}    passed"
    short = [row for row in asking if row.counts["usual_passed"] < row.counts["usual_asked"]]
    for cause, same in by_cause(short, _usual_cause):
        yield f"{len(same):>6}    {cause or 'of unknown cause'}"
        for row in same:
            passed = f"{row.counts['usual_passed']} of {row.counts['usual_asked']}"
            yield f"{'':10}  {row.name}: {passed}"


def _usual_cause(gated: Gated) -> str:
    """Return the lost part, or the cause why the template's own form fails."""
    spoiled = f"spoiled as users send it: {gated.spoiled}" if gated.spoiled else ""
    return spoiled or (_gate_cause(gated) if gated.fault else "")


def _gate_cause(gated: Gated) -> str:
    """Return the template's cause, or the one of settings whose self-check fails."""
    causes = Counter(cause_of(gated.name, verdict, gated.judged) for verdict in gated.failed)
    most = causes.most_common(1)
    return known_causes("gate").get(gated.name, "") or (most[0][0] if most else "")


def _bad(found: Sequence[Gated]) -> list[tuple[Gated, Verdict, str]]:
    return [
        (row, verdict, cause_of(row.name, verdict, row.judged))
        for row in found
        for verdict in row.failed
    ]


def _judge(done: Sequence[Gated]) -> Iterator[str]:
    asked = [verdict for row in done for verdict in row.asked]
    passed = sum(not verdict.faults for verdict in asked)
    yield "a second judge, by plain renders: told the setting, the prompt, both"
    yield f"{len(asked):>6}  continuations asked"
    yield f"{passed:>6}  passed in all three ways: {passed / max(len(asked), 1):.2%}"
    for way in Way:
        told = sum(all(fault.way is not way for fault in verdict.faults) for verdict in asked)
        yield f"{told:>6}    {way}"
    bad = _bad(done)
    names = {row.name for row, _, _ in bad}
    yield f"{len(names):>6}  templates do not pass"
    for cause, same in by_cause(bad, lambda row: row[2]):
        counted = Counter(row.name for row, _, _ in same)
        yield f"{len(counted):>6}    {cause or 'of unknown cause'}"
        for name, count in counted.items():
            first = next(verdict for row, verdict, _ in same if row.name == name)
            fault = first.faults[0]
            yield f"{'':10}  {name}: {count} messages, first {first.title}, {fault.way}"
            yield f"{'':12}  {fault.detail[:200]}"
    not_asked = Counter(
        verdict.silence for gated in done for verdict in gated.judged if verdict.silence
    )
    yield f"{not_asked.total():>6}  messages not asked"
    yield from (f"{not_asked[why]:>6}    {why}" for why in Silence)


def _differing(found: Sequence[Gated]) -> list[Gated]:
    return [row for row in found if row.differs and not row.counts["failed_checks"]]


def _defaults(done: Sequence[Gated]) -> Iterator[str]:
    differing = _differing(done)
    yield f"{len(differing):>6}  default formats that differ from a render with nothing set"
    yield from (f"{'':8}  {row.name}: {row.differs}" for row in differing)
    failing = [row for row in done if row.differs and row.counts["failed_checks"]]
    yield f"{len(failing):>6}    more, whose self-check fails"
    yield from (f"{'':8}  {row.name}: {row.differs[:200]}" for row in failing)


def _alike_lines(done: Sequence[Gated]) -> Iterator[str]:
    having = [row for row in done if row.alike]
    groups = [group for row in having for group in row.alike]
    asked = [group for group in groups if group.asked]
    yield f"{len(having):>6}  templates with prompts that end alike before formats that differ"
    yield f"{len(groups):>6}    such prompts; of {len(asked)} the template goes on in several"
    read = sum(group.read for group in asked)
    accepted = sum(group.accepted for group in asked)
    yield f"{read:>6}    of these read under every setting as when the setting is told"
    yield f"{accepted:>6}    of these accepted so"
    yield from (
        f"{'':10}  {row.name}"
        for row in having
        if any(not (group.read and group.accepted) for group in row.alike)
    )


def _word_lines(done: Sequence[Gated]) -> Iterator[str]:
    """Name each word that changes a turn as the value of a switch, and what came of it alone."""
    words = [word for row in done for word in row.words]
    asked = [word for word in words if word.asked]
    yield f"{len(words):>6}  words that change a turn, of {sum(bool(row.words) for row in done)}"
    yield f"{len(asked):>6}    whose turns go on from the prompt"
    yield f"{sum(word.checked for word in asked):>6}      self-check"
    yield f"{sum(word.gated for word in asked):>6}      gate"
    yield f"{sum(word.told(read=True) for word in asked):>6}      read, told the setting"
    yield f"{sum(word.told(read=False) for word in asked):>6}      accepted, told the setting"
    for row in done:
        for word in row.words:
            ok = word.checked and word.gated and word.told(read=True) and word.told(read=False)
            verdict = ("passes" if ok else "fails") if word.asked else "not asked"
            yield f"{'':8}  {row.name}: {word.name}: {verdict}"


GATES = Board(gated, _lines, _explained, chunk=8)
