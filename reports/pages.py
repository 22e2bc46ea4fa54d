"""The painter of pages: blocks as one self-contained HTML text.

Contract: a page loads nothing and runs no foreign code. Its policy allows no request, and no script
but one of ours, named by its digest. Every value passes `visible_lines`, so that nothing in it
hides, moves a cursor or changes the writing direction, and is then escaped by Jinja. Links lead
only to places in the page or to a page beside it: `address` refuses all others.

The templates are in ``page_templates``: `page.jinja` is the shell, `blocks.jinja` has a macro for
each kind of block, `pictures.jinja` the drawings that only pages have. For example, the words

    sentence("ends with ", quoted("</s>"))  ->  ends with <code class="mark">&lt;/s&gt;</code>
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from rich.text import Text

from .blocks import (
    BAD,
    DOUBT,
    GOOD,
    MARKER,
    Block,
    Blocks,
    Fitted,
    Gap,
    Heading,
    StyledRun,
    Words,
    join_texts,
    styled_runs,
)
from .visible import counted_noun, runs, visible, visible_lines

_CLASSES = {MARKER: "mark", BAD: "bad", GOOD: "good", DOUBT: "doubt"}
"""CSS classes of the styles that have a meaning on a page."""
_KEPT = frozenset({"bold", "dim", "italic"})
_TAGS = frozenset({"a", "b", "code", "del", "ins", "q", "small", "span"})
"""Elements allowed around words."""
_BESIDE = re.compile(r"[a-z0-9][a-z0-9-]*\.html")
"""The name of a page in the same folder; its characters cannot name a folder, scheme or host."""
_WIDTH = 100
"""The width that selects among `Fitted` blocks, in cells."""
_CONTEXT, _LONGEST = 240, 4000
"""Longest shared text beside a difference, and longest difference, in characters."""
_ONE_FILE = "This page is one file: it loads nothing and runs nothing."


class PageScript(Enum):
    """Scripts that a page may include: files of this package, inlined unchanged."""

    SURVEY_INDEX = "survey_index.js"
    TRACED_LINES = "traced_lines.js"


@dataclass(frozen=True, slots=True)
class PageTop:
    """The top of a page."""

    title: str
    """The title in a browser, e.g. `chat.jinja · autoparser report`."""
    kind: str
    """The command that writes the page, e.g. `autoparser report`."""
    name: str
    """The page's subject, e.g. `chat.jinja`."""
    badges: Sequence[Text]
    """The verdicts beside the name, each a `badge`, e.g. `47/47 test messages match`."""
    index: str | None = None
    """A page beside it that lists this one among others, e.g. `index.html`, or None."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading with an anchor, and the blocks below it."""

    heading: Heading
    """The heading, e.g. with the anchor `round-trip`."""
    blocks: Blocks = field(default_factory=list[Block])
    """The blocks up to the next heading with an anchor, e.g. one `Table`."""

    @property
    def place(self) -> str:
        """Return the target of links to the section; a browser opens the folds around it."""
        anchor = self.heading.anchor
        return f"{anchor}-inside" if self.heading.folded else anchor


def page(
    top: PageTop,
    blocks: Iterable[Block],
    version: str,
    *,
    script: PageScript | None = None,
    closing: str = _ONE_FILE,
) -> str:
    """Return a page without external resources; without a `script` nothing in it can run."""
    style = _own_file("page.css")
    code = "" if script is None else _own_file(script.value)
    allowed = f" script-src {_digest(code)};" if code else ""
    return (
        _environment()
        .get_template("page.jinja")
        .render(
            top=top,
            badges=join_texts(top.badges, " "),
            sections=list(_sections(blocks)),
            # By digest: even markup that got onto the page could run no script and no style.
            policy=f"default-src 'none'; style-src {_digest(style)};{allowed} img-src data:;"
            " base-uri 'none'; form-action 'none'",
            # The style sheet and the script are the package's own, and the only unescaped texts.
            style=Markup(style),  # noqa: S704
            script=Markup(code),  # noqa: S704
            foot=f"autoparser {version}. {closing}",
        )
    )


def _sections(blocks: Iterable[Block]) -> Iterator[PageSection]:
    found: PageSection | None = None
    for block in blocks:
        if isinstance(block, Heading) and block.anchor:
            if found is not None:
                yield found
            found = PageSection(block)
        # The style sheet sets the space between blocks.
        elif found is not None and not isinstance(block, Gap):
            found.blocks.append(block)
    if found is not None:
        yield found


@cache
def _own_file(name: str) -> str:
    # By `importlib`, since a package may be read from a zip file.
    folder = files("autoparser.reports") / "page_templates"
    return folder.joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    """Return the Jinja environment of this package's own page templates."""
    made = Environment(
        loader=FunctionLoader(_own_file),
        autoescape=True,
        # A misspelled name in a page's template raises, where Jinja would write nothing.
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        # Jinja applies this to every value, so that no macro can forget to escape one.
        finalize=_written_text,
    )
    filters: dict[str, Callable[..., object]] = {
        "address": address,
        "chosen": _choose_blocks,
        "edges": _edges,
        "kind": _kind,
        "own_text": _own_text,
        "shared_text": _shared_text,
        "signs": signs,
        "visible": visible,
        "whole": _whole,
    }
    made.filters.update(filters)
    return made


