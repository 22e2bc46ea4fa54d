"""From what a person names to a template and a tokenizer: files, the Hub, GGUF, encoders."""
