"""One module a constraint format; each has ``read(content, reading)`` and returns Constraints."""
