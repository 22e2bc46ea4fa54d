"""The parser inside engines: what vLLM and SGLang load as plugins, and whether they do.

Nothing here imports an engine but `vllm_plugin` and `sglang_plugin`, when the engine calls them.
"""
