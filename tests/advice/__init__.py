"""What to use, on constructed results with known answers."""
