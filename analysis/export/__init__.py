"""A format as a `response_template`, for transformers and engines."""
