"""Links through space: where a transport with its default parameters breaks, and what security costs."""
