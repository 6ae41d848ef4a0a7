"""Link security: the vectors that the crate and the implementation in Python both play."""
