"""The page on one template: `analyze`, with renders, round trips and plots.

A section is a heading with an anchor and the blocks after it, most of which a terminal shows too.
Drawings that only a page has are `Picture` blocks, whose data is gathered in `page_pictures`.

Two prompts are shown side by side with their differences marked. For example, of `Hi↵<think>` and
`Hi↵</think>`, which differ in one sign, the whole markers `<think>` and `</think>` are marked.
Badges at the head name the verdicts and the modes:

    >>> from autoparser import analyze
    >>> learned = analyze("fixtures/templates/j1-json-in-tags.jinja")
    >>> [str(badge) for badge in (*_verdict_badges(learned), *_mode_badges(learned))][1:]
    ['grammar and parser 14/14 turns', 'reasoning TAG_BASED', 'content PLAIN', 'calls JSON_NATIVE']
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from msgspec.structs import replace
from rich.text import Text

from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.text_alignment import prefix_length, suffix_length
from autoparser.analysis.core.turn_format import format_joints
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.lint.hit import HitEvidence, Severity, ShownText
from autoparser.analysis.lint.linting import FindingFilter, LintFinding, LintReport
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.overview.portrait import (
    GrammarForms,
    PlainPrompt,
    Portrait,
    SwitchView,
)
from autoparser.analysis.templates.chat_template import ChatTemplate

from .analysis import screen_rows
from .blocks import (
    SHORTEST_MATCH,
    Block,
    Blocks,
    ComparedTexts,
    DifferencePiece,
    Entries,
    Entry,
    Excerpt,
    Facts,
    Fold,
    Heading,
    Paragraph,
    Row,
    ShownDifference,
    Side,
    TextSide,
    badge,
    code,
    compare_texts,
    heading,
    join_texts,
    lead,
    prose,
    rows,
    sentence,
    small,
    split_pieces,
    table,
    tag_text,
)
from .example import call_section, turn_section
from .page_pictures import conversation_section, mask_section, round_trip_section, trace_section
from .pages import PageScript, PageTop, page
from .phases import marker_section, phases_section
from .places import jinja_lines, short_name, template_place
from .request_grammar import grammar_rows, turn_expression
from .serving import serving_section
from .settings import settings_section
from .summary import summary_rows
from .switches import NO_EFFECT, switch_section, switch_sentences, unmoved_words
from .tested_range import bounds_section
from .tools_in_prompt import tools_in_prompt_section
from .verdict import check_score, check_section, gate_score, gate_section
from .visible import counted_noun, first_names, quote_marker, setting_words, visible

_CLOSING = (
    "This page is one file. It loads nothing; its only script links each piece of a prompt to the"
    " template line that wrote it."
)
MOST_ALIKE = 3
"""Settings named beside the one whose prompt is shown."""
LONGEST_LINE = 240
"""Longest template line shown, in characters."""


def report_page(portrait: Portrait, version: str, index: str | None = None) -> str:
    """Return the page: one file without external resources, with a script that marks traced lines.

    `index` is the name of a page beside it that lists this one.
    """
    name = short_name(portrait.analysis)
    badges = list(_badges(portrait))
    top = PageTop(f"{name} · autoparser report", "autoparser report", name, badges, index)
    blocks = _fold_sections(_sections(portrait, version), portrait.analysis)
    return page(top, blocks, version, script=PageScript.TRACED_LINES, closing=_CLOSING)


def saved_page(
    saved: SavedFormat, grammar_forms: GrammarForms, tools: Sequence[Tool], version: str
) -> str:
    """Return the page on a saved format: every section that needs no renders."""
    name = short_name(saved)
    badges = [*_verdict_badges(saved), *_mode_badges(saved)]
    kind = "autoparser report on a saved format"
    blocks = [
        *_screen(saved, _openings(saved)),
        *serving_section(saved),
        *_summary(saved),
        *_format(saved),
        *phases_section(saved),
        *_parser(saved),
        *_grammar(grammar_forms, tools),
        *check_section(saved),
        *gate_section(saved),
        *_provenance(saved, "", version),
    ]
    return page(
        PageTop(f"{name} · autoparser report", kind, name, badges),
        _fold_sections(blocks, saved),
        version,
    )


def _fold_sections(blocks: Iterable[Block], learned: LearnedFormat) -> Iterator[Block]:
    """Fold all sections except introductory ones and those with faults."""
    opened = {"screen", "conversation", "serve", "findings"}
    opened |= {"check"} if not learned.check.ok else set()
    opened |= {"gate"} if not learned.gate.ok else set()
    for block in blocks:
        if isinstance(block, Heading) and block.anchor and block.anchor not in opened:
            yield replace(block, folded=True)
        else:
            yield block


def _sections(portrait: Portrait, version: str) -> Blocks:
    """Return the sections in the order of the page."""
    analysis = portrait.analysis
    # A failed verdict comes before everything that it casts doubt on; a passed one at the end.
    verdicts = (
        (analysis.check.ok, check_section(analysis)),
        (analysis.gate.ok, gate_section(analysis)),
    )
    return [
        *_screen(analysis, _prompts(portrait.prompts)),
        *conversation_section(portrait.conversation),
        *serving_section(analysis),
        *_findings(portrait.lint, analysis.template),
        *(block for passes, section in verdicts if not passes for block in section),
        *trace_section(portrait.trace),
        *_summary(analysis),
        *_format(analysis),
        *_switch_views(portrait.views),
        *tools_in_prompt_section(portrait.tools_in_prompt),
        *phases_section(analysis),
        *round_trip_section(portrait),
        *_parser(analysis),
        *_grammar(portrait.grammar, portrait.tools),
        *mask_section(portrait.masks),
        *(block for passes, section in verdicts if passes for block in section),
        *bounds_section(analysis),
        *_provenance(analysis, portrait.tokenizer, version),
    ]


def _format(learned: LearnedFormat) -> Blocks:
    """Show the parts of the turn, the markers, modes, switches and settings."""
    return [
        Heading(Text("The turn, taken apart"), "turn"),
        *call_section(learned),
        *_openings(learned),
        *_joints(learned),
        *marker_section(learned),
        *_modes(learned),
        *switch_section(learned),
        *settings_section(learned),
    ]


def _badges(portrait: Portrait) -> Iterator[Text]:
    yield from _verdict_badges(portrait.analysis)
    verdicts = [row.verdict for row in portrait.round_trip.rows]
    if verdicts:
        held = sum(verdict.holds for verdict in verdicts)
        kind = "good" if held == len(verdicts) else "doubt"
        yield _badge(f"round trip {held}/{len(verdicts)}", kind, "round-trip-inside")
    count = len(_release_findings(portrait.lint))
    yield _badge(counted_noun(count, "finding"), "doubt" if count else "good", "findings")
    yield from _mode_badges(portrait.analysis)


def _verdict_badges(learned: LearnedFormat) -> Iterator[Text]:
    check, gate = learned.check, learned.gate
    # A section that passes is folded; a link to its inside opens it.
    place = "check-inside" if check.ok else "check"
    yield _badge(check_score(check), "good" if check.ok else "bad", place)
    if gate.asked:
        kind = "bad" if not gate.ok else "plain" if learned.spoiled else "good"
        yield _badge(gate_score(gate), kind, "gate-inside" if gate.ok else "gate")


def _badge(words: str, kind: str, place: str) -> Text:
    """Return a verdict that links to its section."""
    return tag_text(words, "a", href=f"#{place}", **{"class": f"badge {kind}"})


def _mode_badges(learned: LearnedFormat) -> Iterator[Text]:
    view = learned.view
    modes = (("reasoning", view.reasoning), ("content", view.content), ("calls", view.tools))
    return (badge(f"{name} {mode.value}", "plain") for name, mode in modes)


def _screen(learned: LearnedFormat, prompts: Blocks) -> Blocks:
    """Show prompts and a turn, with notes on switches and stop strings."""
    switches = [(code(name), text) for name, text in switch_sentences(learned)]
    if learned.unmoved:
        switches.append((Text(NO_EFFECT), unmoved_words(learned.unmoved)))
    return [
        Heading(Text("At a glance"), "screen"),
        *prompts,
        *turn_section(learned),
        *rows(screen_rows(learned)),
        *(heading("Switches, set as chat_template_kwargs") if switches else []),
        *rows(switches),
    ]


def _prompts(prompts: Sequence[PlainPrompt]) -> Blocks:
    """Show the default prompt beside the one under another setting; others are folded."""
    if not prompts:
        return []
    # The prompts come with the most different endings first.
    usual, *others = prompts
    if not others:
        pieces = (DifferencePiece(Side.BOTH, usual.text),)
        alone = ComparedTexts((_prompt_side(usual),), pieces)
        return [*heading("The prompt of a short question"), alone]
    shown, *more = (_beside(usual, other) for other in others)
    folds = [
        Fold(Text(" or ".join(_settings_words(prompt))), [texts], printed=False)
        for prompt, texts in zip(others[1:], more, strict=True)
    ]
    return [
        *heading("The prompt of a short question, and the effect of a switch"),
        shown,
        *folds,
    ]


def _beside(usual: PlainPrompt, other: PlainPrompt) -> ComparedTexts:
    left, right = usual.text, other.text
    pieces = tuple(compare_texts(left, right))
    own = [piece for piece in pieces if piece.side is not Side.BOTH]
    if len(own) == 1 and len(own[0].text) < SHORTEST_MATCH:
        # The difference is less than a marker, as in `<think>` and `</think>`: show both whole.
        start, end = prefix_length(left, right), 0
        start -= _match_length(_MARKER_BEGUN.search(left, 0, start))
        end = suffix_length(left[start:], right[start:])
        end -= _match_length(_MARKER_LEFT.match(left, len(left) - end))
        middles = left[start : len(left) - end], right[start : len(right) - end]
        pieces = split_pieces(left[:start], *middles, left[len(left) - end :])
    return ComparedTexts((_prompt_side(usual), _prompt_side(other)), pieces)


_MARKER_BEGUN = re.compile(r"[^\w\s]*\Z")
_MARKER_LEFT = re.compile(r"\w*[^\w\s]*")


def _match_length(match: re.Match[str] | None) -> int:
    return len(match.group()) if match else 0


def _prompt_side(prompt: PlainPrompt) -> TextSide:
    words, *alike = _settings_words(prompt)
    note = f"also with {first_names(alike, MOST_ALIKE)}" if alike else ""
    return TextSide(words, note, label=f"The prompt, {words}")


def _settings_words(prompt: PlainPrompt) -> list[str]:
    return [setting_words(setting) or "nothing set" for setting in prompt.settings]


def _release_findings(report: LintReport) -> Sequence[LintFinding]:
    """Return the findings that a page shows unfolded: the ones in lint's default profile."""
    return [finding for finding in report.findings if FindingFilter(Profile.RELEASE).shows(finding)]


