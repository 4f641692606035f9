"""HTML and SVG as text that is escaped by construction: only `words` makes markup of a string.

`Markup` is a type of its own, so mypy refuses a string from outside wherever markup is expected.
"""

import html
import re
from typing import Final, NewType

Markup = NewType("Markup", str)

NOTHING: Final = Markup("")

# XML allows no control characters, UTF-8 no half surrogates; marks of direction would turn around what
# follows them, e.g. a record key's end and the verdict behind it.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_VOID: Final = {"meta", "br", "hr"}


def words(text: object, *, at_most: int | None = None) -> Markup:
    """Text as markup, shortened if asked; what cannot be shown stands as its code, e.g. \\u0000."""
    shown = str(text)
    if at_most is not None and len(shown) > at_most:
        shown = f"{shown[: at_most - 1]}…"
    return Markup(html.escape(_UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", shown)))


def el(name: str, /, *children: Markup, **attributes: object) -> Markup:
    """An element. `class_` is class, `stroke_width` is stroke-width; None leaves an attribute out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{words(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{''.join(children)}</{name}>")


def join(parts: list[Markup], between: str = "") -> Markup:
    return Markup(words(between).join(parts))


def _plain(value: object) -> object:
    """Coordinates with one decimal and no more: a tenth of a pixel is enough, and keeps the page small."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
