"""Residual error: how likely a code takes a message for right that the channel has changed.

The channel flips each bit for itself with one probability (a binary symmetric channel). CRCs are exact, by
the weights of the dual code; checksums that add are drawn, with an interval; a MAC is 2^-bits, by assumption.
"""
