"""Heads of columns for the threats of EN 50159."""

BROKEN = {
    "repetition": "Repe-\ntition",
    "deletion": "Dele-\ntion",
    "insertion": "Inser-\ntion",
    "re-sequencing": "Re-se-\nquencing",
    "corruption": "Corrup-\ntion",
    "masquerade": "Masque-\nrade",
}
"""Names of threats in two lines, by id: so a table with a column for each fits 80 columns."""
