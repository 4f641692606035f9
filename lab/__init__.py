"""The Mirror lab."""
