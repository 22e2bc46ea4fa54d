"""The page on one template: `analyze`, with the renders, round trips and plots behind it.

A section is a heading with an anchor and the blocks after it; most of these are what a terminal
shows too. What only a page draws is a `Picture`, whose data is gathered in `page_pictures`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.text_alignment import diff_split
from autoparser.analysis.core.turn_format import joints_of
from autoparser.analysis.core.verdicts import AskedForm, Check, Failure
from autoparser.analysis.formats.format_file import SavedPhase
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.prober import Evidence, Finding, Probe
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.lint.hit import HitEvidence, Severity, ShownText
from autoparser.analysis.lint.linting import LintFinding, LintReport
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.overview.portrait import GrammarForms, Portrait, SwitchView
from autoparser.analysis.templates.chat_template import ChatTemplate

from .blocks import (
    Block,
    Blocks,
    DifferencePiece,
    Excerpt,
    Facts,
    Fold,
    Heading,
    Panel,
    Panels,
    Paragraph,
    Row,
    ShownDifference,
    Side,
    Table,
    TableColumn,
    badge,
    code,
    heading,
    joined,
    link,
    prose,
    rows,
    sentence,
    small,
    tagged,
)
from .example import example_message, turn_notes
from .page_pictures import (
    call_picture,
    conversation_section,
    mask_section,
    round_trip_section,
    trace_section,
    turn_picture,
)
from .pages import PageTop, page
from .phases import dialogue_rows, marker_rows, render_conditions
from .places import lines_of, short_name, template_place
from .request_grammar import grammar_rows, turn_expression
from .screen import screen_rows
from .settings import gate_score, gate_words, setting_rows, settings_words
from .summary import default_mode, summary_rows
from .switches import NO_EFFECT, switch_rows, switch_sentences, unmoved_words, unset_words
from .verdict import check_score, failure_reason, sandbox_words, spoiled_words, verdict_basis
from .visible import UNCONFIRMED, quoted, setting_words, visible
from .what_was_asked import TOOLS_IN_PROMPT, bounds_rows, tools_in_prompt_groups, tools_summary

_OPEN = ("screen", "findings")
"""Sections that tell first things; the others unfold."""
MOST_FAILURES = 12
LONGEST_LINE = 240
"""Characters of a template's line that are shown."""


def report_page(portrait: Portrait, version: str, index: str | None = None) -> str:
    """Write the page: one file that asks for nothing and runs nothing.

    `index` names a page beside it that lists this one among others.
    """
    name = short_name(portrait.analysis)
    badges = list(_badges(portrait))
    top = PageTop(f"{name} · autoparser report", "autoparser report", name, badges, index)
    return page(top, _folded(_sections(portrait, version)), version)


def saved_page(
    saved: SavedFormat, grammar_forms: GrammarForms, tools: Sequence[Tool], version: str
) -> str:
    """Write the page on a saved format: all but what takes renders."""
    name = short_name(saved)
    badges = [*_verdict_badges(saved), *_mode_badges(saved)]
    kind = "autoparser report on a saved format"
    blocks = [
        Heading(Text("At a glance"), "screen"),
        *_screen(saved),
        Heading(Text("Summary"), "summary"),
        *_summary(saved),
        *_format(saved),
        *_conclusions(saved),
        *_parser(saved),
        *_grammar(grammar_forms, tools),
        *_verdicts(saved),
        *_provenance(saved, "", version),
    ]
    return page(
        PageTop(f"{name} · autoparser report", kind, name, badges), _folded(blocks), version
    )


def _folded(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Heading) and block.anchor and block.anchor not in _OPEN:
            yield replace(block, folded=True)
        else:
            yield block


def _sections(portrait: Portrait, version: str) -> Blocks:
    analysis = portrait.analysis
    return [
        Heading(Text("At a glance"), "screen"),
        *_screen(analysis),
        *_findings(portrait.lint, analysis.template),
        Heading(Text("Summary"), "summary"),
        *_summary(analysis),
        *_format(analysis),
        *_switch_views(portrait.views),
        *trace_section(portrait.trace),
        *_tools_in_prompt(portrait.tools_in_prompt),
        *_phases(analysis),
        *round_trip_section(portrait),
        *conversation_section(portrait.conversation),
        *_parser(analysis),
        *_grammar(portrait.grammar, portrait.tools),
        *mask_section(portrait.masks),
        *_verdicts(analysis),
        *_asked_section(analysis),
        *_provenance(analysis, portrait.tokenizer, version),
    ]


