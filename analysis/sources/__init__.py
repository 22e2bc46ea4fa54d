"""From a name to a template and a tokenizer: files, the Hub, GGUF, encoders."""
