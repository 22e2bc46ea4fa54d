"""Schemas, with values that their grammars must accept and must refuse."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    name: str
    schema: Any
    accepted: list[Any]
    refused: list[Any]


CASES = [
    Case(
        "anything",
        True,
        [None, True, 0, -1.5, "", 'a"\\\n\x01\x7fé😀', [], [1, [2]], {}, {"a": {"b": []}}],
        [],
    ),
    Case("string", {"type": "string"}, ["", "x", "null"], [None, 1, [], {}]),
    Case("integer", {"type": "integer"}, [0, -1, 10, 10**40], [1.5, "1", None, True]),
    Case(
        "number",
        {"type": "number"},
        [0, -0.0, 0.1 + 0.2, 1e16, 1.5e-5, -2.25, 1e300, 123456789012345.6],
        ["1", None],
    ),
    Case("boolean", {"type": "boolean"}, [True, False], [0, "true", None]),
    Case("null", {"type": "null"}, [None], [0, "", False, "null"]),
    Case("types", {"type": ["string", "null"]}, ["", "x", None], [1, True, []]),
    Case("whole and any number", {"type": ["integer", "number"]}, [1, 1.5], ["1"]),
    Case("const text", {"const": 'say "hi"\n'}, ['say "hi"\n'], ["say", 'say "hi"', None]),
    Case("const object", {"const": {"a": [1, {}], "b": None}}, [{"a": [1, {}], "b": None}], [{}]),
    Case(
        "enum",
        {"enum": ["a", "ab", 1, 12, None, [1, 2], {"k": "v"}, -0.5]},
        ["a", "ab", 1, 12, None, [1, 2], {"k": "v"}, -0.5],
        ["b", "", 2, 121, [1], {"k": "w"}, {}, True],
    ),
    Case(
        "enum beside others",
        {
            "enum": ["a", "abc", 1, 5, None],
            "type": ["string", "number"],
            "minLength": 2,
            "minimum": 3,
        },
        ["abc", 5],
        ["a", 1, None],
    ),
    Case("const beside enum", {"const": 1, "enum": [1, 2]}, [1], [2]),
    Case(
        "lengths",
        {"type": "string", "minLength": 2, "maxLength": 3},
        ["ab", "é😀\n"],
        ["a", "abcd"],
    ),
    Case("length of nothing", {"type": "string", "maxLength": 0}, [""], ["a"]),
    Case(
        "long lengths",
        {"type": "string", "minLength": 1500, "maxLength": 3100},
        ["a" * 1500, "é" * 2999, "a" * 3000, "a" * 3100],
        ["a" * 1499, "a" * 3101, ""],
    ),
    Case(
        "long bound",
        {"type": "string", "maxLength": 2000},
        ["", "x", "x" * 999, "x" * 2000],
        ["x" * 2001],
    ),
    Case("integers up", {"type": "integer", "minimum": 7}, [7, 8, 10, 99, 10**20], [6, 0, -7, -8]),
    Case("integers down", {"type": "integer", "maximum": -10}, [-10, -11, -100], [-9, 0, 10]),
    Case(
        "integers between",
        {"type": "integer", "minimum": -15, "exclusiveMaximum": 300},
        [-15, -9, 0, 9, 10, 99, 100, 299],
        [-16, -20, 300, 301, 1000],
    ),
    Case(
        "integers, bounds not whole",
        {"type": "integer", "minimum": 0.5, "maximum": 2.5},
        [1, 2],
        [0, 3, 1.5],
    ),
    Case(
        "numbers between",
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        [0.1, 1, 1.0, 0.999, 1e-5, 3e-300],
        [0, 0.0, -0.0, -1e-5, 1.001, 1.5, 2, 1e16],
    ),
    Case(
        "numbers with odd bounds",
        {"type": "number", "minimum": -2.75, "exclusiveMaximum": 1e20},
        [-2.75, -2.7, -2, -0.0, 3.5, 1e16, 9.99e19],
        [-2.76, -3, -2.7501, 1e20, 1e21],
    ),
    Case(
        "multiples",
        {"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 20},
        [0, 5, 20],
        [1, 25, -5],
    ),
    Case("multiples of one", {"type": "number", "multipleOf": 1}, [0, -3, 12], [1.5]),
    Case(
        "multiples of a part",
        {"type": "number", "multipleOf": 0.25, "minimum": 0, "maximum": 1},
        [0, 0.25, 0.75, 1],
        [0.1, 1.25],
    ),
    Case("whole multiples of a part", {"type": "integer", "multipleOf": 0.5}, [0, 1, 7], [0.5]),
    Case("array", {"type": "array"}, [[], [1, "a", [None]]], [{}, 1]),
    Case(
        "items",
        {"type": "array", "items": {"type": "integer"}},
        [[], [1], [1, 2, 3]],
        [["a"], [1, None]],
    ),
    Case(
        "counted items",
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
        [[True, False], [True] * 4],
        [[], [True], [True] * 5],
    ),
    Case("no items", {"type": "array", "maxItems": 0}, [[]], [[1]]),
    Case("items of nothing", {"type": "array", "items": False}, [[]], [[1]]),
    Case(
        "leading items",
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        [[], ["a"], ["a", 1]],
        [[1], ["a", "b"], ["a", 1, 2]],
    ),
    Case(
        "leading items and more",
        {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "items": {"type": "null"},
            "minItems": 1,
            "maxItems": 4,
        },
        [["a"], ["a", 1], ["a", 1, None], ["a", 1, None, None]],
        [[], [1], ["a", None], ["a", 1, None, None, None]],
    ),
    Case(
        "leading items in the older way",
        {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "null"}},
        [[], ["a"], ["a", None]],
        [[None], ["a", "b"]],
    ),
    Case(
        "one of a kind at most",
        {"type": "array", "uniqueItems": True, "maxItems": 1},
        [[], [1]],
        [[1, 1]],
    ),
    Case("object", {"type": "object"}, [{}, {"a": 1, "b": {"c": []}}], [[], None]),
    Case(
        "members",
        {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "string"},
                "c": {"type": "null"},
            },
            "required": ["b"],
            "additionalProperties": False,
        },
        [{"b": ""}, {"a": 1, "b": ""}, {"b": "", "c": None}, {"a": 1, "b": "", "c": None}],
        [{}, {"a": 1}, {"b": 1}, {"b": "", "d": 1}, {"b": "", "a": 1}],
    ),
    Case(
        "all optional",
        {
            "properties": {"a": {"type": "integer"}, "b": {}, "c": {}},
            "type": "object",
            "additionalProperties": False,
        },
        [
            {},
            {"a": 1},
            {"b": 1},
            {"c": 1},
            {"a": 1, "c": 2},
            {"b": 1, "c": 2},
            {"a": 1, "b": 2, "c": 3},
        ],
        [{"d": 1}, {"a": "x"}],
    ),
    Case(
        "others with any value",
        {"type": "object", "properties": {"ab": {"type": "integer"}, "abc": {"type": "null"}}},
        [
            {},
            {"ab": 1},
            {"ab": 1, "abc": None, "a": "x"},
            {"": 1},
            {"abd": [1]},
            {"abcd": {}, "b": 2},
        ],
        [{"ab": "x"}, {"abc": 1}],
    ),
    Case(
        "others of a kind",
        {
            "type": "object",
            "properties": {'a"\n': {"type": "string"}},
            "additionalProperties": {"type": "integer"},
        },
        [{}, {'a"\n': "x"}, {"a": 1, 'a"': 2}, {'a"\n': "x", 'a"\n\n': 3}],
        [{'a"\n': 1}, {"a": "x"}],
    ),
    Case(
        "required without a schema",
        {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
        [{"a": 1}, {"a": 1, "b": 2}],
        [{}, {"a": "x"}, {"b": 2}],
    ),
    Case(
        "a member that must not be",
        {"type": "object", "properties": {"a": False, "b": {"type": "integer"}}},
        [{}, {"b": 1}, {"c": 1}],
        [{"a": 1}, {"b": 1, "a": 1}],
    ),
    Case(
        "numbers of members",
        {
            "type": "object",
            "properties": {"a": {}, "b": {}, "c": {}},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 2,
        },
        [{"a": 1}, {"c": 1}, {"a": 1, "c": 1}, {"b": 1, "c": 1}],
        [{}, {"a": 1, "b": 1, "c": 1}],
    ),
    Case(
        "numbers of any members",
        {"type": "object", "properties": {"a": {}}, "minProperties": 1, "maxProperties": 3},
        [{"a": 1}, {"x": 1}, {"a": 1, "x": 1, "y": 1}, {"x": 1, "y": 1, "z": 1}],
        [{}, {"a": 1, "x": 1, "y": 1, "z": 1}],
    ),
    Case(
        "names by pattern",
        {
            "type": "object",
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": False,
        },
        [{}, {"x-": 1}, {"x-a": 1, "x-b": 2}],
        [{"x": 1}, {"x-a": "b"}, {"a": 1}],
    ),
    Case(
        "names by pattern beside known ones",
        {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "patternProperties": {"^x-": {"type": "integer"}},
            "additionalProperties": False,
        },
        [{}, {"id": "a"}, {"id": "a", "x-b": 2}],
        [{"id": 1}, {"id": "a", "y": 2}],
    ),
    Case(
        "names of a kind",
        {
            "type": "object",
            "propertyNames": {"pattern": "^[a-z]{2}$"},
            "additionalProperties": {"type": "string"},
        },
        [{}, {"de": "x", "en": "y"}],
        [{"deu": "x"}, {"": "x"}, {"de": 1}],
    ),
    Case(
        "names out of a list",
        {"type": "object", "propertyNames": {"enum": ["a", "b"]}},
        [{}, {"a": 1}, {"a": 1, "b": []}],
        [{"c": 1}],
    ),
    Case(
        "no type, members",
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
        [{"a": 1}, "x", 1, None, []],
        [{}, {"a": "x"}],
    ),
    Case("no type, length", {"minLength": 2}, ["ab", 1, None, {}], ["a", ""]),
    Case(
        "choice of objects, one open",
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
                {"type": "object", "properties": {"b": {}}, "required": ["b"]},
                {"type": "object", "additionalProperties": {"type": "string"}},
            ]
        },
        [{"a": 1}, {"b": [1]}, {"b": 1, "a": 1}, {"a": "x"}, {}, {"a": "x", "c": "y"}],
        [{"a": []}, {"a": 1, "c": 2}, {"c": 1}],
    ),
    Case(
        "choice of constants beside objects",
        {
            "anyOf": [
                {"const": {"a": 1}},
                {"const": [1, 2]},
                {"type": "array"},
                {"type": "object", "required": ["b"]},
            ]
        },
        [{"a": 1}, [1, 2], [1, 3], [], {"b": 1}],
        [{"a": 2}, {}],
    ),
    Case(
        "choice of strings",
        {"anyOf": [{"const": "abc"}, {"type": "string", "minLength": 5}]},
        ["abc", "abcde"],
        ["ab", "abcd"],
    ),
    Case(
        "choice beside members",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "additionalProperties": False,
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
        [{}, {"a": "x", "b": 1}],
    ),
    Case(
        "one of types",
        {"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        ["", 1, None],
        [True, 1.5],
    ),
    Case(
        "one of objects by a constant",
        {
            "type": "object",
            "required": ["kind"],
            "oneOf": [
                {
                    "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
                    "required": ["r"],
                },
                {"properties": {"kind": {"enum": ["square", "box"]}, "w": {"type": "number"}}},
            ],
        },
        [{"kind": "circle", "r": 1}, {"kind": "box"}, {"kind": "square", "w": 1.5}],
        [{"kind": "circle"}, {"kind": "line"}, {"kind": "box", "w": "x"}],
    ),
    Case(
        "one of closed objects",
        {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"a": {}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"b": {}},
                    "required": ["b"],
                    "additionalProperties": False,
                },
            ]
        },
        [{"a": 1}, {"b": 1}],
        [{}, {"a": 1, "b": 1}],
    ),
    Case(
        "one of ranges",
        {"oneOf": [{"type": "integer", "maximum": 3}, {"type": "number", "exclusiveMinimum": 3}]},
        [3, -1, 3.5, 4],
        [2.5],
    ),
    Case(
        "all of",
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"a": {"minimum": 5}, "b": {"type": "string"}}, "required": ["b"]},
            ]
        },
        [{"a": 5, "b": ""}, {"a": 7, "b": "x", "c": 1}],
        [{"a": 4, "b": ""}, {"a": 5}, {"b": ""}],
    ),
    Case(
        "all of, one closed",
        {
            "allOf": [
                {
                    "type": "object",
                    "properties": {"a": {}},
                    "additionalProperties": {"type": "integer"},
                },
                {"properties": {"b": {"minimum": 3}}},
            ]
        },
        [{}, {"a": "x", "b": 3, "c": 1}],
        [{"b": 2}, {"b": "x"}, {"c": "x"}],
    ),
    Case(
        "all of bounds and types",
        {
            "allOf": [
                {"type": ["number", "string"], "minimum": 3},
                {"type": ["integer", "null"], "maximum": 4},
            ]
        },
        [3, 4],
        [2, 5, 3.5, "x", None],
    ),
    Case(
        "all of items",
        {
            "type": "array",
            "allOf": [
                {"prefixItems": [{"type": "integer"}], "items": {"type": "number"}},
                {"items": {"minimum": 2}},
            ],
        },
        [[], [2], [2, 2.5]],
        [[2.5], [2, 1], [1]],
    ),
    Case(
        "beside a reference",
        {"$ref": "#/$defs/n", "maximum": 4, "$defs": {"n": {"type": "integer", "minimum": 3}}},
        [3, 4],
        [2, 5],
    ),
    Case(
        "tree",
        {
            "$ref": "#/$defs/node",
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {
                        "v": {"type": "integer"},
                        "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                    },
                    "required": ["v"],
                    "additionalProperties": False,
                }
            },
        },
        [
            {"v": 1},
            {"v": 1, "kids": []},
            {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3}]}, {"v": 4}]},
        ],
        [{}, {"v": 1, "kids": [{}]}, {"v": 1, "kids": [{"v": 1, "kids": 1}]}],
    ),
    Case(
        "list that refers to its root",
        {
            "type": ["object", "null"],
            "properties": {"next": {"$ref": "#"}},
            "required": ["next"],
            "additionalProperties": False,
        },
        [None, {"next": None}, {"next": {"next": None}}],
        [{}, {"next": {}}],
    ),
    Case(
        "references to each other, merged",
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {"allOf": [{"$ref": "#/$defs/b"}, {"properties": {"n": {"type": "integer"}}}]},
                "b": {
                    "type": "object",
                    "properties": {"next": {"$ref": "#/$defs/a"}},
                    "additionalProperties": {"type": "number"},
                },
            },
        },
        [{}, {"next": {}, "n": 1}, {"next": {"next": {"n": 3}}}],
        [{"n": 1.5}, {"next": {"n": 1.5}}, {"next": 1}],
    ),
    Case(
        "an optional member without an end",
        {
            "type": "object",
            "properties": {"loop": {"$ref": "#/$defs/loop"}, "a": {"type": "integer"}},
            "$defs": {
                "loop": {
                    "type": "object",
                    "required": ["in"],
                    "properties": {"in": {"$ref": "#/$defs/loop"}},
                }
            },
        },
        [{}, {"a": 1}],
        [{"loop": {}}, {"loop": 1}],
    ),
    Case(
        "reference with escapes",
        {"$ref": "#/$defs/a~1b%20~0", "$defs": {"a/b ~": {"type": "null"}}},
        [None],
        [1],
    ),
    Case(
        "annotations and unknown keywords",
        {
            "title": "t",
            "description": "d",
            "default": 1,
            "examples": [2],
            "type": "integer",
            "nullable": True,
            "x-a": 1,
            "$comment": "c",
            "deprecated": True,
            "readOnly": True,
            "$schema": "s",
            "$id": "i",
        },
        [1],
        [None],
    ),
    Case("unknown format", {"type": "string", "format": "color"}, ["", "red"], [1]),
    Case(
        "unevaluated",
        {"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False},
        [{}, {"a": 1}],
        [{"b": 1}],
    ),
]

PATTERNS: list[tuple[str, list[str], list[str]]] = [
    ("^abc$", ["abc"], ["ab", "abcd", "xabc", ""]),
    ("b", ["b", "abc", "\nb\n"], ["", "ac"]),
    ("^b", ["b", "bc"], ["ab", ""]),
    ("b$", ["b", "ab"], ["ba", ""]),
    ("", ["", "x"], []),
    ("^$", [""], ["x"]),
    ("^", ["", "x"], []),
    ("^a|b$", ["a", "ab", "ac", "cb"], ["ca", "bc"]),
    ("(^a|b)c", ["ac", "acx", "bc", "xbc"], ["xac", "c"]),
    ("^(a|b)(c|$)", ["a", "b", "ac", "bcd"], ["ab", "c"]),
    (r"^\d{3}-\d{4}$", ["555-1234"], ["5551234", "555-123", "٣٣٣-1234"]),
    (r"^[A-Za-z_]\w*$", ["a", "_9", "Zz"], ["9", "", "a-b", "é"]),
    (r"^[^a-z\s]+$", ["A", "9-", 'é"\\'], ["a", " ", "\n", ""]),
    (r"^.{1,3}$", ["a", "😀é\t"], ["", "abcd", "\n"]),
    (r"^(ab|cd){2,}$", ["abab", "cdabcd"], ["ab", "abc"]),
    (r"^(?:a?b?)*$", ["", "a", "b", "abba", "aab"], ["c"]),
    (r"^(a*)*b$", ["b", "aab"], ["a", ""]),
    (r"^(a|b*)+$", ["", "a", "bba"], ["c"]),
    (r"^a??b+?$", ["b", "abb"], ["a"]),
    (r"^\"\\\/\n\t\x41\u00e9\u{1F600}\ud83d\ude00$", ['"\\/\n\tAé😀😀'], ["x"]),
    (r"^[\]\[\\\"^&&~~-]$", ["]", "[", "\\", '"', "^", "&", "~", "-"], ["a", ""]),
    (r"^[+\-.]+$", ["+-."], [","]),
    (r"^[\w.-]+@[\w-]+\.[a-z]{2,}$", ["a.b-c@x-y.de"], ["a@b", "@b.de"]),
    (r"^\S+\s\S+$", ["a b", "a\u00a0b"], ["ab", "a  "]),
    (r"^(?<year>\d\d)$", ["19"], ["1", "199"]),
    (r"^x{0}y$", ["y"], ["xy", ""]),
    (r"^{a}$", ["{a}"], ["a"]),
    (r"^[\D]$", ["a", "é"], ["1"]),
    (r"^\cA[\b]$", ["\x01\x08"], ["A"]),
]
"""Patterns, texts that match, texts that do not; ECMA-262's meaning."""

