"""The extension key `x-lab` of a Compose file: what Compose cannot know about the services."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}")
_BROKERS, _BY_ADDRESS = "<brokers>", "<external>"  # which of two forms a cluster has; no words of a file


def _specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f'not a version range such as ">=2.8,<4": "{text}"') from error
    return text


def _addresses(text: str) -> str:
    if not all(_ADDRESS.fullmatch(address) for address in text.split(",")):
        raise ValueError(f'not host:port, or several with commas between: "{text}"')
    return text


def _url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", text):
        raise ValueError(f'not an address such as http://connect:8083: "{text}"')
    return text


class External(BaseModel):
    """A cluster that the lab did not start: where it answers, and how its clients must speak."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bootstrap: Annotated[str, AfterValidator(_addresses)]
    properties: str | None = None  # a file of client properties, beside compose.yaml


class ByAddress(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    external: External


class Roles(BaseModel):
    """The extension key `x-lab`: what Compose cannot know about the services."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    teaches: str
    kafka: Annotated[str, AfterValidator(_specifier)] = ""
    declared: dict[
        str,
        Annotated[
            Annotated[list[str], Tag(_BROKERS)] | Annotated[ByAddress, Tag(_BY_ADDRESS)],
            Discriminator(lambda value: _BY_ADDRESS if isinstance(value, dict | ByAddress) else _BROKERS),
        ],
    ] = Field(default={}, alias="clusters", min_length=1)  # none at all, or at least one
    connect: list[str] = []
    mirror_maker: list[str] = []  # dedicated nodes of MM2: they have no REST API for users
    link: str | None = (
        None  # Toxiproxy, through which clusters are reached at the addresses of their listener LINK
    )
    connect_url: Annotated[str, AfterValidator(_url)] | None = None
    writable: bool = False

    @cached_property
    def clusters(self) -> dict[str, list[str]]:
        """Each cluster's brokers among the services: none of one that the lab did not start."""
        return {alias: [] if isinstance(c, ByAddress) else c for alias, c in self.declared.items()}

    @cached_property
    def external(self) -> dict[str, External]:
        return {alias: c.external for alias, c in self.declared.items() if isinstance(c, ByAddress)}

    @property
    def read_only(self) -> bool:
        return bool(self.external) and not self.writable

    def contradictions(self) -> Iterator[str]:
        """Keys that do not go together: clusters are all containers of the lab, or all known by address."""
        if not self.external:
            if not self.kafka:
                yield "x-lab.kafka: field required"
            for key in sorted({"connect_url", "writable"} & self.model_fields_set):
                yield f"x-lab.{key}: only where clusters are external"
            if self.connect and self.mirror_maker:
                yield "x-lab.mirror_maker: either Connect's workers run MM2, or it runs by itself"
            return
        for alias in self.declared.keys() - self.external.keys():
            yield f"x-lab.clusters.{alias}: has brokers of the lab, and others are external"
        if self.mirror_maker:
            yield "x-lab.mirror_maker: names services, and clusters are external"
        if self.link:
            yield "x-lab.link: names a service, and clusters are external"
        if self.connect:
            yield "x-lab.connect: names services; where clusters are external it is connect_url"


def read(written: object) -> tuple[Roles | None, list[str]]:
    """The roles, or every problem of what is written."""
    try:
        return Roles.model_validate(written), []
    except ValidationError as error:
        return None, [f"x-lab.{_where(e['loc'])}: {_plain(e)}" for e in error.errors()]


def _where(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if part not in (_BROKERS, _BY_ADDRESS))


def _plain(error: Any) -> str:
    return "no such key" if error["type"] == "extra_forbidden" else str(error["msg"]).lower()
