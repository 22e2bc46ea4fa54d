"""Numbers of a schema: bounds, and multiples where the bounds leave few."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from autoparser.analysis.core.schema import Schema, is_number

from .decimals import number_range
from .digits import alternatives
from .gbnf_rules import GbnfRules, literal
from .integers import integer_range
from .interval import Interval
from .unwritable import unwritable

MOST_MULTIPLES = 1000
"""Up to so many multiples are written one by one."""


def interval_of(schema: Schema) -> Interval:
    """Return the bounds of a schema's numbers."""
    bounds: dict[str, Decimal] = {}
    for keyword in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        value = schema.get(keyword)
        if is_number(value):
            bounds[keyword] = Decimal(repr(value))
    low, above = bounds.get("minimum"), bounds.get("exclusiveMinimum")
    high, under = bounds.get("maximum"), bounds.get("exclusiveMaximum")
    low_open = above is not None and (low is None or above >= low)
    high_open = under is not None and (high is None or under <= high)
    return Interval(above if low_open else low, under if high_open else high, low_open, high_open)


def multiple_of(schema: Schema) -> Decimal | None:
    """Return the number whose multiples a schema takes; None: any number."""
    step = schema.get("multipleOf")
    return Decimal(repr(step)) if is_number(step) else None


def number_expression(schema: Schema, pointer: str, rules: GbnfRules, *, whole: bool) -> str | None:
    """Return an expression for a schema's numbers; None where there are none.

    `whole`: integers alone, which are written without a fraction, so not as ``1.0``. Raises
    SchemaError for multiples that are too many to be written one by one.
    """
    interval = interval_of(schema)
    step = multiple_of(schema)
    if step is not None:
        numerator, denominator = step.as_integer_ratio()
        unit = Fraction(numerator, 1 if whole else denominator)
        if unit != 1:
            return _multiples(unit, interval, pointer)
        whole = True
    if whole:
        return integer_range(interval.least_integer, interval.greatest_integer)
    return number_range(interval, rules)


def _multiples(unit: Fraction, interval: Interval, pointer: str) -> str | None:
    if interval.low is None or interval.high is None:
        raise unwritable("multipleOf", pointer, "without bounds there is no end to them")
    first, last = ceil(Fraction(interval.low) / unit), floor(Fraction(interval.high) / unit)
    if last - first >= MOST_MULTIPLES:
        raise unwritable("multipleOf", pointer, f"{last - first + 1} numbers lie in the bounds")
    options: list[str] = []
    for factor in range(first, last + 1):
        value = unit * factor
        written = str(int(value)) if value.denominator == 1 else repr(float(value))
        if interval.holds(Decimal(written)):
            options.append(literal(written))
    return alternatives(options) if options else None