_KINDS = {Severity.ERROR: "bad", Severity.WARNING: "doubt", Severity.INFO: "plain"}


def _findings(report: LintReport, template: ChatTemplate) -> Iterator[Block]:
    """List the rules' findings, the most severe first, each with its line and evidence.

    Findings outside the default profile are folded, as in `autoparser lint`.
    """
    at_once = _release_findings(report)
    # Conventions of most templates would bury the faults.
    folded = [finding for finding in report.findings if finding not in at_once]
    yield Heading(Text("Findings"), "findings", str(len(at_once)))
    if at_once:
        yield _finding_entries(at_once, template)
    else:
        nothing = f"No findings in the profile {Profile.RELEASE}."
        yield from lead(nothing if folded else "No findings.")
    if folded:
        words = f"{counted_noun(len(folded), 'finding')} outside the profile {Profile.RELEASE}"
        yield Fold(Text(words), [_finding_entries(folded, template)])
    if report.left_out:
        left_out = [
            (code(rule.code), Text(f"{rule.summary}: needs {need.value}"))
            for rule, need in report.left_out
        ]
        yield Fold(Text(f"{counted_noun(len(left_out), 'rule')} not run"), rows(left_out))


def _finding_entries(findings: Sequence[LintFinding], template: ChatTemplate) -> Entries:
    return Entries(tuple(_finding_entry(finding, template) for finding in findings))