def _lead(words: str | Text) -> Paragraph:
    return Paragraph(Text(words) if isinstance(words, str) else words, look="lead")


def _badges(portrait: Portrait) -> Iterator[Text]:
    yield from _verdict_badges(portrait.analysis)
    verdicts = [row.verdict for row in portrait.round_trip.rows]
    if verdicts:
        held = sum(verdict.holds for verdict in verdicts)
        kind = "good" if held == len(verdicts) else "doubt"
        yield badge(f"round trip {held}/{len(verdicts)}", kind)
    count = len(_released(portrait.lint))
    yield badge(f"{count} finding{'s' * (count != 1)}", "doubt" if count else "good")
    yield from _mode_badges(portrait.analysis)


def _verdict_badges(learned: LearnedFormat) -> Iterator[Text]:
    check, gate = learned.check, learned.gate
    yield badge(check_score(check), "good" if check.ok else "bad")
    if gate.asked:
        kind = "bad" if not gate.ok else "plain" if learned.spoiled else "good"
        yield badge(gate_score(gate), kind)


def _mode_badges(learned: LearnedFormat) -> Iterator[Text]:
    view = learned.view
    modes = (("reasoning", default_mode(learned)), ("content", view.content), ("calls", view.tools))
    return (badge(f"{name} {mode.value}", "plain") for name, mode in modes)


_OWN_FINDINGS = "Findings"
"""Of the analysis itself: on a page the rules have looked, which find these, too."""


def _screen(learned: LearnedFormat) -> Blocks:
    """Draw a turn, and say what it does not show: what each switch does, where turns stop."""
    format_ = learned.formats.united
    notes = turn_notes(format_, example_message(format_))
    switches = [(code(name), text) for name, text in switch_sentences(learned)]
    if learned.unmoved:
        switches.append((Text(NO_EFFECT), unmoved_words(learned.unmoved)))
    return [
        *(Paragraph(Text(note), look="note") for note in notes),
        turn_picture(learned),
        *rows(row for row in screen_rows(learned) if row[0] != _OWN_FINDINGS),
        *(heading("Switches, set as chat_template_kwargs") if switches else []),
        *rows(switches),
    ]


def _released(report: LintReport) -> Sequence[LintFinding]:
    """Return the findings that a page shows at once: those of lint's usual profile."""
    return [each for each in report.findings if Profile.RELEASE.shows(each.rule, each.severity)]


_KINDS = {Severity.ERROR: "bad", Severity.WARNING: "doubt", Severity.INFO: "plain"}


def _findings(report: LintReport, template: ChatTemplate) -> Blocks:
    """List what the rules found, the weightiest first, each with its line and what shows it.

    As `autoparser lint` does, what is not in its usual profile is folded.
    """
    at_once = _released(report)
    folded = [each for each in report.findings if each not in at_once]
    drawn: Blocks = [Heading(Text("Findings"), "findings", str(len(at_once)))]
    drawn += [_finding(each, template) for each in at_once]
    if not at_once:
        nothing = f"No rule found anything that the profile {Profile.RELEASE} shows."
        drawn.append(_lead(nothing if folded else "No rule found anything."))
    if folded:
        many = f"{len(folded)} finding{'s' * (len(folded) != 1)}"
        words = f"{many} not in the profile {Profile.RELEASE}"
        drawn.append(Fold(Text(words), [_finding(each, template) for each in folded]))
    if report.left_out:
        left_out = [
            (code(rule.code), Text(f"{rule.summary}: needs {need.value}"))
            for rule, need in report.left_out
        ]
        drawn.append(Fold(Text(f"{len(left_out)} rules could not look"), rows(left_out)))
    return drawn


def _fold_title(tag: str, what: str, concludes: str | Text, mark: Text | None = None) -> Text:
    """Return the line of a fold: a short name, a long one, and what it comes to."""
    conclusion = Text(concludes) if isinstance(concludes, str) else concludes
    return sentence(
        mark or "",
        tagged(tag, "b", **{"class": "tag"}) if tag else "",
        tagged(what, "span", **{"class": "what"}),
        conclusion,
    )


