"""What differs from D3.4, and why we think so: the last section of the study's page."""

NOTES: tuple[tuple[str, str], ...] = ()
