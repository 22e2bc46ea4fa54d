"""Chat templates parsed, rendered, traced and edited, in a worker with limits."""
