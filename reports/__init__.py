"""Reports: a value in, a text or a document out; nothing here writes or prints."""
