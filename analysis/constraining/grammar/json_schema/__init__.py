"""JSON Schema as GBNF rules: exactly the schema's values, written as `json.dumps` writes them.

What is taken, and how it is meant:

- All that stands between tokens are the separators given; no other white space. Strings are
  escaped in the one way of `json.dumps`; numbers are written as it writes them (`decimals`),
  integers without a fraction.
- Known members come in the schema's order, required ones always, then members with other names,
  unless `additionalProperties` is false. As in the standard they are allowed where it is absent.
- Without a `type`, a keyword for objects says nothing about strings, as in the standard.
- `anyOf` is a choice; `oneOf` too, where the schemas can be told apart by types, constants,
  bounds or required members, else it is refused; `allOf` and what stands beside a `$ref` are
  merged exactly or refused. `$ref` points into the schema itself, and may recurse.
- Annotations, keywords and formats that the standard does not know say nothing.
- All else raises `SchemaError`, which names the keyword and its JSON pointer. A grammar is never
  weaker than its schema.

Why not ``xgrammar`` 0.2.8, which prints a schema as EBNF: its grammars are weaker than the schema
(they let every value past ``not`` and an ``allOf`` of several, and any number past a ``multipleOf``
for numbers), its dialect is not llama.cpp's (underscores in names, lookaheads, ``Regex(…)`` for a
pattern), and it needs torch and transformers.
"""

from autoparser.analysis.core.schema import SchemaError

from .format_checks import FORMAT_CHECKS
from .gbnf_rules import GbnfRules, any_but, character_class, literal
from .guidance import GuidanceSchema, ensure_loaded, guidance_schema, has_text
from .json_tokens import DEEPEST_LINE
from .plain_schemas import plain_words
from .regex_text import rust_text
from .regex_writer import bare_text
from .satisfiable import may_be_met
from .string_shape import StringShape, ensure_counted, is_filled, string_shape
from .writing import schema_rules, text_rules

__all__ = [
    "DEEPEST_LINE",
    "FORMAT_CHECKS",
    "GbnfRules",
    "GuidanceSchema",
    "SchemaError",
    "StringShape",
    "any_but",
    "bare_text",
    "character_class",
    "ensure_counted",
    "ensure_loaded",
    "guidance_schema",
    "has_text",
    "is_filled",
    "literal",
    "may_be_met",
    "plain_words",
    "rust_text",
    "schema_rules",
    "string_shape",
    "text_rules",
]
