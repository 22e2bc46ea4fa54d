import os

__version__ = "0.0.fake"
if os.environ.get("FAKE_BROKEN") == "vllm":
    raise ImportError("a part of vllm is missing")
