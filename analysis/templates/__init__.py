"""Chat templates parsed, rendered, traced and edited, in a worker process with limits."""
