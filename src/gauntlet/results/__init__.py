"""What came out: the results folder (store), its manifest, packet traces and certificates."""
