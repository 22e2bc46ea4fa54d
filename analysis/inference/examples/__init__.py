"""A format learnt from examples: outputs, and the messages that they mean."""

from .concluding import LearntFormat, learn_examples
from .example import Example, ExampleError
from .given_examples import given_examples

__all__ = ["Example", "ExampleError", "LearntFormat", "given_examples", "learn_examples"]
