"""The debugger in a terminal: a template, its prompt, and one piece of that at a time.

`DebuggerApp` shows the template, the prompt beside it, and why each piece of that was written. The
screens after it stand over it. What they show is drawn by `autoparser.reports.debugger`.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from autoparser.analysis.overview.debugged_prompts import DebuggedConversation, SwitchedRender
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.render_trace import RenderTrace
from autoparser.reports import visible
from autoparser.reports.debugger import (
    PIECE,
    beside_text,
    drawn_prompt,
    failure_text,
    piece_text,
    switched_text,
    template_text,
)

from . import wings

_ABOVE = 4
"""Lines that stay in sight above the current one."""


class Pane(VerticalScroll, can_focus=False):
    """A pane that follows the current piece; without focus, so that arrows go to other pieces."""


class DebuggerApp(App[None]):
    """Debug a template over a conversation."""

    TITLE = "autoparser debug"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    CSS = """
    #title { height: 1; background: $panel; padding: 0 1; }
    #panes { height: 1fr; }
    Pane { scrollbar-gutter: stable; }
    #panes Pane { width: 1fr; padding: 0 1; }
    #template { border-right: solid $panel; overflow-x: auto; }
    #template Static { width: auto; }
    #why { height: auto; max-height: 45%; border-top: solid $panel; padding: 0 1; }
    #find { display: none; height: 1; border: none; }
    #find.asked { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,right,down,j", "step(1)", "next piece"),
        Binding("p,left,up,k", "step(-1)", "previous"),
        Binding("home,g", "pick(0)", "first", show=False),
        Binding("end,G", "last", "last", show=False),
        Binding("slash", "ask", "find"),
        Binding("s", "switches", "switches"),
        Binding("b", "beside", "two side by side"),
        Binding("c", "choose", "conversation"),
        Binding("e", "edit", "edit"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(
        self,
        label: str,
        template: ChatTemplate,
        conversations: Sequence[DebuggedConversation],
        other: DebuggedConversation | None = None,
    ) -> None:
        super().__init__()
        self.label = label
        self.template = template
        self.conversations = [*conversations]
        self.conversation = self.conversations[0]
        self.other = other
        self.traced: RenderTrace = self.conversation.trace(template)
        self.current = 0
        self.switches: Sequence[Switch] | None = None
        """Those of the template; None until they are asked for, which takes many renders."""

    def compose(self) -> ComposeResult:
        """Draw the panes."""
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
        """Leave keys to what stands over the panes, but for the one that ends the program."""
        del parameters
        return len(self.screen_stack) == 1 or action == "quit"

    def on_resize(self, event: Resize) -> None:
        """Break the lines anew."""
        del event
        self.call_after_refresh(self.draw)

    def show(self, conversation: DebuggedConversation) -> None:
        """Render a conversation, and begin where that failed, else at its first piece."""
        self.conversation = conversation
        self.traced = conversation.trace(self.template)
        self.current = len(self.traced.pieces) - 1 if self.traced.failure is not None else 0
        self.current = max(self.current, 0)
        self.draw()

    def _title(self) -> str:
        """Name the template, the conversation and its length; of a long path the end is shown."""
        details = f"  ·  {self.conversation.name}  ·  {len(self.traced.prompt)} characters"
        room = max(self.size.width - len(details) - 2, 20)
        label = self.label if len(self.label) <= room else f"…{self.label[1 - room :]}"
        return label + details

    def draw(self) -> None:
        """Draw all panes for the current piece."""
        trace = self.traced
        written = self.query_one("#written", Pane)
        drawn = drawn_prompt(trace, written.scrollable_content_region.width, self.current)
        self.query_one("#title", Static).update(visible(self._title()))
        self.query_one("#source", Static).update(template_text(trace, self.current))
        self.query_one("#prompt", Static).update(drawn.text)
        why = self.query_one("#why", Pane)
        width = max(why.scrollable_content_region.width, 20)
        reasons = failure_text(trace, width)
        if reasons.plain:
            reasons.append("\n\n")
        reasons.append_text(piece_text(trace, self.current, width))
        self.query_one("#reasons", Static).update(reasons)
        if trace.pieces:
            written.scroll_to(y=max(drawn.rows[self.current] - _ABOVE, 0), animate=False)
        line = self._line()
        if line is not None:
            pane = self.query_one("#template", Pane)
            pane.scroll_to(y=max(line - 1 - _ABOVE, 0), animate=False)

    def _line(self) -> int | None:
        trace = self.traced
        if trace.failure is not None and self.current == max(len(trace.pieces) - 1, 0):
            return trace.failure.line
        site = trace.pieces[self.current].site if trace.pieces else None
        return None if site is None else trace.sites[site].line

    def on_click(self, event: Click) -> None:
        """Go to the piece that was clicked on, or to the first one of a line of the template."""
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
        self.action_pick(len(self.traced.pieces))

    def action_ask(self) -> None:
        """Ask for a text of the prompt."""
        asked = self.query_one("#find", Input)
        asked.disabled = False
        asked.add_class("asked")
        asked.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the piece that holds the text: the next one, else the first."""
        event.input.remove_class("asked")
        event.input.disabled = True
        if not self.find(event.value):
            self.notify(visible(f"the prompt has no {event.value!r}"), severity="warning")

    def find(self, text: str) -> bool:
        """Go to where a text begins, after the current piece or from the top; say whether it is."""
        ends: list[int] = []
        for piece in self.traced.pieces:
            ends.append((ends[-1] if ends else 0) + len(piece.text))
        if not ends or not text:
            return False
        prompt = self.traced.prompt
        at = prompt.find(text, ends[self.current])
        if at < 0:
            at = prompt.find(text)
        if at < 0:
            return False
        self.action_pick(next(number for number, end in enumerate(ends) if at < end))
        return True

    def action_choose(self) -> None:
        """Choose another conversation."""

        def chosen(conversation: DebuggedConversation | None) -> None:
            if conversation is not None:
                self.show(conversation)

        self.push_screen(ChoiceScreen(self.conversations), chosen)

    def action_edit(self) -> None:
        """Edit the conversation."""

        def edited(conversation: DebuggedConversation | None) -> None:
            if conversation is not None:
                self.conversations.append(conversation)
                self.show(conversation)

        self.push_screen(EditScreen(self.conversation, self.template), edited)

    def action_beside(self) -> None:
        """Show another conversation beside this one."""

        def chosen(conversation: DebuggedConversation | None) -> None:
            if conversation is not None:
                other = conversation.trace(self.template)
                titles = self.conversation.name, conversation.name
                self.push_screen(BesideScreen(titles, self.traced, other))

        if self.other is not None:
            other, self.other = self.other, None
            chosen(other)
            return
        self.push_screen(ChoiceScreen(self.conversations), chosen)

    def action_switches(self) -> None:
        """Show what each switch would change."""
        self.notify("asking the template what its switches change …", timeout=2)
        self.run_worker(self._ask_switches, thread=True, exclusive=True)

    def _ask_switches(self) -> None:
        try:
            if self.switches is None:
                self.switches = wings.analyze(self.template).switches
            renders = [*wings.switched_renders(self.template, self.switches, self.conversation)]
        except AutoparserError as error:
            self.call_from_thread(self.notify, visible(str(error)), severity="error")
            return
        self.call_from_thread(self.push_screen, SwitchesScreen(self.traced, renders))


class SwitchesScreen(Screen[None]):
    """The differences, one below the other."""

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
        others = [(each.name, each.value, each.trace) for each in self.renders]
        width = max(event.size.width - 2, 20)
        self.query_one("#changes", Static).update(switched_text(self.trace, others, width))


class BesideScreen(Screen[None]):
    """Their prompts, what each has alone in color, with the template's lines."""

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
    """A list, of which one is given back; None where nothing is chosen."""

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
            Text.assemble((f"{visible(each.name)}  ", "bold"), visible(each.about))
            for each in self.conversations
        ]
        yield OptionList(*rows, id="choices")

    def on_mount(self) -> None:
        """Begin at the first."""
        self.query_one(OptionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen conversation."""
        self.dismiss(self.conversations[event.option_index])


EDITED = "edited"


class EditScreen(Screen[DebuggedConversation | None]):
    """Its messages and tools as YAML; what cannot be read stays here, with the reason."""

    AUTO_FOCUS = "*"
    CSS = """
    #text { height: 1fr; }
    #problem { height: auto; color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
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
            edited = self.conversation.edited(yaml.safe_load(text), EDITED)
        except yaml.YAMLError as error:
            self.query_one("#problem", Static).update(visible(f"broken YAML: {error}"))
        except AutoparserError as error:
            self.query_one("#problem", Static).update(visible(str(error)))
        else:
            self.dismiss(edited)