def _finding_entry(finding: LintFinding, template: ChatTemplate) -> Entry:
    facts: list[Row] = []
    line, place = finding.line, template_place(template, finding.line)
    if line is not None:
        text = "".join(jinja_lines(template.text)[line - 1 : line]).strip()
        facts.append((f"Line {line}", code(visible(text[:LONGEST_LINE]))))
    facts.append(("Confidence", Text(finding.confidence.value)))
    if finding.fix:
        facts.append(("Fix", Text(visible(finding.fix))))
    if finding.also:
        facts.append(("Also found by", Text(", ".join(finding.also))))
    if place is not None:
        # The page names the template's path once, in its provenance.
        place = replace(place, path=PurePath(place.path).name)
    where = "" if place is None else sentence(" ", small(str(place)))
    return Entry(
        finding.rule.name,
        sentence(visible(finding.message), where),
        finding.code,
        badge(finding.severity.value, _KINDS[finding.severity]),
        [*rows(facts), *map(_shown_evidence, finding.evidence)],
    )


def _shown_evidence(evidence: HitEvidence) -> ComparedTexts:
    one, other = evidence.one, evidence.other
    if other is None:
        pieces = (DifferencePiece(Side.BOTH, one.text),) if one.text else ()
        return ComparedTexts((_text_side(one),), pieces)
    compared = tuple(compare_texts(one.text, other.text))
    return ComparedTexts((_text_side(one), _text_side(other)), compared)