def _finding(finding: LintFinding, template: ChatTemplate) -> Fold:
    facts: list[Row] = []
    line, place = finding.line, template_place(template, finding.line)
    if line is not None:
        text = "".join(lines_of(template.text)[line - 1 : line]).strip()
        facts.append((f"Line {line}", code(visible(text[:LONGEST_LINE]))))
    facts.append(("Confidence", Text(finding.confidence.value)))
    if finding.fix:
        facts.append(("What fixes it", Text(visible(finding.fix))))
    if finding.also:
        facts.append(("Seen as well by", Text(", ".join(finding.also))))
    message = tagged(visible(finding.message), "span", **{"class": "concludes"})
    where = sentence(message, " ", small(str(place))) if place is not None else message
    weight = badge(finding.severity.value, _KINDS[finding.severity])
    title = _fold_title(finding.code, finding.rule.name, where, weight)
    return Fold(title, [*rows(facts), *map(_shown_evidence, finding.evidence)])


def _one_sided(prefix: str, own: str, suffix: str, side: Side, label: str) -> ShownDifference:
    """Return a render: what it has alone between the ends of what both have."""
    pieces = ((Side.BOTH, prefix), (side, own), (Side.BOTH, suffix))
    listed = tuple(DifferencePiece(each, text) for each, text in pieces if text)
    return ShownDifference(listed, label=label)


def _shown_evidence(evidence: HitEvidence) -> Panels:
    one, other = evidence.one, evidence.other
    if other is None:
        return Panels(
            (_text_panel(one, _one_sided("", one.text, "", Side.BOTH, one.label), "both"),)
        )
    split = diff_split(one.text, other.text)
    left = _one_sided(split.prefix, split.left, split.suffix, Side.LEFT, one.label)
    right = _one_sided(split.prefix, split.right, split.suffix, Side.RIGHT, other.label)
    same = one.text == other.text and not (one.error or other.error)
    return Panels(
        (_text_panel(one, left, "left"), _text_panel(other, right, "right")),
        Text("Both render the same text.") if same else None,
    )


def _text_panel(shown_text: ShownText, render: Block, side: str) -> Panel:
    if shown_text.error:
        render = _raises("It raises ", shown_text.error)
    messages_json = json.dumps(list(shown_text.messages), indent=2, ensure_ascii=False)
    talk = _whole_text("The conversation", messages_json)
    return Panel(
        Text(visible(shown_text.label)), [render, *([talk] if shown_text.messages else [])], side
    )


def _raises(words: str, error: str) -> Paragraph:
    return Paragraph(sentence(words, tagged(visible(error), "q")), look="bad")


def _whole_text(title: str, text: str) -> Fold:
    """Fold a long text, which scrolls in a box that the keyboard reaches."""
    lines = tuple(Text(visible(line)) for line in text.split("\n"))
    return Fold(Text(title), [Excerpt(lines, label=title)], printed=False)


def _summary(learned: LearnedFormat) -> Blocks:
    return rows(row for row in summary_rows(learned) if row[0] != "Template")


def _provenance(learned: LearnedFormat, tokenizer: str, version: str) -> Blocks:
    """Say what was looked at, and by what; `tokenizer` is its file, empty where there is none."""
    template = learned.template
    facts = [("Template", Text(visible(template.origin or "a text")))]
    if template.name not in (None, "default"):
        facts.append(("Named", Text(visible(str(template.name)))))
    facts += [
        ("Text", Text(f"{learned.characters} characters")),
        ("SHA-256", code(learned.sha256)),
        ("Renders", Text(f"{learned.renders} for the analysis")),
        ("Tokenizer", Text(visible(tokenizer) or "none: --tokenizer PATH gives one")),
        ("Made by", Text(f"autoparser {version}")),
    ]
    return [Heading(Text("Provenance"), "provenance"), Facts(tuple(facts), look="small")]


def _format(learned: LearnedFormat) -> Blocks:
    """Take the turn apart, and list markers, modes, switches and settings."""
    return [
        Heading(Text("The turn, taken apart"), "turn"),
        *call_picture(learned),
        *_openings(learned),
        *_joints(learned),
        *_markers(learned),
        *_modes(learned),
        *_switches(learned),
        *(_settings(learned) if len(learned.formats) > 1 else []),
    ]


