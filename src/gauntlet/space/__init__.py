"""The laboratory of space links: what the security of a command link costs."""
