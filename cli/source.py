"""The template that a person names by options: loaded, analyzed, and with its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from autoparser.analysis.core.errors import AutoparserError, TokenizerError

from . import wings
from .options import (
    SOURCES,
    NameOption,
    RevisionOption,
    TemplateOption,
    leave_out,
)
from .output import print_note, print_warning

STANDARD_INPUT = "-"


def names_saved_format(arguments: Mapping[str, Any]) -> bool:
    """Return whether options name a saved format, which runs nothing."""
    named = arguments["source"] if arguments["encoder"] is None else None
    return named not in (None, STANDARD_INPUT) and wings.is_saved_format(named)


@dataclass(frozen=True, slots=True)
class NamedSource:
    """The options by which a person names a template."""

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
    """The path of the template of a saved format; by default, where it was."""

    def check(self) -> None:
        """Raise AutoparserError where it names nothing, or contradicts itself."""
        if self.source is None and self.encoder is None:
            raise AutoparserError(
                "Missing argument TEMPLATE",
                hint="name a file, a directory, a model on the Hub, or - for standard input",
            )
        if self.encoder is not None and self.name is not None:
            raise AutoparserError(
                "--encoder and --name cannot be combined",
                hint="leave one of them out",
            )
        if self.template_place is not None and not self.saved:
            raise AutoparserError(
                "--template is only for a saved format",
                file=self.label,
                hint="leave it out",
            )

    @property
    def label(self) -> str:
        """Its name in messages."""
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
        """Read the format where it is saved, else load the template and analyze it.

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
        """Analyze its template; what a saved format holds counts more than the renders of now.

        ``isolate`` are the limits of the worker that analyzes; None analyzes here.
        """
        found = self._warn_of_limits(wings.analyze(template, isolate=isolate or False))
        return wings.with_saved(found, self.saved_format()) if self.saved else found

    def _warn_of_limits(self, analysis: wings.Analysis) -> wings.Analysis:
        """Return an analysis, and say on standard error where a limit ended some of its renders."""
        if analysis.beyond:
            ended = "a render was" if analysis.beyond == 1 else f"{analysis.beyond} renders were"
            words = "nothing is known of such conversations (--timeout raises the limit)"
            print_warning(self.label, f"{ended} ended by a limit: {words}")
        return analysis

    def saved_format(self) -> wings.SavedFormat:
        """Read the saved format that it is. Raises AutoparserError."""
        for option, value in (("--name", self.name), ("--revision", self.revision)):
            if value is not None:
                raise AutoparserError(
                    f"{option} is for templates, and this is a saved format",
                    file=self.label,
                    hint="leave it out",
                )
        return wings.load_format(self.source or "")

    def template(self, tokenizer: Path | None = None, *, noted: bool = True) -> wings.ChatTemplate:
        """Load it; ``noted`` says on standard error what it is where its name does not say that.

        ``tokenizer`` reads the ids of an encoder that gives ids. Of a saved format it is the
        template that was learned from, where that is there and unchanged: else it raises
        TemplateNeededError.
        """
        if self.saved:
            return wings.template_of_format(self.saved_format(), self.template_place)
        if self.encoder is not None:
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
        """The tokenizer beside the source, or None if there is none."""
        if self.source is None or self.source == STANDARD_INPUT:
            return None
        return wings.tokenizer_beside(self.source)

    def tokenizer_name(self, tokenizer_path: Path | None) -> str:
        """Return the name of its tokenizer in messages."""
        return str(tokenizer_path or self.beside or self.label)

    def added_tokens(self, tokenizer_path: Path | None = None) -> tuple[str, ...]:
        """Return the added tokens of the tokenizer that was named, or is beside the template.

        They only suggest, so nothing is fetched for them, and a tokenizer that cannot be read has
        none; one that was named raises TokenizerError.
        """
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
            () if loaded is None else tuple(each.text for each in wings.tokenizer_of(loaded).added)
        )

    def tokenizer(
        self,
        tokenizer_path: Path | None,
        template: wings.NamedTemplate | None = None,
        *,
        segmenting: bool,
        needed: str | None = None,
    ) -> wings.Tokenizer | None:
        """Load the tokenizer that was named, else the source's own; None where it has none.

        ``template`` says at which commit. ``segmenting`` says that texts are to be cut as the
        model's own tokenizer cuts them. ``needed`` is what cannot be done without, in words;
        then none is an error.
        """
        if tokenizer_path is not None:
            # A bare word is a path; only what holds a slash may be a model on the Hub.
            remote = not tokenizer_path.exists() and "/" in str(tokenizer_path)
            load = wings.load_tokenizer if remote else wings.read_tokenizer
            return load(tokenizer_path, segmenting=segmenting)
        beside = self.beside
        problem = None
        if beside is not None:
            commit = None if template is None or template.source is None else template.source.commit
            try:
                return wings.load_tokenizer(
                    beside, revision=commit or self.revision, segmenting=segmenting
                )
            except TokenizerError as error:
                if needed is not None or beside != self.source:
                    raise
                problem = error
        if needed is not None:
            raise AutoparserError(
                f"{needed}, and there is none beside the template",
                file=self.label,
                hint="name it with --tokenizer",
            )
        if problem is not None:
            print_note(f"{self.label}: note: without a tokenizer: {problem.message}")
        return None


LearnedSource = Annotated[NamedSource, leave_out("template_place")]
"""A template, or a saved format whose template is not needed."""

TemplateSource = Annotated[NamedSource, leave_out("encoder")]
"""A template that is text."""

ServedSource = Annotated[NamedSource, leave_out("encoder", "template_place")]
"""A template of a model that a server has."""