def _page_table(
    caption: str, heads: Iterable[str], cells: Iterable[Sequence[str | Text]], look: str = ""
) -> Table:
    listed = tuple(
        tuple(Text(cell) if isinstance(cell, str) else cell for cell in row) for row in cells
    )
    return Table(tuple(map(TableColumn, heads)), listed, caption=caption, look=look)


def _openings(learned: LearnedFormat) -> Blocks:
    openings = learned.formats.united.openings
    if not openings:
        return []
    cells = [
        (
            setting_words(opening.setting) or "nothing set",
            quoted(opening.text) if opening.text else "empty",
            opening.written.value,
        )
        for opening in openings
    ]
    heads = ("switches", "generation prompt", "it has written")
    caption = "The generation prompt under each setting"
    return [*heading("The generation prompt"), _page_table(caption, heads, cells, "texts-2")]


def _joints(learned: LearnedFormat) -> Blocks:
    cells = [
        (
            f"{joint.before} → {joint.after}",
            quoted(joint.text) if joint.text else "nothing",
            ", ".join(str(presence) for presence in joint.presences),
        )
        for joint in joints_of(learned.formats.united)
    ]
    caption = "What stands between neighbors"
    table = _page_table(caption, ("from → to", "text", "in a turn of"), cells, "texts-2")
    return [*heading(caption), table]


def _markers(learned: LearnedFormat) -> Blocks:
    """List every marker, with the phase whose renders show it."""
    cells: list[tuple[Text, Text, Text]] = [
        (code(name), text, _phase_link(phase)) for phase, name, text in marker_rows(learned)
    ]
    stops = learned.formats.united.stop_strings
    cells += [(code("stop string"), quoted(text), _phase_link("")) for text in stops]
    count = str(len(learned.markers.items()))
    title = Heading(Text("Markers"), "markers", count)
    if not cells:
        return [title, _lead("None: nothing stands around any part.")]
    words = "Cores alone, without the whitespace at their edges; each with the phase behind it."
    table = _page_table("Markers", ("marker", "text", "found by"), cells)
    return [replace(title, lead=words), table]


def _phase_link(phase: str) -> Text:
    return link(phase, f"#phase-{phase}") if phase else Text("the end of the turn")


MEANINGS = {
    "reasoning": {
        "NONE": "no reasoning reaches the text",
        "TAG_BASED": "between two markers",
        "DELIMITER": "from the turn's start up to a marker",
        "FORCED_OPEN": "the generation prompt has opened it",
        "FORCED_CLOSED": "one setting's prompt opens it, another's writes an empty block",
        "TOOLS_ONLY": "only in turns with calls",
    },
    "content": {
        "PLAIN": "nothing stands around it",
        "ALWAYS_WRAPPED": "markers stand around it",
        "WRAPPED_WITH_REASONING": "markers stand around it beside reasoning",
    },
    "tool calls": {
        "NONE": "no call reaches the text",
        "JSON_NATIVE": "a JSON object holds name and arguments",
        "TAG_WITH_JSON": "the name, then the arguments as JSON",
        "TAG_WITH_TAGGED": "the name, then each argument by itself",
    },
    "call id": {
        "NONE": "not written apart from JSON",
        "PRE_FUNC_NAME": "before the function's name",
        "BETWEEN_FUNC_AND_ARGS": "between the name and the arguments",
        "POST_ARGS": "after the arguments",
    },
}


def _modes(learned: LearnedFormat) -> Blocks:
    """List what kind of format this is."""
    view = learned.view
    modes = {
        "reasoning": view.reasoning.value,
        "content": view.content.value,
        "tool calls": view.tools.value,
        "call id": view.call_id.value,
    }
    flags = {
        "tools in the prompt": view.flags.supports_tools,
        "several calls in a turn": view.flags.supports_parallel_calls,
        "content must not be null": view.flags.requires_nonnull_content,
        "calls in one array": view.flags.tools_array_wrapped,
    }
    cells = [(name, code(mode), MEANINGS[name][mode]) for name, mode in modes.items()]
    cells += [(name, code("yes" if flag else "no"), "") for name, flag in flags.items()]
    lead = "docs/modes.md explains every mode, flag and marker, by templates that show it."
    table = _page_table("Modes and flags", ("of", "mode", "meaning"), cells)
    return [Heading(Text("Modes"), "modes", lead=lead), table]


