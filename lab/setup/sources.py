"""Rewrite a host's own apt sources for another Debian suite, so that one package can come from there.

The host's mirrors, keys and options are kept: behind a firewall nothing else may answer. Third-party
sources are left out, because they need not have the other suite.
"""

import re
from pathlib import Path
from typing import Final

ALIASES: Final = frozenset({"stable", "oldstable", "oldoldstable"})
POCKETS: Final = frozenset({"", "updates", "security"})
_ONE_LINE: Final = re.compile(
    r"deb\s+(?:\[(?P<options>[^]]*)]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)"
)


def renamed(suite: str, codename: str, to: str) -> str | None:
    """`bookworm-security` -> `trixie-security`; None for a suite that is not the host's own."""
    name, _, pocket = suite.partition("-")
    if name not in ALIASES | {codename} or pocket not in POCKETS:
        return None
    return f"{to}-{pocket}" if pocket else to


def _is_debian(uri: str, signed_by: str, components: list[str]) -> bool:
    if "main" not in components or uri.startswith("cdrom:"):
        return False
    if signed_by:
        return "debian-archive" in signed_by
    return any(part.startswith("debian") for part in uri.split("/")[3:])


def rewrite_one_line(text: str, codename: str, to: str) -> str:
    """The `deb …` lines of a sources.list that are Debian's, for the other suite."""
    kept = []
    for line in text.splitlines():
        match = _ONE_LINE.fullmatch(line.split("#", 1)[0].strip())
        if match is None:
            continue
        options = match["options"] or ""
        signed_by = next((o.partition("=")[2] for o in options.split() if o.startswith("signed-by=")), "")
        suite = renamed(match["suite"], codename, to)
        if suite and _is_debian(match["uri"], signed_by, match["components"].split()):
            start = f"deb [{options}]" if options else "deb"
            kept.append(f"{start} {match['uri']} {suite} main\n")
    return "".join(kept)


def _stanzas(text: str) -> list[dict[str, str]]:
    """Fields by lower-case name; a value keeps its continuation lines."""
    stanzas: list[dict[str, str]] = [{}]
    field = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            stanzas.append({})
        elif line[0] in " \t":
            stanzas[-1][field] = f"{stanzas[-1].get(field, '')}\n{line}"
        else:
            field, _, value = line.partition(":")
            field = field.strip().lower()
            stanzas[-1][field] = value.strip()
    return [stanza for stanza in stanzas if stanza]


def rewrite_deb822(text: str, codename: str, to: str) -> str:
    """The stanzas of a .sources file that are Debian's, for the other suite."""
    kept = []
    for stanza in _stanzas(text):
        suites = [renamed(suite, codename, to) for suite in stanza.get("suites", "").split()]
        known = [suite for suite in suites if suite]
        signed_by, components = stanza.get("signed-by", ""), stanza.get("components", "").split()
        ours = [uri for uri in stanza.get("uris", "").split() if _is_debian(uri, signed_by, components)]
        off = stanza.get("enabled", "yes").lower() in ("no", "false", "0")
        if off or "deb" not in stanza.get("types", "").split() or not known or not ours:
            continue
        changed = {"types": "deb", "uris": " ".join(ours), "suites": " ".join(known), "components": "main"}
        fields = {**stanza, **changed}
        kept.append("".join(f"{name.title()}: {value}\n" for name, value in fields.items()))
    return "\n".join(kept)


def write_sources(root: Path, folder: Path, codename: str, to: str) -> bool:
    """Put the rewritten sources of the host under `root` into the folder; False when it has none."""
    written = False
    apt = root / "etc/apt"
    for path in (apt / "sources.list", *sorted(apt.glob("sources.list.d/*"))):
        rewrite = {".list": rewrite_one_line, ".sources": rewrite_deb822}.get(path.suffix)
        if rewrite is None or not path.is_file():
            continue
        text = rewrite(path.read_text(), codename, to)
        if text:
            (folder / path.name).write_text(text)
            written = True
    return written