def _kind(block: Block) -> str:
    return type(block).__name__


def _choose_blocks(block: Fitted) -> Blocks:
    return block.choose(_WIDTH)


def _written_text(value: object) -> object:
    """Return a value as a page's template writes it; Jinja escapes it unless it is markup."""
    if isinstance(value, Markup):
        return value
    return _styled_words(value) if isinstance(value, Text) else visible_lines(str(value))


def address(value: str) -> str:
    """Return an address, or raise ValueError if it leads out of the page's folder."""
    if value.startswith("#") or _BESIDE.fullmatch(value):
        return value
    # Addresses come from our code, so another one is a bug, not an input.
    raise ValueError(f"this address leads out of the page: {value!r}")


def _styled_words(words: Words) -> Markup:
    """Return words with their styles."""
    if isinstance(words, str):
        return escape(visible_lines(words))
    return Markup().join(map(_run_markup, styled_runs(words)))


def _run_markup(run: StyledRun) -> Markup:
    # Other colors, e.g. for messages in a prompt, have no meaning on a page.
    classes = [_CLASSES.get(name, name) for name in run.styles if name in _CLASSES or name in _KEPT]
    found = escape(visible_lines(run.words))
    if "mark" in classes:
        found = _element("code", {"class": " ".join(classes)}, found)
    elif classes:
        found = _element("span", {"class": " ".join(classes)}, found)
    # The first tag is the outermost, so wrap the words in the last one first.
    for tag in reversed(run.tags):
        attributes = {name: value for name, value in tag.items() if name != "tag"}
        found = _element(tag["tag"], attributes, found)
    return found


def _element(tag: str, attributes: dict[str, str], inside: Markup) -> Markup:
    """Return markup inside an allowed element; only allowed elements have attributes."""
    if tag not in _TAGS or not attributes.keys() <= {"class", "href", "id"}:
        raise ValueError(f"words have no element {tag} with {', '.join(attributes)}")
    if "href" in attributes:
        address(attributes["href"])
    written = Markup().join(
        Markup(' {}="{}"').format(name, visible(value)) for name, value in attributes.items()
    )
    return Markup("<{}{}>{}</{}>").format(tag, written, inside, tag)


def signs(text: str, *, breaks: bool = True) -> Markup:
    """Return a text with visible signs; `breaks` starts a new line after each newline's sign."""
    pieces: list[Markup] = []
    for run, is_sign in runs(text):
        if not is_sign:
            pieces.append(escape(run))
            continue
        pieces.append(Markup('<span class="sign">{}</span>').format(run))
        # A browser breaks lines at the newline, which the sign alone would not show.
        if breaks and run == "↵":
            pieces.append(Markup("\n"))
    return Markup().join(pieces)


def _edges(text: str, *, breaks: bool = True) -> Markup:
    """Return a template's text with the whitespace at its edges set apart."""
    # Of whitespace alone the core is empty, and all of it is the second edge.
    core = text.strip()
    start = text.index(core)
    pieces = [
        Markup('<i class="edge">{}</i>').format(signs(edge.replace(" ", "␣"), breaks=breaks))
        if edge
        else Markup()
        for edge in (text[:start], text[start + len(core) :])
    ]
    middle = Markup("<b>{}</b>").format(signs(core, breaks=breaks)) if core else Markup()
    return Markup('<span class="lit">{}{}{}</span>').format(pieces[0], middle, pieces[1])


def _shared_text(text: str, *, first: bool, last: bool) -> Markup:
    """Return a shared text; a long one is reduced to the ends beside differences."""
    # The first and the last shared text have a difference on one side only.
    left_out = len(text) - _CONTEXT * (2 - first - last)
    if left_out <= _CONTEXT:
        return signs(text)
    head = Markup() if first else signs(text[:_CONTEXT]) + Markup("\n")
    tail = Markup() if last else Markup("\n") + signs(text[-_CONTEXT:])
    return head + _omission_markup(left_out, "unchanged character") + tail


def _own_text(text: str) -> Markup:
    left = len(text) - _LONGEST
    more = _omission_markup(left, "more character") if left > 0 else Markup()
    return signs(text[:_LONGEST]) + more


def _omission_markup(count: int, noun: str) -> Markup:
    return Markup('<em class="more">… {}</em>').format(counted_noun(count, noun))


def _whole(lines: Sequence[Text]) -> Markup:
    """Return lines of our own or an engine's text; their newlines break lines without a sign."""
    return Markup("\n").join(map(_styled_words, lines))