def _switches(learned: LearnedFormat) -> Blocks:
    """List the variables that a caller may set, and what each value changes."""
    cells: list[tuple[Text, Text, Text]] = []
    for switch in learned.switches:
        unset = unset_words(switch, learned.formats)
        name = visible(switch.name)
        for at, (value, words) in enumerate(switch_rows(learned, switch)):
            hidden_name = tagged(name, "span", **{"class": "unseen"})
            first = sentence(code(name), " ", small(unset))
            cells.append((hidden_name if at else first, code(value), words))
    lead = "Variables that a caller may set, and what each value changes."
    drawn: Blocks = [
        Heading(
            Text("Switches"),
            "switches",
            str(len(learned.switches)),
            lead=lead if cells else "None: no variable changes a render.",
        )
    ]
    if cells:
        drawn.append(_page_table("Switches", ("switch", "value", "effect"), cells))
    if learned.unmoved:
        drawn += prose(sentence(f"{NO_EFFECT}: ", unmoved_words(learned.unmoved)))
    return drawn


def _settings(learned: LearnedFormat) -> Blocks:
    """List the formats: under what each is so, what it writes, whether it holds."""
    lead = settings_words(learned.formats)
    heads = ("chat_template_kwargs", "how turns begin, and the self-check")
    return [
        Heading(Text("Settings"), "settings", str(len(learned.formats)), lead=lead),
        _page_table("Settings", heads, setting_rows(learned)),
    ]


def _switch_views(views: Sequence[SwitchView]) -> Blocks:
    """Fold a view for each setting that changes something; the first is what nothing set gives."""
    if not views:
        return []
    usual, *others = views
    alike = [each for each in others if _view_texts(each) == _view_texts(usual)]
    changing = [each for each in others if each not in alike]
    lead = "What follows the question in the prompt, and what the template writes of a turn."
    drawn: Blocks = [Heading(Text("A turn per switch"), "views", str(len(others)), lead=lead)]
    drawn += [_view(each) for each in (usual, *changing)]
    if alike:
        names = [code(setting_words(each.setting)) for each in alike]
        drawn += prose(sentence("The same as with nothing set: ", joined(names, " ")))
    return drawn


def _view_texts(view: SwitchView) -> tuple[str, str, str]:
    return view.prompt, view.turn.text, view.turn.refusal


def _view(view: SwitchView) -> Fold:
    name = setting_words(view.setting) or "nothing set"
    refusal = visible(view.turn.refusal)
    return Fold(
        tagged(name, "b", **{"class": "what"}),
        [
            *heading("The prompt ends with"),
            _shown_text(view.prompt, f"The prompt's end, {name}"),
            *heading("The turn in the history"),
            Paragraph(Text(refusal), look="bad")
            if refusal
            else _shown_text(view.turn.text, f"The turn, {name}"),
        ],
    )


def _shown_text(text: str, label: str) -> Block:
    if text:
        return ShownDifference((DifferencePiece(Side.BOTH, text),), label=label)
    return Paragraph(Text("nothing", style="dim"))


def _tools_in_prompt(prompt_tools: ToolsInPrompt) -> Blocks:
    """List what of tools does not reach the prompt, and on which of them the template raises."""
    counts = {"fail": len(prompt_tools.crashes), "lost": len(prompt_tools.lost)}
    note = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    tables = [
        _page_table(title, (title, "tools"), pairs)
        for title, pairs in tools_in_prompt_groups(prompt_tools)
    ]
    return [
        Heading(Text(TOOLS_IN_PROMPT), "tools", note),
        _lead(tools_summary(prompt_tools)),
        *tables,
    ]


_PHASES = (
    "Each phase renders two conversations that differ in one thing. Their words are invented, so"
    " that a render shows where each of them went; what only one of the renders has is colored."
)


def _phases(analysis: Analysis) -> Blocks:
    """List the phases; each opens to its evidence."""
    title = Heading(Text("Phases"), "phases", str(len(analysis.phases)), lead=_PHASES)
    return [title, *(_phase(analysis, finding) for finding in analysis.phases)]


