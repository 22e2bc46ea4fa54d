"""A format learnt from examples: outputs, and the messages that they mean."""

from .alignment import ArgumentStyle, Hypothesis
from .concluding import ShownFormat, is_turn, learn_examples, turn_text
from .example import Example, ExampleError
from .given_examples import given_examples
from .shown_layouts import with_worded_calls

__all__ = [
    "ArgumentStyle",
    "Example",
    "ExampleError",
    "Hypothesis",
    "ShownFormat",
    "given_examples",
    "is_turn",
    "learn_examples",
    "turn_text",
    "with_worded_calls",
]
