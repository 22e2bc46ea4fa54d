"""Load encoders: a function of a Python module that a person names, and its parameters.

Nothing is imported or run unless it is named as ``path/to/module.py:function`` or
``package.module:function``. Values for its parameters may be named after that, as in
``module.py:function?thinking_mode=thinking&drop=false``; a value is JSON where it can be.

What it takes is read from its signature. The messages go to the parameter ``messages`` or
``conversation``, else to the first one. ``tools`` and ``add_generation_prompt`` go to the
parameters of these names. Without a parameter for tools they are put where such modules look
for them, into the first message: a system message, which is made where there is none. Without
one for the generation prompt, `generation_prompt` finds what the function writes unasked, and it is
taken off where none was asked for. All else that a render sets goes to the parameter of its
name. A parameter that must be given and is not has the first value that the module compares it
with.

For example, a function that writes `<role>content</s>` for each message and `<model>` at the end:

    template = load_encoder("e.py:encode")
    messages = [{"role": "user", "content": "Hi"}]
    template.render(messages)                              ->  <user>Hi</s>
    template.render(messages, add_generation_prompt=True)  ->  <user>Hi</s><model>
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from autoparser.analysis.core.error_words import (
    is_mapping,
    is_row,
    spelling_hint,
)
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNotFoundError,
    TemplateReadError,
)
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.core.text_alignment import common_suffix
from autoparser.analysis.templates.encoded_template import REFUSALS, EncodedTemplate
from autoparser.analysis.templates.encoder_source import compared_values
from autoparser.analysis.templates.source_text import variable_value

from .local_files import decode_text, read_path
from .tokenizer_loading import load_tokenizer

if TYPE_CHECKING:
    from types import ModuleType


# The generation prompt of an encoder without a parameter that omits it.
#
# Such a function writes the start of the model's turn after every user message at the end. Two
# encodings separate it from the end of the user's turn: one of the user message V, and one of U and
# V. The text before V in both is the start of a user's turn, the rest of the text between U and V
# is its end, and the text after V beyond that end is the start of the model's turn. For example
#
#     <user>V</s><model>        <user>U</s><user>V</s><model>
#
# has `<user>` and `</s>` around user messages, and the generation prompt `<model>`.


U, V = "Uqaz7", "Vwsx8"
"""Words that no encoder is expected to write by itself, or to change."""


def generation_prompt(encode: Callable[[list[object]], str]) -> str:
    """Return the start of the model's turn, as `encode` writes it, or empty if it writes none.

    Raises what `encode` raises.
    """
    one = encode([_user(V)])
    two = encode([_user(U), _user(V)])
    if one.count(V) != 1 or two.count(U) != 1 or two.count(V) != 1:
        return ""
    between = two[two.index(U) + len(U) : two.index(V)]
    begin = common_suffix(one[: one.index(V)], between)
    end = between[: len(between) - len(begin)]
    behind = two[two.index(V) + len(V) :]
    return behind.removeprefix(end) if behind.startswith(end) else ""


def _user(text: str) -> object:
    return {"role": "user", "content": text}


MESSAGES = ("messages", "conversation")
TOOLS = "tools"
GENERATION = "add_generation_prompt"

_SPECIAL = (TOOLS, GENERATION, "documents", "strftime_now")

SYSTEM_ROLES = ("system", "developer")


def load_encoder(
    named: str,
    *,
    tokenizer: str | os.PathLike[str] | None = None,
    special_tokens: Mapping[str, str] | None = None,
) -> EncodedTemplate:
    """Import a function as a chat template; this runs the code of its module.

        load_encoder("encoding.py:encode_messages?thinking_mode=chat")

    `named` is `path/to/module.py:function` or `package.module:function`, with parameters as
    `?name=value`. `tokenizer` is the source of a tokenizer for functions that return token ids.
    Raises TemplateNotFoundError, TemplateReadError.
    """
    target, _, values = named.partition("?")
    place, _, function_name = target.rpartition(":")
    if not place or not function_name.isidentifier():
        raise TemplateReadError(
            "missing function name",
            file=named,
            hint="pass path/to/module.py:function, or package.module:function",
        )
    given = {key: variable_value(value) for key, value in parse_qsl(values, keep_blank_values=True)}
    module = _import_module(place, named)
    function = _find_function(module, function_name, named)
    path = getattr(module, "__file__", None) or place
    text = _read_source(path, named)
    adapter = _Adapter(function, named, text, given, tokenizer)
    path_of_tokenizer = None if tokenizer is None else os.fspath(tokenizer)
    # A worker may have another current directory.
    absolute = os.path.abspath(place) if place.endswith(".py") else place  # noqa: PTH100
    absolute_name = f"{absolute}:{function_name}{'?' * bool(values)}{values}"
    return EncodedTemplate(
        text,
        dict(special_tokens or {}),
        None,
        target,
        Provenance(SourceKind.ENCODER, adapter.id(target), ran_code=True),
        encode=adapter,
        parameters=adapter.switches,
        path=path,
        maker=(
            _load_again,
            (absolute_name, path_of_tokenizer, tuple((special_tokens or {}).items())),
        ),
    )


@lru_cache(maxsize=8)
def _load_again(
    source_name: str, tokenizer: str | None, special_tokens: tuple[tuple[str, str], ...]
) -> EncodedTemplate:
    """Load an encoder in a worker, once for all renders there."""
    return load_encoder(source_name, tokenizer=tokenizer, special_tokens=dict(special_tokens))


def _import_module(place: str, source_name: str) -> ModuleType:
    """Import a module by path or name, with its standard output sent to standard error."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            if place.endswith(".py"):
                return _import_file(Path(place))
            return importlib.import_module(place)
    except FileNotFoundError:
        words, hint = "no such file", "pass the module's file, or its package"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - foreign code may raise anything
        if isinstance(error, ModuleNotFoundError) and error.name == place.partition(".")[0]:
            words = f"no module {place!r}"
            hint = "give its file as path/to/module.py:function, or install its package"
        else:
            words = f"the module cannot be imported ({type(error).__name__}: {error})"
            hint = "it must be importable on its own; install its imports"
    raise TemplateNotFoundError(words, file=source_name, hint=hint)


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError
    name = f"autoparser_encoder_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a module")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up by its name; neighbors are found beside it.
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _find_function(module: ModuleType, name: str, source_name: str) -> Callable[..., object]:
    function: object = getattr(module, name, None)
    if callable(function):
        return function
    names = [member for member, value in vars(module).items() if inspect.isfunction(value)]
    raise TemplateNotFoundError(
        f"this module has no function {name!r}",
        file=source_name,
        hint=spelling_hint(name, names, f"it has {', '.join(names) or 'none'}"),
    )


