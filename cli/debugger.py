r"""The debugger in a terminal: a template, its prompt, and one piece of the prompt at a time.

`DebuggerApp` shows the template, the prompt beside it, and the reasons for each piece. The other
screens are overlays. `autoparser.reports.debugger` draws their texts.

Of a conversation in `fixtures/templates/j1-json-in-tags.jinja`, the pieces of a call are

    '<tool_call>\n{"name": "get_weather", "arguments": '    line 42
    '{"city": "Rio", "days": 1}'                            line 43
    '}\n</tool_call>'                                       line 44

so a step from the first piece to the second moves the mark in the template from line 42 to 43.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import yaml
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.events import Click, Resize
from textual.screen import ModalScreen, Screen
from textual.widgets import Footer, Input, OptionList, Static, TextArea

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.overview.debugged_prompts import (
    DebuggedConversation,
    PromptMarks,
    SwitchedRender,
    mark_prompt,
)
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.render_trace import RenderTrace
from autoparser.reports.debugger import (
    PIECE,
    beside_text,
    drawn_prompt,
    drawn_template,
    failure_text,
    learned_length,
    piece_text,
    switched_text,
)
from autoparser.reports.visible import visible

from . import wings

_ABOVE = 4
"""Lines that stay in sight above the current one."""


class Pane(VerticalScroll, can_focus=False):
    """A pane that follows the current piece; without focus, so that arrows go to other pieces."""


def _key(keys: str, action: str, footer: str, about: str) -> Binding:
    """Return a key of the app; without a `footer` it is only in the list of keys."""
    return Binding(keys, action, footer or about, show=bool(footer), tooltip=about)


class DebuggerApp(App[None]):
    """Debug a template over a conversation."""

    TITLE = "autoparser debug"
    ENABLE_COMMAND_PALETTE = False
    # Without a focused pane, all keys reach the app.
    AUTO_FOCUS = None
    CSS = """
    #title { height: 1; background: $panel; padding: 0 1; }
    #panes { height: 1fr; }
    Pane { scrollbar-gutter: stable; }
    #panes Pane { width: 1fr; padding: 0 1; }
    #template { border-right: solid $panel; }
    #why { height: auto; max-height: 45%; border-top: solid $panel; padding: 0 1; }
    #find { display: none; height: 1; border: none; }
    #find.asked { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        _key("n,right,down,j", "step(1)", "next", "the next piece of the prompt"),
        _key("p,left,up,k", "step(-1)", "back", "the piece before"),
        _key("home,g", "pick(0)", "", "the first piece"),
        _key("end,G", "last", "", "the last piece"),
        _key("slash", "ask", "find", "find a text in the prompt"),
        _key("t", "view('tokens')", "tokens", "tokens: start and id of each"),
        _key("l", "view('loss')", "loss", "loss mask: the text that a model is trained on"),
        _key("v", "values", "", "full values, with the content of each {…}, or short ones"),
        _key("s", "switches", "switches", "the effect of each value of each switch"),
        _key("b", "beside", "", "compare with another conversation"),
        _key("c", "choose", "", "go to another conversation"),
        _key("e", "edit", "edit", "edit messages and tools"),
        _key("pagedown", "why(1)", "", "scroll the reasons down"),
        _key("pageup", "why(-1)", "", "scroll the reasons up"),
        _key("question_mark", "help", "keys", "this list"),
        _key("q", "quit", "quit", "quit"),
    ]

    def __init__(
        self,
        label: str,
        template: ChatTemplate,
        conversations: Sequence[DebuggedConversation],
        other: DebuggedConversation | None = None,
        tokenizer: wings.Tokenizer | None = None,
    ) -> None:
        super().__init__()
        self.label = label
        self.template = template
        self.conversations = [*conversations]
        self.conversation = self.conversations[0]
        self.other = other
        """The conversation of `--beside` until it is first shown, then None."""
        self.traced: RenderTrace = self.conversation.trace(template)
        self.current = 0
        """The index of the current piece."""
        self.in_full = False
        """Whether nested values are shown in full."""
        self.switches: Sequence[Switch] | None = None
        """The template's switches, or None until first used: finding them takes many renders."""
        self.tokenizer = tokenizer
        self.analysis: wings.Analysis | None = None
        """The analysis, or None until marks or switches are first shown."""
        self.views: set[str] = set()
        """The marks that are shown: `tokens`, `loss`, both or none."""
        self.marks = PromptMarks()
        """The conversation's marks; empty until they are first used."""

    def compose(self) -> ComposeResult:
        """Create the panes."""
        yield Static(id="title", markup=False)
        with Horizontal(id="panes"):
            with Pane(id="template"):
                yield Static(id="source")
            with Pane(id="written"):
                yield Static(id="prompt")
        with Pane(id="why"):
            yield Static(id="reasons")
        yield Input(placeholder="a text of the prompt", id="find", compact=True, disabled=True)
        yield Footer()

    def on_mount(self) -> None:
        """Draw once the panes have their widths."""
        self.call_after_refresh(self.show, self.conversation)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to overlays, except the one that quits the program."""
        del parameters
        return len(self.screen_stack) == 1 or action == "quit"

    def on_resize(self, event: Resize) -> None:
        """Break the lines anew."""
        del event
        # The panes get their new widths only after this event.
        self.call_after_refresh(self.draw)

    def show(self, conversation: DebuggedConversation) -> None:
        """Render a conversation, and begin at its failure or its first piece."""
        self.conversation = conversation
        self.traced = conversation.trace(self.template, in_full=self.in_full)
        self.current = len(self.traced.pieces) - 1 if self.traced.failure is not None else 0
        self.current = max(self.current, 0)
        self.marks = PromptMarks()
        self.draw()
        self._ask_views()

    def _title(self) -> str:
        """Return the template, the conversation and its length; a long path is cut at its start."""
        details = f"  ·  {self.conversation.name}  ·  {len(self.traced.prompt)} characters"
        shown = self._shown_marks()
        details += "" if shown.learned is None else f", {learned_length(shown)} trained on"
        details += f", {len(shown.tokens)} tokens" if shown.tokens else ""
        room = max(self.size.width - len(details) - 2, 20)
        label = self.label if len(self.label) <= room else f"…{self.label[1 - room :]}"
        return label + details

    def _shown_marks(self) -> PromptMarks:
        tokens = self.marks.tokens if "tokens" in self.views else ()
        learned = self.marks.learned if "loss" in self.views else None
        return replace(self.marks, tokens=tokens, learned=learned)

    def draw(self) -> None:
        """Draw all panes for the current piece."""
        trace = self.traced
        marks = self._shown_marks()
        written = self.query_one("#written", Pane)
        template = self.query_one("#template", Pane)
        drawn = drawn_prompt(trace, written.scrollable_content_region.width, self.current, marks)
        source = drawn_template(trace, template.scrollable_content_region.width, self.current)
        self.query_one("#title", Static).update(visible(self._title()))
        self.query_one("#source", Static).update(source.text)
        self.query_one("#prompt", Static).update(drawn.text)
        why = self.query_one("#why", Pane)
        width = max(why.scrollable_content_region.width, 20)
        reasons = failure_text(trace, width)
        if reasons.plain:
            reasons.append("\n\n")
        reasons.append_text(piece_text(trace, self.current, width, marks))
        self.query_one("#reasons", Static).update(reasons)
        # Another piece has other reasons, so begin at the top.
        why.scroll_home(animate=False)
        if trace.pieces:
            written.scroll_to(y=max(drawn.rows[self.current] - _ABOVE, 0), animate=False)
        line = self._line()
        if line is not None:
            template.scroll_to(y=max(source.rows[line - 1] - _ABOVE, 0), animate=False)

    def _line(self) -> int | None:
        trace = self.traced
        # The last piece of a failed render leads to the line that failed.
        if trace.failure is not None and self.current == max(len(trace.pieces) - 1, 0):
            return trace.failure.line
        site = trace.pieces[self.current].site if trace.pieces else None
        return None if site is None else trace.sites[site].line

    def on_click(self, event: Click) -> None:
        """Go to the clicked piece, or to the first one of the clicked line of the template."""
        # The panes draw each piece in a style that holds its index.
        piece = event.style.meta.get(PIECE)
        if isinstance(piece, int):
            self.action_pick(piece)

    def action_step(self, by: int) -> None:
        """Go to another piece."""
        self.action_pick(self.current + by)

    def action_pick(self, piece: int) -> None:
        """Go to this piece."""
        self.current = min(max(piece, 0), max(len(self.traced.pieces) - 1, 0))
        self.draw()

    def action_last(self) -> None:
        """Go to the last piece."""
        # Behind the last piece, from where `action_pick` goes to it.
        self.action_pick(len(self.traced.pieces))

    def action_ask(self) -> None:
        """Ask for a text to find in the prompt."""
        asked = self.query_one("#find", Input)
        # Disabled until now, so that no key goes to it unasked.
        asked.disabled = False
        asked.add_class("asked")
        asked.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next piece that contains the text, or to the first one."""
        event.input.remove_class("asked")
        event.input.disabled = True
        if not self.find(event.value):
            self.notify(visible(f"the prompt has no {event.value!r}"), severity="warning")

    def find(self, text: str) -> bool:
        """Go to a text after the current piece or from the top; return whether it was found."""
        # The offset behind each piece, to find the piece of a place in the prompt.
        ends: list[int] = []
        for piece in self.traced.pieces:
            ends.append((ends[-1] if ends else 0) + len(piece.text))
        if not ends or not text:
            return False
        prompt = self.traced.prompt
        # Search behind the current piece first, so that each search goes on from the last one.
        at = prompt.find(text, ends[self.current])
        if at < 0:
            at = prompt.find(text)
        if at < 0:
            return False
        self.action_pick(next(number for number, end in enumerate(ends) if at < end))
        return True

    def action_values(self) -> None:
        """Show values in full, or short again, at the same piece."""
        self.in_full = not self.in_full
        self.traced = self.conversation.trace(self.template, in_full=self.in_full)
        self.draw()

    def action_choose(self) -> None:
        """Choose another conversation."""

        def show_chosen(conversation: DebuggedConversation | None) -> None:
            if conversation is not None:
                self.show(conversation)

        self.push_screen(ChoiceScreen(self.conversations), show_chosen)

    def action_edit(self) -> None:
        """Edit the conversation."""

        def add_edited(conversation: DebuggedConversation | None) -> None:
            if conversation is not None:
                self.conversations.append(conversation)
                self.show(conversation)

        self.push_screen(EditScreen(self.conversation, self.template), add_edited)

    def action_beside(self) -> None:
        """Show another conversation beside this one."""

        def show_chosen(conversation: DebuggedConversation | None) -> None:
            if conversation is not None:
                other = conversation.trace(self.template)
                titles = self.conversation.name, conversation.name
                self.push_screen(BesideScreen(titles, self.traced, other))

        if self.other is not None:
            # Only the first time: after that, the key lets the user choose another one.
            other, self.other = self.other, None
            show_chosen(other)
            return
        self.push_screen(ChoiceScreen(self.conversations), show_chosen)

    def action_why(self, pages: int) -> None:
        """Scroll the pane of reasons."""
        why = self.query_one("#why", Pane)
        why.scroll_relative(y=pages * max(why.size.height - 1, 1), animate=False)

    def action_help(self) -> None:
        """Show the keys."""
        rows: list[tuple[str, str]] = []
        for binding in DebuggerApp.BINDINGS:
            if isinstance(binding, Binding):
                keys = [self.get_key_display(key) for key in binding.make_bindings([binding])]
                rows.append((" ".join(keys), binding.tooltip))
        rows += [("click", "go to that piece, or to what that line of the template wrote")]
        rows += [("esc", "close the overlay")]
        self.push_screen(HelpScreen(rows))

    def action_view(self, view: str) -> None:
        """Show or hide the tokens, or the loss mask."""
        if view == "tokens" and self.tokenizer is None:
            self.notify("no tokenizer: add --tokenizer PATH", severity="warning")
            return
        self.views ^= {view}
        self.draw()
        self._ask_views()

    def _ask_views(self) -> None:
        if self.views and self.traced.failure is not None:
            self._drop_views("a render that failed has no tokens and no loss mask")
        elif self.views and not self.marks.text:
            if self.analysis is None:
                self.notify("analyzing the template …", timeout=2)
            # In a thread, so that keys still work; a newer request replaces an unfinished one.
            self.run_worker(self._ask_marks, thread=True, exclusive=True)

    def _ask_marks(self) -> None:
        conversation = self.conversation
        try:
            marks = mark_prompt(self._analyze(), conversation, self.tokenizer)
        except AutoparserError as error:
            self.call_from_thread(self._drop_views, visible(error.message))
            return
        # Only the app's own thread may change widgets.
        self.call_from_thread(self._mark, conversation, marks)

    def _mark(self, conversation: DebuggedConversation, marks: PromptMarks) -> None:
        """Draw marks, unless another conversation is shown by now."""
        if conversation is not self.conversation:
            return
        # Marks are places in a prompt: in another one they would be misplaced.
        if marks.text != self.traced.prompt:
            self._drop_views("the analysis renders this conversation differently")
            return
        self.marks = marks
        self.draw()

    def _drop_views(self, reason: str) -> None:
        self.views.clear()
        self.notify(reason, severity="error")

    def _analyze(self) -> wings.Analysis:
        if self.analysis is None:
            self.analysis = wings.analyze(self.template)
        return self.analysis

    def action_switches(self) -> None:
        """Show the effect of each switch."""
        # In a thread, since switches are found by many renders.
        self.notify("analyzing the template …", timeout=2)
        self.run_worker(self._ask_switches, thread=True, exclusive=True)

    def _ask_switches(self) -> None:
        try:
            if self.switches is None:
                self.switches = self._analyze().switches
            renders = [*wings.switched_renders(self.template, self.switches, self.conversation)]
        except AutoparserError as error:
            self.call_from_thread(self.notify, visible(str(error)), severity="error")
            return
        self.call_from_thread(self.push_screen, SwitchesScreen(self.traced, renders))


