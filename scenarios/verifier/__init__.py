"""Synthetic histories, with and without defects, and an oracle: what the verifier itself is tested with."""
