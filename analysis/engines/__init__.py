"""vLLM, SGLang, llama.cpp: parser ranking, server probe, plugins, chat endpoint."""