def _text_side(shown: ShownText) -> TextSide:
    # Not escaped as ASCII: a page is UTF-8, and other scripts stay readable.
    messages = json.dumps(list(shown.messages), indent=2, ensure_ascii=False)
    return TextSide(
        visible(shown.label),
        error=sentence("raises ", tag_text(visible(shown.error), "q")) if shown.error else None,
        below=[_whole_text("The conversation", messages)] if shown.messages else [],
        label=shown.label,
    )


def _whole_text(title: str, text: str) -> Fold:
    """Fold a long text in a scrolling box with keyboard focus."""
    lines = tuple(Text(visible(line)) for line in text.split("\n"))
    return Fold(Text(title), [Excerpt(lines, label=title)], printed=False)


def _summary(learned: LearnedFormat) -> Blocks:
    # The page's title and provenance have the template.
    listed = rows(row for row in summary_rows(learned) if row[0] != "Template")
    return [Heading(Text("Summary"), "summary"), *listed]


def _provenance(learned: LearnedFormat, tokenizer: str, version: str) -> Blocks:
    """Describe the template and the program; `tokenizer` is its file, or empty without one."""
    template = learned.template
    facts = [("Template", Text(visible(template.origin or "a text")))]
    if template.name not in (None, "default"):
        facts.append(("Named", Text(visible(str(template.name)))))
    facts += [
        ("Text", Text(f"{learned.characters} characters")),
        ("SHA-256", code(learned.sha256)),
        ("Renders", Text(f"{learned.renders} for the analysis")),
        ("Tokenizer", Text(visible(tokenizer) or "none (pass one with --tokenizer PATH)")),
        ("Made by", Text(f"autoparser {version}")),
    ]
    return [Heading(Text("Provenance"), "provenance"), Facts(tuple(facts), look="small")]


def _openings(learned: LearnedFormat) -> Blocks:
    openings = learned.formats.united.openings
    if not openings:
        return []
    cells = [
        (
            setting_words(opening.setting) or "nothing set",
            quote_marker(opening.text) if opening.text else "empty",
            opening.written.value,
        )
        for opening in openings
    ]
    heads = ("switches", "generation prompt", "which is")
    caption = "The generation prompt under each setting"
    return [*heading("The generation prompt"), *table(caption, heads, cells, "texts-2")]


def _joints(learned: LearnedFormat) -> Blocks:
    cells = [
        (
            f"{before} → {after}",
            quote_marker(text) if text else "nothing",
            ", ".join(map(str, presences)),
        )
        for (before, after), texts in format_joints(learned.formats.united).items()
        for text, presences in texts.items()
    ]
    caption = "Text between neighboring parts"
    heads = ("from → to", "text", "in a turn of")
    return [*heading(caption), *table(caption, heads, cells, "texts-2")]


MEANINGS = {
    "reasoning": {
        "NONE": "not rendered",
        "TAG_BASED": "between two markers",
        "DELIMITER": "from the beginning of the turn to a marker",
        "FORCED_OPEN": "the generation prompt opens it",
        "FORCED_CLOSED": "a setting chooses between a prompt that opens it and one that closes it",
        "TOOLS_ONLY": "only in turns with calls",
    },
    "content": {
        "PLAIN": "without markers",
        "ALWAYS_WRAPPED": "between markers",
        "WRAPPED_WITH_REASONING": "between markers next to reasoning",
    },
    "tool calls": {
        "NONE": "not rendered",
        "JSON_NATIVE": "a JSON object with name and arguments",
        "TAG_WITH_JSON": "the name, then the arguments as JSON",
        "TAG_WITH_TAGGED": "the name, then each argument between its own markers",
    },
    "call id": {
        "NONE": "none outside the JSON",
        "PRE_FUNC_NAME": "before the function's name",
        "BETWEEN_FUNC_AND_ARGS": "between the name and the arguments",
        "POST_ARGS": "after the arguments",
    },
}


