"""Attacks: who learns from visits whose sites are known, and names the sites of others."""
