"""Messages, schemas, formats, verdicts and errors: the plain values that every wing shares."""