def _modes(learned: LearnedFormat) -> Blocks:
    """List the properties of this format."""
    view = learned.view
    modes = {
        "reasoning": view.reasoning.value,
        "content": view.content.value,
        "tool calls": view.tools.value,
        "call id": view.call_id.value,
    }
    flags = {
        "tools in the prompt": view.flags.supports_tools,
        "parallel calls": view.flags.supports_parallel_calls,
        "content must not be null": view.flags.requires_nonnull_content,
        "calls in one array": view.flags.tools_array_wrapped,
    }
    cells = [(name, code(mode), MEANINGS[name][mode]) for name, mode in modes.items()]
    cells += [(name, code("yes" if flag else "no"), "") for name, flag in flags.items()]
    words = "docs/modes.md explains every mode, flag and marker with sample templates."
    shown = table("Modes and flags", ("of", "mode", "meaning"), cells)
    return [Heading(Text("Modes"), "modes"), *lead(words), *shown]


def _switch_views(views: Sequence[SwitchView]) -> Iterator[Block]:
    """Fold the turn under each setting that changes it; the first is the default."""
    if not views:
        return
    usual, *others = views
    # A switch of the prompt's beginning changes no turn.
    alike = [other for other in others if _turn_text(other) == _turn_text(usual)]
    changing = [other for other in others if other not in alike]
    words = "The rendered turn, with one switch set at a time."
    yield from (Heading(Text("A turn per switch"), "views", str(len(others))), *lead(words))
    yield from map(_view, (usual, *changing))
    if alike:
        names = [code(setting_words(view.setting)) for view in alike]
        yield from prose(sentence("The same as with nothing set: ", join_texts(names, " ")))


def _turn_text(view: SwitchView) -> tuple[str, str]:
    return view.turn.text, view.turn.refusal


def _view(view: SwitchView) -> Fold:
    name = setting_words(view.setting) or "nothing set"
    text, refusal = _turn_text(view)
    shown: Block = Paragraph(Text(visible(refusal)), look="bad")
    if not refusal:
        whole = (DifferencePiece(Side.BOTH, text),)
        shown = ShownDifference(whole, label=f"The turn, {name}")
    return Fold(tag_text(name, "b", **{"class": "what"}), [shown])


def _parser(learned: LearnedFormat) -> Blocks:
    """Draw the tree of rules by which a model's output is parsed."""
    words = sentence(
        "The grammar of a model's output: ",
        code("a b"),
        " is a then b, ",
        code("a / b"),
        " a or else b, ",
        code("?"),
        " makes optional, ",
        code("*"),
        " repeats. Literals are as rendered; the parser ignores differences in whitespace at their"
        " edges.",
    )
    rules = Facts(tuple(grammar_rows(turn_expression(learned))), look="rules")
    return [Heading(Text("The parser"), "parser"), *lead(words), rules]


def _grammar(grammar: GrammarForms, tools: Sequence[Tool]) -> Blocks:
    """Show the output that the example request allows a model to write with these tools."""
    offered = json.dumps(list(tools), indent=2, ensure_ascii=False)
    names = ", ".join(str(tool.get("name")) for tool in tools) or "no tool"
    words = (
        "The output that a request with these tools allows: exactly the turns that the template"
        " renders."
    )
    facts = [
        ("Tools", Text(visible(names))),
        ("Triggers", _texts(grammar.triggers, "none (calls have no opening marker)")),
        ("Tokens to keep", _texts(grammar.preserved_tokens, "none")),
        ("Stop strings", _texts(grammar.stop_strings, "none (turns have no end marker)")),
        *((f"Not as {name}", Text(visible(reason))) for name, reason in grammar.refusals.items()),
    ]
    return [
        Heading(Text("The grammar"), "grammar"),
        *lead(words),
        *rows(facts),
        # Folded: a grammar has hundreds of lines, which few readers want.
        *(_whole_text(name, text) for name, text in grammar.forms.items()),
        _whole_text("The tools of the request", offered),
    ]


def _texts(texts: Sequence[str], none: str) -> Text:
    return join_texts([quote_marker(text) for text in texts], " ") if texts else Text(none)