class HelpScreen(ModalScreen[None]):
    """The list of keys and their actions."""

    CSS = """
    HelpScreen { align: center middle; }
    #keys { width: auto; height: auto; padding: 0 2; border: round $primary; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark,enter", "dismiss", "back")]

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.keys = keys

    def compose(self) -> ComposeResult:
        """Draw the list."""
        lines = [Text.assemble((f"{keys:<10}", "bold"), about) for keys, about in self.keys]
        yield Static(Text("\n").join(lines), id="keys")


class SwitchesScreen(Screen[None]):
    """The effects of switches, one below the other."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "back")]

    def __init__(self, trace: RenderTrace, renders: Sequence[SwitchedRender]) -> None:
        super().__init__()
        self.trace = trace
        self.renders = renders

    def compose(self) -> ComposeResult:
        """Draw the pane."""
        with VerticalScroll(id="switched"):
            yield Static(id="changes")
        yield Footer()

    def on_resize(self, event: Resize) -> None:
        """Break the lines anew."""
        others = [(render.name, render.value, render.trace) for render in self.renders]
        width = max(event.size.width - 2, 20)
        self.query_one("#changes", Static).update(switched_text(self.trace, others, width))


class BesideScreen(Screen[None]):
    """Two prompts side by side, with differences in color and the template's line numbers."""

    CSS = """
    #sides { height: 1fr; }
    #sides VerticalScroll { width: 1fr; }
    .name { height: 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "back")]

    def __init__(self, names: tuple[str, str], left: RenderTrace, right: RenderTrace) -> None:
        super().__init__()
        self.names = names
        self.traces = left, right

    def compose(self) -> ComposeResult:
        """Draw both panes."""
        with Horizontal(id="sides"):
            for side, name in zip(("left", "right"), self.names, strict=True):
                with VerticalScroll():
                    yield Static(visible(name), classes="name", markup=False)
                    yield Static(id=side)
        yield Footer()

    def on_resize(self, event: Resize) -> None:
        """Break the lines anew."""
        texts = beside_text(*self.traces, max(event.size.width // 2 - 3, 20))
        for side, text in zip(("left", "right"), texts, strict=True):
            self.query_one(f"#{side}", Static).update(text)


class ChoiceScreen(ModalScreen[DebuggedConversation | None]):
    """A list of conversations; returns the chosen one, or None."""

    AUTO_FOCUS = "*"
    CSS = """
    ChoiceScreen { align: center middle; }
    #choices { width: 76; max-width: 95%; height: auto; max-height: 80%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "back")]

    def __init__(self, conversations: Sequence[DebuggedConversation]) -> None:
        super().__init__()
        self.conversations = conversations

    def compose(self) -> ComposeResult:
        """Draw the list."""
        rows = [
            Text.assemble((f"{visible(conversation.name)}  ", "bold"), visible(conversation.about))
            for conversation in self.conversations
        ]
        yield OptionList(*rows, id="choices")
        yield Footer()

    def on_mount(self) -> None:
        """Highlight the first one."""
        self.query_one(OptionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen conversation."""
        self.dismiss(self.conversations[event.option_index])


EDITED = "edited"


class EditScreen(Screen[DebuggedConversation | None]):
    """A conversation's messages and tools as YAML; invalid ones stay here, with the reason."""

    AUTO_FOCUS = "*"
    CSS = """
    #text { height: 1fr; }
    #problem { height: auto; color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # Before the text area, which would take these keys itself.
        Binding("ctrl+s", "render_it", "render", priority=True),
        Binding("escape", "dismiss", "back", priority=True),
    ]

    def __init__(self, conversation: DebuggedConversation, template: ChatTemplate) -> None:
        super().__init__()
        self.conversation = conversation
        self.template = template

    def compose(self) -> ComposeResult:
        """Draw the text."""
        yield TextArea(self.conversation.as_yaml(), id="text", show_line_numbers=True)
        yield Static(id="problem", markup=False)
        yield Footer()

    def action_render_it(self) -> None:
        """Return the edited conversation."""
        text = self.query_one("#text", TextArea).text
        try:
            edited = self.conversation.with_edits(yaml.safe_load(text), EDITED)
        except yaml.YAMLError as error:
            self.query_one("#problem", Static).update(visible(f"invalid YAML: {error}"))
        except AutoparserError as error:
            self.query_one("#problem", Static).update(visible(str(error)))
        else:
            self.dismiss(edited)
