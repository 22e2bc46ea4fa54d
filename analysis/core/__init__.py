"""What a turn is made of: messages, texts and their markers, schemas, the format."""
