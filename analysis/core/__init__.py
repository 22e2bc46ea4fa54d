"""Messages, schemas, formats, verdicts, errors: the plain values that wings share."""
