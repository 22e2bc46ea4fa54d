"""Templates named by options: loaded, analyzed, and with their tokenizers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from autoparser.analysis.core.errors import AutoparserError, TokenizerError

from . import wings
from .options import (
    SOURCES,
    NameOption,
    OptionGroup,
    RevisionOption,
    TemplateOption,
    excludes,
    leave_out,
)
from .output import print_note, print_warning

STANDARD_INPUT = "-"


def names_saved_format(arguments: Mapping[str, Any]) -> bool:
    """Return whether options name a saved format, which runs no code."""
    # Standard input can be read only once, so it is taken for a template without a look.
    named = arguments["source"] if arguments["encoder"] is None else None
    return named not in (None, STANDARD_INPUT) and wings.is_saved_format(named)


class NamedSource(OptionGroup):
    """The options that name a template."""

    source: Annotated[
        str | None,
        typer.Argument(metavar="TEMPLATE", help=SOURCES, show_default=False),
    ] = None
    name: NameOption = None
    revision: RevisionOption = None
    encoder: Annotated[
        str | None,
        "MODULE:FUNCTION",
        "Use a Python function instead of a template: path/to/module.py:function or"
        " package.module:function, with parameters as ?name=value&name=value.",
    ] = None
    template_place: TemplateOption = None
    """The path of a saved format's template, e.g. `model/chat_template.jinja`; by default, its
    original place."""

    def check(self) -> None:
        """Raise AutoparserError if no template is named, or options contradict each other."""
        if self.source is None and self.encoder is None:
            raise AutoparserError(
                "Missing argument TEMPLATE",
                hint="name a file, a directory, a model on the Hub, or - for standard input",
            )
        # Only a source of several templates has names for them.
        if self.encoder is not None and self.name is not None:
            raise excludes("--encoder", "--name").error
        if self.template_place is not None and not self.saved:
            raise AutoparserError(
                "--template is only for a saved format",
                file=self.label,
                hint="leave it out",
            )

    @property
    def label(self) -> str:
        """Return its name in messages."""
        return self.source if self.encoder is None and self.source else self.encoder or ""

    @property
    def saved(self) -> bool:
        """Return whether it is a saved format."""
        return names_saved_format({"source": self.source, "encoder": self.encoder})

    def learned_format(
        self,
        tokenizer: Path | None = None,
        *,
        isolate: wings.Limits | None = None,
        noted: bool = True,
    ) -> wings.Analysis | wings.SavedFormat:
        """Read a saved format, or load the template and analyze it.

        ``isolate`` are the limits of the worker that analyzes; None analyzes here.
        """
        if self.saved:
            return self.saved_format()
        return self._warn_of_limits(
            wings.analyze(self.template(tokenizer, noted=noted), isolate=isolate or False)
        )

    def analysis(
        self, template: wings.ChatTemplate, *, isolate: wings.Limits | None = None
    ) -> wings.Analysis:
        """Analyze its template; a saved format overrides the conclusions from renders.

        ``isolate`` are the limits of the worker that analyzes; None analyzes here.
        """
        found = self._warn_of_limits(wings.analyze(template, isolate=isolate or False))
        return wings.with_saved(found, self.saved_format()) if self.saved else found

    def _warn_of_limits(self, analysis: wings.Analysis) -> wings.Analysis:
        """Return an analysis, with a warning on standard error if a limit ended some renders."""
        if analysis.beyond:
            ended = "a render was" if analysis.beyond == 1 else f"{analysis.beyond} renders were"
            words = "results do not cover such conversations (--timeout raises the limit)"
            print_warning(self.label, f"{ended} ended by a limit: {words}")
        return analysis

    def saved_format(self) -> wings.SavedFormat:
        """Read the saved format. Raises AutoparserError."""
        for option, value in (("--name", self.name), ("--revision", self.revision)):
            if value is not None:
                raise AutoparserError(
                    f"{option} needs a template, but this is a saved format",
                    file=self.label,
                    hint="leave it out",
                )
        return wings.load_format(self.source or "")

    def template(self, tokenizer: Path | None = None, *, noted: bool = True) -> wings.ChatTemplate:
        """Load the template; ``noted`` describes it on standard error if its name does not.

        ``tokenizer`` decodes the ids of an encoder that returns ids. For a saved format, return the
        template from which it was learned, or raise TemplateNeededError if that is missing or
        changed.
        """
        if self.saved:
            return wings.template_of_format(self.saved_format(), self.template_place)
        if self.encoder is not None:
            # Beside an encoder, TEMPLATE only names the place of the tokenizer.
            beside = None if self.source is None else wings.tokenizer_beside(self.source)
            template: wings.ChatTemplate = wings.load_encoder(
                self.encoder, tokenizer=tokenizer or beside
            )
        else:
            template = wings.load_template(
                self.source or "", name=self.name, revision=self.revision
            )
        if noted:
            words = wings.provenance_words(template.source)
            if words is not None:
                print_note(f"{self.label}: {words}")
        return template

    @property
    def beside(self) -> str | None:
        """Return the tokenizer beside the source, or None if there is none."""
        if self.source is None or self.source == STANDARD_INPUT:
            return None
        return wings.tokenizer_beside(self.source)

    def tokenizer_name(self, tokenizer_path: Path | None) -> str:
        """Return the name of its tokenizer in messages."""
        return str(tokenizer_path or self.beside or self.label)

    def added_tokens(self, tokenizer_path: Path | None = None) -> tuple[str, ...]:
        """Return the added tokens of the named tokenizer, or of the one beside the template.

        They are only suggestions, so nothing is fetched for them, and a tokenizer that cannot be
        loaded has none; a named one raises TokenizerError.
        """
        # A model on the Hub does not exist as a path: its tokenizer would have to be fetched.
        here = self.source is not None and Path(self.source).exists()
        if tokenizer_path is None and not (here and self.beside):
            return ()
        try:
            loaded = self.tokenizer(tokenizer_path, segmenting=False)
        except TokenizerError:
            if tokenizer_path is not None:
                raise
            return ()
        return (
            ()
            if loaded is None
            else tuple(token.text for token in wings.tokenizer_of(loaded).added)
        )

    def tokenizer(
        self,
        tokenizer_path: Path | None,
        template: wings.NamedTemplate | None = None,
        *,
        segmenting: bool,
        needed: str | None = None,
    ) -> wings.Tokenizer | None:
        """Load the named tokenizer or the source's own, or return None if it has none.

        ``template`` provides the commit. ``segmenting`` requires the exact segmentation of the
        model's own tokenizer. ``needed`` is the purpose in words, if a missing tokenizer is an
        error.
        """
        if tokenizer_path is not None:
            # A bare word is a path; only what holds a slash may be a model on the Hub.
            remote = not tokenizer_path.exists() and "/" in str(tokenizer_path)
            load = wings.load_tokenizer if remote else wings.read_tokenizer
            return load(tokenizer_path, segmenting=segmenting)
        beside = self.beside
        problem = None
        if beside is not None:
            # Use the template's own commit, even if the branch has moved since.
            commit = None if template is None or template.source is None else template.source.commit
            try:
                return wings.load_tokenizer(
                    beside, revision=commit or self.revision, segmenting=segmenting
                )
            except TokenizerError as error:
                # A GGUF file or a model on the Hub may have a template without a tokenizer.
                if needed is not None or beside != self.source:
                    raise
                problem = error
        if needed is not None:
            raise AutoparserError(
                f"{needed}, but there is none beside the template",
                file=self.label,
                hint="add --tokenizer PATH",
            )
        if problem is not None:
            print_note(f"{self.label}: note: without a tokenizer: {problem.message}")
        return None


LearnedSource = Annotated[NamedSource, leave_out("template_place")]
"""A template, or a saved format without its template."""

TemplateSource = Annotated[NamedSource, leave_out("encoder")]
"""A template that is text."""

ServedSource = Annotated[NamedSource, leave_out("encoder", "template_place")]
"""A template of a server's model."""
