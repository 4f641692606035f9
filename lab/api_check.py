"""Documents for Kubernetes judged by the API's own classes, Strimzi's and Kubernetes', which an image has.

By itself such a class refuses nothing: what it does not know it keeps, and says nothing of it. The program in
the image does; see compose/images/strimzi.
"""

from collections.abc import Callable
from typing import Final

from lab import engine, images
from lab.engine import EngineError

_FINE, _REFUSED = 0, 1
_IMAGE: Final = "strimzi"


def build(on_line: Callable[[str], None]) -> None:
    """The image that checks, unless it is there."""
    images.ensure(images.tool(_IMAGE), on_line)


def problems(text: str) -> list[str]:
    """Of YAML documents: "2: spec.clusters[0].tls.certs: no such field". No value is among them."""
    code, told = engine.run_once(images.tool(_IMAGE).tag, stdin=text)
    if code not in (_FINE, _REFUSED):
        raise EngineError(f"the check of documents ended with exit code {code}", output=told)
    return told.splitlines()
