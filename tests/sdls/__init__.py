"""Link security: a second implementation, and the vectors that both play."""