def _conclusions(saved: SavedFormat) -> Blocks:
    """List what the phases concluded; a saved format has no renders of them."""
    lead = "What each phase concluded. The renders that say so are not in a saved format."
    facts = [
        (tagged(f"{each.phase} {each.title}", "span", id=f"phase-{each.phase}"), _concluded(each))
        for each in saved.phases
    ]
    return [Heading(Text("Phases"), "phases", str(len(facts)), lead=lead), *rows(facts)]


def _concluded(each: Finding | SavedPhase) -> Text:
    doubt = "" if each.confirmed else f" ({UNCONFIRMED})"
    return sentence(visible(each.conclusion), (doubt, "yellow"))


def _phase(analysis: Analysis, finding: Finding) -> Fold:
    known = analysis.markers.items()
    found = [
        sentence(code(name), " ", quoted(known[name])) for name in finding.markers if name in known
    ]
    conclusion = tagged(visible(finding.conclusion), "span", **{"class": "concludes"})
    doubt = "" if finding.confirmed else f" ({UNCONFIRMED})"
    title = _fold_title(finding.phase, finding.title, sentence(conclusion, (doubt, "yellow")))
    # A link to what is inside opens the box.
    evidence: Blocks = [_renders(each) for each in finding.evidence]
    markers = prose(joined(found, ", ")) if found else []
    return Fold(title, [*markers, *evidence], anchor=f"phase-{finding.phase}")


def _renders(evidence: Evidence) -> Panels:
    first, _, second = evidence.difference.partition(" / ")
    split = evidence.split
    same = evidence.left.rendered and evidence.right.rendered and not (split.left or split.right)
    caption = visible(evidence.difference) + (" — both render the same text" if same else "")
    names = first or "the one", second or "the other"
    left = _one_sided(split.prefix, split.left, split.suffix, Side.LEFT, _render_of(names[0]))
    right = _one_sided(split.prefix, split.right, split.suffix, Side.RIGHT, _render_of(names[1]))
    return Panels(
        (
            _probe_panel(names[0], evidence.left, left, "left"),
            _probe_panel(names[1], evidence.right, right, "right"),
        ),
        Text(caption),
    )


def _render_of(name: str) -> str:
    return f"the render of {name}"


def _probe_panel(name: str, probe: Probe, render: Block, side: str) -> Panel:
    if probe.error is not None:
        render = _raises("No text: the template raises ", probe.error.reason)
    title = sentence(visible(name), small(f" {render_conditions(probe)}"))
    return Panel(title, [Facts(tuple(dialogue_rows(probe.dialogue)), look="said"), render], side)


def _parser(learned: LearnedFormat) -> Blocks:
    """Draw the tree of rules by which a model's output is read."""
    lead = sentence(
        "How a model's output is read: ",
        code("a b"),
        " is a then b, ",
        code("a / b"),
        " a or else b, ",
        code("?"),
        " makes optional, ",
        code("*"),
        " repeats. Literals are as the template writes them; the reader forgives whitespace at"
        " their edges.",
    )
    rules = Facts(tuple(grammar_rows(turn_expression(learned))), look="rules")
    return [Heading(Text("The parser"), "parser"), _lead(lead), rules]


def _grammar(grammar: GrammarForms, tools: Sequence[Tool]) -> Blocks:
    """Show what the example request, which offers these tools, lets a model write."""
    offered = json.dumps(list(tools), indent=2, ensure_ascii=False)
    names = ", ".join(str(tool.get("name")) for tool in tools) or "no tool"
    lead = (
        "What a request with these tools lets a model write: what the template would write, and"
        " nothing else."
    )
    facts = [
        ("Tools", Text(visible(names))),
        ("Triggers", _texts(grammar.triggers, "none: nothing begins a call")),
        ("Tokens to keep", _texts(grammar.preserved_tokens, "none")),
        ("Stop strings", _texts(grammar.stop_strings, "none: nothing closes a turn")),
        *((f"Not as {name}", Text(visible(reason))) for name, reason in grammar.refusals.items()),
    ]
    return [
        Heading(Text("The grammar"), "grammar", lead=lead),
        *rows(facts),
        *(_whole_text(name, text) for name, text in grammar.forms.items()),
        _whole_text("The tools of the request", offered),
    ]


