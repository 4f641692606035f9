"""Certificates and secrets of a lab: made for it alone, in files that others cannot read."""

from lab.security.material import Material, client, folder, settings, write

__all__ = ["Material", "client", "folder", "settings", "write"]
