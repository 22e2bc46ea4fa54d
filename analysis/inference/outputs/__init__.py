"""A format learnt from unlabelled outputs: the tools that were offered say where calls stand."""

from .call_fragments import begins_call, ends_call, ends_in_name, restored_calls
from .given_outputs import given_outputs
from .object_calls import holds_call, misread
from .offered import OfferedTools
from .output import LoggedOutput, OutputError
from .proposing import Proposal, proposals

__all__ = [
    "LoggedOutput",
    "OfferedTools",
    "OutputError",
    "Proposal",
    "begins_call",
    "ends_call",
    "ends_in_name",
    "given_outputs",
    "holds_call",
    "misread",
    "proposals",
    "restored_calls",
]