FORMATS: list[tuple[str, list[str], list[str]]] = [
    (
        "date",
        ["2024-02-29", "2000-02-29", "1999-12-31", "2023-04-30"],
        ["2023-02-29", "1900-02-29", "2023-04-31", "2023-13-01", "2023-1-1", ""],
    ),
    ("time", ["23:59:59Z", "00:00:00.123+05:30"], ["24:00:00Z", "12:00Z", "12:00:00", "12:60:00Z"]),
    (
        "date-time",
        ["2024-02-29T12:00:00Z", "2024-01-01T00:00:00.5-08:00"],
        ["2024-01-01", "2024-01-01 00:00:00Z"],
    ),
    (
        "duration",
        ["P1D", "P1Y2M3D", "PT1H30M", "P1DT12H", "P2W", "PT5S"],
        ["P", "PT", "P1Y3D", "1D", "P1DT"],
    ),
    (
        "uuid",
        ["123e4567-e89b-12d3-a456-426614174000"],
        ["123e4567e89b12d3a456426614174000", "g23e4567-e89b-12d3-a456-426614174000"],
    ),
    ("ipv4", ["0.0.0.1", "255.249.10.1"], ["256.1.1.1", "1.1.1", "01.1.1.1"]),
    (
        "ipv6",
        [
            "::",
            "::1",
            "fe80::1",
            "1:2:3:4:5:6:7:8",
            "1::8",
            "::ffff:1.2.3.4",
            "1:2:3:4:5:6:1.2.3.4",
            "1:2:3:4:5:6:7::",
        ],
        ["1", "1:2:3:4:5:6:7", "::1::", "1:2:3:4:5:6:7:8:9", ":::", "12345::"],
    ),
]

BOUNDED: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4}, ["ab", "abcd"], ["a", "abcde", "AB"]),
    ({"pattern": "^a[b-d]*e$", "maxLength": 4}, ["ae", "abde"], ["abcde", "a"]),
    ({"pattern": "^[a-z]{2,5}$", "minLength": 1, "maxLength": 9}, ["ab", "abcde"], ["a", "abcdef"]),
    ({"pattern": "^ab", "maxLength": 3}, ["ab", "abc"], ["abcd", "a"]),
    ({"pattern": "^a$|^bcd$", "maxLength": 2}, ["a"], ["bcd"]),
    ({"format": "date", "maxLength": 10, "minLength": 10}, ["2024-01-01"], ["2024-01-1"]),
]
"""Patterns and formats beside lengths."""
