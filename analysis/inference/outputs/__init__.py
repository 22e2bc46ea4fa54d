"""A format learnt from unlabelled outputs: the tools that were offered say where calls stand."""

from .call_fragments import (
    begins_call,
    ends_call,
    ends_in_name,
    ends_in_opening,
    marked_word,
    restored_calls,
)
from .given_outputs import given_outputs
from .object_calls import holds_call, misread
from .offered import OfferedTools
from .output import LoggedOutput, OutputError
from .proposing import Proposal, ReadTurn, kinds_of, proposals

__all__ = [
    "LoggedOutput",
    "OfferedTools",
    "OutputError",
    "Proposal",
    "ReadTurn",
    "begins_call",
    "ends_call",
    "ends_in_name",
    "ends_in_opening",
    "given_outputs",
    "holds_call",
    "kinds_of",
    "marked_word",
    "misread",
    "proposals",
    "restored_calls",
]