def _read_source(path: str, source_name: str) -> str:
    try:
        return decode_text(read_path(Path(path)), path)
    except (OSError, AutoparserError) as error:
        raise TemplateReadError(
            f"the module's source cannot be read ({error})",
            file=source_name,
            hint="pass a module that is written in Python",
        ) from None


class _Adapter:
    """Calls an encoder with the variables of a render."""

    def __init__(
        self,
        function: Callable[..., object],
        source_name: str,
        text: str,
        given_values: Mapping[str, object],
        tokenizer: str | os.PathLike[str] | None,
    ) -> None:
        self.function = function
        self.source_name = source_name
        self.given_values = given_values
        self.tokenizer = None if tokenizer is None else load_tokenizer(tokenizer)
        self.prompts: dict[str, str] = {}
        parameters = self._parameters()
        self.names = list(parameters)
        self.open = any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
        )
        fitting = [name for name in self.names if name in MESSAGES]
        self.messages = (fitting or self.names)[0]
        kind = parameters[self.messages].kind
        self.by_position = kind in (kind.POSITIONAL_ONLY, kind.VAR_POSITIONAL)
        known = {self.messages, *_SPECIAL}
        self.switches = tuple(
            name
            for name, parameter in parameters.items()
            if name not in known
            and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        )
        unknown = [name for name in given_values if name not in self.names and not self.open]
        if unknown:
            raise self._wrong_encoder(
                f"the function has no parameter {unknown[0]!r}",
                f"it has {', '.join(self.names)}",
            )
        required = [
            name for name in self.switches if parameters[name].default is inspect.Parameter.empty
        ]
        self.stand_ins = self._stand_ins(
            [name for name in required if name not in given_values], text
        )

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        parameters: Mapping[str, inspect.Parameter] = {}
        with contextlib.suppress(TypeError, ValueError):
            parameters = inspect.signature(self.function).parameters
        if not parameters:
            raise self._wrong_encoder(
                "the function has no parameters", "pass one that takes messages"
            )
        return parameters

    def _stand_ins(self, names: Sequence[str], text: str) -> dict[str, object]:
        """Return a value for each required parameter, the first that it is compared with."""
        mentioned = compared_values(ast.parse(text), names)
        for name in names:
            if name not in mentioned:
                raise self._wrong_encoder(
                    f"the function needs a value for {name}",
                    f"add it: --encoder '{self.source_name}?{name}=VALUE'",
                )
        return {name: mentioned[name][0] for name in names}

    def id(self, target: str) -> str:
        """Return the function's name with the values that it is called with by default."""
        values = {**self.stand_ins, **self.given_values}
        shown = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in values.items()
        ]
        return f"{target}?{'&'.join(shown)}" if shown else target

    def __call__(self, variables: Mapping[str, object]) -> str:
        """Encode the messages of a render."""
        given: Any = variables["messages"]
        messages: list[object] = [*given]
        tools = variables.get(TOOLS)
        arguments: dict[str, object] = {**self.stand_ins, **self.given_values}
        for name in (TOOLS, GENERATION):
            if name in self.names:
                arguments[name] = variables.get(name)
        if tools and TOOLS not in self.names:
            messages = _with_tools(messages, tools)
        arguments |= {
            name: value
            for name, value in variables.items()
            if name in self.switches or (self.open and name not in ("messages", *_SPECIAL))
        }
        # The messages go here, even if a switch or a named value has the same name.
        arguments.pop(self.messages, None)
        text = self._call_encoder(messages, arguments)
        if GENERATION in self.names or variables.get(GENERATION) or _is_answered(messages):
            return text
        # The function always writes the generation prompt, which this render omits.
        return text.removesuffix(self._prompt(arguments))

    def _call_encoder(self, messages: list[object], arguments: Mapping[str, object]) -> str:
        # The function may change its arguments.
        given, named = copy.deepcopy((messages, dict(arguments)))
        if self.by_position:
            return self._text(self.function(given, **named))
        return self._text(self.function(**{self.messages: given}, **named))

    def _prompt(self, arguments: Mapping[str, object]) -> str:
        """Return the start of the model's turn under these arguments."""
        # The start of the turn may depend on the arguments, e.g. on a switch that opens reasoning.
        key = repr(arguments)
        if key not in self.prompts:
            try:
                prompt = generation_prompt(lambda messages: self._call_encoder(messages, arguments))
            except REFUSALS:
                prompt = ""
            self.prompts[key] = prompt
        return self.prompts[key]

    def _text(self, result: object) -> str:
        if isinstance(result, str):
            return result
        kind = type(result).__name__
        row = result if is_row(result) else ()
        ids = [token for token in row if isinstance(token, int)]
        if not is_row(result) or len(ids) < len(row):
            raise self._wrong_encoder(
                f"the function returned a {kind}, not a string or token ids",
                "pass one that returns the prompt",
            )
        if self.tokenizer is None:
            raise self._wrong_encoder(
                "the function returned token ids, but there is no tokenizer to decode them",
                "add --tokenizer PATH",
            )
        return str(self.tokenizer.decode(ids, skip_special_tokens=False))

    def _wrong_encoder(self, words: str, hint: str) -> TemplateReadError:
        return TemplateReadError(words, file=self.source_name, hint=hint)


def _is_answered(messages: Sequence[object]) -> bool:
    last = messages[-1] if messages else None
    return is_mapping(last) and last.get("role") == "assistant"


def _with_tools(messages: list[object], tools: object) -> list[object]:
    """Put tools into the system message, a new one if necessary."""
    first = messages[0] if messages else None
    if is_mapping(first) and first.get("role") in SYSTEM_ROLES:
        return [{**first, TOOLS: tools}, *messages[1:]]
    return [{"role": SYSTEM_ROLES[0], "content": "", TOOLS: tools}, *messages]
