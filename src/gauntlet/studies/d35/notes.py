"""What differs from D3.5, and why we think so: the last section of the study's page."""

NOTES: tuple[tuple[str, str], ...] = (
    (
        "QUIC libraries",
        "LSQUIC, the study's second QUIC library, is in no package registry. It chooses between CUBIC and "
        "BBR by itself; quinn and s2n-quic with CUBIC and with BBR stand in its place, and a claim about "
        "LSQUIC names the one by which it is decided. aioquic is the study's, in today's version.",
    ),
)
