"""A chat endpoint in front of a server that completes text: render, constrain, parse, stream.

What is loaded here does without the packages of the extra; `chat_application` needs them.
"""

from .chat_error import ChatError, ChatErrorKind
from .chat_preparer import ChatPreparer, PreparedChat
from .chat_request import ChatRequest, chat_request
from .serving_limits import ServingLimits

__all__ = [
    "ChatError",
    "ChatErrorKind",
    "ChatPreparer",
    "ChatRequest",
    "PreparedChat",
    "ServingLimits",
    "chat_request",
]