def _texts(texts: Sequence[str], none: str) -> Text:
    return joined([quoted(text) for text in texts], " ") if texts else Text(none)


def _verdicts(learned: LearnedFormat) -> Blocks:
    """Say how every setting's format does on the fixed messages, and behind real prompts."""
    passed = sum(check.passed for check in learned.checks)
    total = sum(check.total for check in learned.checks)
    drawn: Blocks = [Heading(Text("Self-check"), "check", f"{passed}/{total}")]
    for format_, check in zip(learned.formats, learned.checks, strict=True):
        if len(learned.checks) > 1:
            drawn += heading(setting_words(format_.setting) or "nothing set")
        drawn += _self_check(check)
    gate = learned.gate
    faults = [
        (
            visible(fault.title),
            setting_words(fault.setting) or "nothing set",
            f"not {fault.question.value}: {visible(fault.detail)}",
        )
        for fault in gate.faults
    ]
    heads = ("message", "chat_template_kwargs", "what is wrong")
    return [
        *drawn,
        Heading(Text("Gate"), "gate", f"{gate.passed}/{gate.asked}"),
        *prose(gate_words(learned)),
        *([_page_table("Gate", heads, faults)] if faults else []),
    ]


def _self_check(check: Check) -> Iterator[Block]:
    """Say how a format does on the fixed messages; show those on which it fails."""
    yield _lead(f"{check.passed} of {check.total} fixed messages pass: {verdict_basis(check)}.")
    if check.ok:
        return
    if check.different:
        yield _lead(
            f"{len(check.different)} fixed messages come out otherwise than the template renders"
            " them: what this page says does not hold for such messages."
        )
    forbidden = sandbox_words(check)
    if forbidden:
        yield _lead(f"{forbidden[0].upper()}{forbidden[1:]}.")
    by_size = sorted(check.failures, key=lambda failure: failure.rank)
    for at, failure in enumerate(by_size[:MOST_FAILURES]):
        yield _failure(failure, opened=not at)
    for form in check.forms:
        yield from _spoiled(form)
    if len(by_size) > MOST_FAILURES:
        yield from prose(f"And {len(by_size) - MOST_FAILURES} more.")


def _failure(failure: Failure, *, opened: bool) -> Fold:
    message = json.dumps(failure.message.to_dict(), ensure_ascii=False)
    split = diff_split(failure.rendered or "", failure.written or "")
    left: Block = _one_sided(
        split.prefix, split.left, split.suffix, Side.LEFT, "what the template renders"
    )
    right: Block = _one_sided(
        split.prefix, split.right, split.suffix, Side.RIGHT, "what the analysis writes"
    )
    if failure.rendered is None:
        left = Paragraph(Text("no text: it raises"), look="bad")
    if failure.written is None:
        right = Paragraph(Text("no text: it says that the template raises"), look="bad")
    panels = (
        Panel(Text("the template renders"), [left], "left"),
        Panel(Text("the analysis writes"), [right], "right"),
    )
    conclusion = tagged(failure_reason(failure), "span", **{"class": "concludes"})
    title = _fold_title("", visible(failure.title), conclusion)
    return Fold(title, [*prose(code(visible(message))), Panels(panels)], opened)


def _spoiled(form: AskedForm) -> Iterator[Block]:
    """Show the first message that is spoiled as users send it, in both forms."""
    fault = form.fault
    if fault is None:
        return
    split = diff_split(fault.usual, fault.wanted)
    left = _one_sided(split.prefix, split.left, split.suffix, Side.LEFT, form.usual)
    right = _one_sided(split.prefix, split.right, split.suffix, Side.RIGHT, form.wanted)
    conclusion = tagged(spoiled_words(form), "span", **{"class": "concludes"})
    panels = (Panel(Text(form.usual), [left], "left"), Panel(Text(form.wanted), [right], "right"))
    yield Fold(_fold_title("", form.usual, conclusion), [Panels(panels)], opened=True)


def _asked_section(analysis: Analysis) -> Blocks:
    """List over what the analysis says what it says."""
    facts = [("renders", str(analysis.renders)), *bounds_rows(analysis.asked)]
    listed = rows((label.capitalize(), Text(words)) for label, words in facts)
    return [Heading(Text("What was asked"), "asked"), *listed]
