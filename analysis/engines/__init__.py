"""vLLM, SGLang and llama.cpp: parser ranking, server probe, plugins and the chat endpoint."""
