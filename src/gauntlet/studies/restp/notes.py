"""What differs from the dissertation, and why we think so: the last section of the study's page."""

NOTES: tuple[tuple[str, str], ...] = (
    (
        "Real stacks on both sides",
        "The dissertation compares a model of ResTP with models of TCP, MPTCP and UDP in one simulator. Here "
        "ResTP is the library that comes with Gauntlet, over UDP unless said, and the others are Linux's.",
    ),
)
