"""Client properties as Java clients read them, for librdkafka and for Spark.

People have a `client.properties` that works with Kafka's own tools. Spark takes its keys as they are,
librdkafka knows some under other names and others not at all: what is not listed here is refused by
name, never ignored. Stores are PEM; their files are read here, since Spark may run where they are not.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lab.errors import BadInput, nearest

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
# Both clients mean the same by these.
_SAME: Final = (
    *("client.id", "client.dns.lookup", "client.rack", "metadata.max.age.ms", "connections.max.idle.ms"),
    *("reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms", "retry.backoff.max.ms"),
)
_READ_HERE: Final = (
    *("security.protocol", "sasl.mechanism", "sasl.jaas.config", "ssl.endpoint.identification.algorithm"),
    *("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates"),
    *("ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.keystore.key"),
    "ssl.key.password",
)
_OF_READING: Final = (
    *("group.id", "key.deserializer", "value.deserializer", "auto.offset.reset", "enable.auto.commit"),
    *("auto.commit.interval.ms", "isolation.level", "max.poll.records"),
)
LISTED: Final = (*_READ_HERE, *_SAME)
_PEM: Final = re.compile(r"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)
_JAAS: Final = re.compile(
    r"\s*(?P<module>[\w.]+)\s+(?:required|requisite)\s+(?P<options>.*?)\s*;\s*", re.DOTALL
)
_OPTION: Final = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s\"';]+))")


@dataclass(frozen=True)
class ClientProperties:
    """The same settings in the words of both clients. They hold passwords: never shown."""

    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    java: Mapping[str, str] = field(default_factory=dict, repr=False)


def read(path: Path) -> ClientProperties:
    """The properties of a file, or everything that is wrong with it."""
    return _translated(path, _properties(path))


def read_consumers(path: Path) -> tuple[str, ClientProperties]:
    """A consumer's file, as tutorials have it: its bootstrap servers, empty if it names none, and the rest.

    What it says of the consumer's own reading is left out.
    """
    properties = _properties(path)
    servers = properties.pop("bootstrap.servers", "")
    rest = {key: value for key, value in properties.items() if key not in _OF_READING}
    return ",".join(server.strip() for server in servers.split(",")), _translated(path, rest)


def _properties(path: Path) -> dict[str, str]:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadInput(f"{path}: {told}", "name an existing file of client properties") from error
    return parse(text)


def _translated(path: Path, properties: Mapping[str, str]) -> ClientProperties:
    found, problems = translate(properties, path.parent)
    if problems:
        raise BadInput(f"{path}: {'; '.join(problems)}", f"the lab knows {', '.join(LISTED)}")
    return found


def parse(text: str) -> dict[str, str]:
    """java.util.Properties: comments, `=`, `:` or blanks as separators, lines that go on, escapes."""
    found = {}
    for line in _logical_lines(text):
        key, value, escaped = "", None, False
        for position, letter in enumerate(line):
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter in "=: \t\f":
                key, value = line[:position], line[position:]
                break
        if value is None:
            key, value = line, ""
        value = re.sub(r"^[ \t\f]*[=:]?[ \t\f]*", "", value)
        found[_unescaped(key)] = _unescaped(value)
    return found


def _logical_lines(text: str) -> Iterator[str]:
    going = ""
    for natural in re.split(r"\r\n|\r|\n", text):
        line = natural.lstrip(" \t\f")
        if not going and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            going += line[:-1]
            continue
        yield going + line
        going = ""
    if going:
        yield going


def _unescaped(text: str) -> str:
    special = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

    def plain(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else special.get(match[2], match[2])

    found = re.sub(r"\\(?:u([0-9A-Fa-f]{4})|(.))", plain, text, flags=re.DOTALL)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # escapes are UTF-16


def property_line(key: str, value: str) -> str:
    """One property as java.util.Properties reads it, also in Latin 1: Kafka's programs open files so."""
    return f"{_escaped(key, also='=: ')}={_escaped(value)}"


def _escaped(text: str, *, also: str = "") -> str:
    special = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    special |= {letter: f"\\{letter}" for letter in also}
    found = "".join(special.get(letter, letter) for letter in text)
    if found[:1] in (" ", "#", "!"):
        found = "\\" + found
    units = found.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[n : n + 2]) for n in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)


def translate(properties: Mapping[str, str], folder: Path) -> tuple[ClientProperties, list[str]]:
    """The properties for both clients, and all that stands in their way; files are relative to the folder."""
    problems = [f'"{key}" cannot be translated ({nearest(key, list(LISTED))})' for key in properties
                if key not in LISTED]  # fmt: skip
    librdkafka = {key: value for key, value in properties.items() if key in _SAME}
    java = dict(librdkafka)
    for part in (_protocol, _sasl, _host_name, _truststore, _keystore):
        try:
            theirs, ours = part(properties, folder)
        except ValueError as error:
            problems.append(str(error))
        else:
            java |= theirs
            librdkafka |= ours
    return ClientProperties(librdkafka, java), problems


Part = tuple[dict[str, str], dict[str, str]]  # for Java, for librdkafka


def _protocol(properties: Mapping[str, str], _: Path) -> Part:
    protocol = properties.get("security.protocol", "PLAINTEXT")
    if protocol.upper() not in _PROTOCOLS:
        raise ValueError(f'security.protocol "{protocol}" is not one of {", ".join(_PROTOCOLS)}')
    given = {"security.protocol": protocol.upper()}
    return given, given


def _sasl(properties: Mapping[str, str], _: Path) -> Part:
    if not properties.get("security.protocol", "").upper().startswith("SASL_"):
        return {}, {}
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    jaas = properties.get("sasl.jaas.config", "")
    options = login_options(jaas, mechanism)
    if set(options) != {"username", "password"}:
        raise ValueError(
            f"sasl.jaas.config has {', '.join(options) or 'no options'}, not username and password"
        )
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas}, {
        "sasl.mechanism": mechanism,
        "sasl.username": options["username"],
        "sasl.password": options["password"],
    }


def login_options(jaas: str, mechanism: str) -> dict[str, str]:
    """What a line of sasl.jaas.config gives to the login module of a mechanism that is known here."""
    if mechanism not in _MODULES:
        raise ValueError(f'sasl.mechanism "{mechanism}" is not one of {", ".join(_MODULES)}')
    match = _JAAS.fullmatch(jaas)
    if match is None or match["module"] != _MODULES[mechanism]:
        raise ValueError(f"sasl.jaas.config is not of the form {_MODULES[mechanism]} required …;")
    return {
        name: re.sub(r"\\(.)", r"\1", double) or single or bare
        for name, double, single, bare in _OPTION.findall(match["options"])
    }


def login_line(mechanism: str, username: str, password: str) -> str:
    """sasl.jaas.config of a user with a password."""
    quoted = (re.sub(r'(["\\])', r"\\\1", text) for text in (username, password))
    return '{} required username="{}" password="{}";'.format(_MODULES[mechanism], *quoted)


def _host_name(properties: Mapping[str, str], _: Path) -> Part:
    key = "ssl.endpoint.identification.algorithm"
    if key not in properties:
        return {}, {}
    algorithm = properties[key].lower()
    if algorithm not in ("", "https"):
        raise ValueError(f'{key} "{algorithm}" is neither https nor empty')
    return {key: algorithm}, {key: algorithm or "none"}


def _truststore(properties: Mapping[str, str], folder: Path) -> Part:
    pem = _store(properties, folder, "truststore", "certificates")
    if pem is None:
        return {}, {}
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}, {"ssl.ca.pem": pem}


def _keystore(properties: Mapping[str, str], folder: Path) -> Part:
    both = _store(properties, folder, "keystore", "certificate.chain")
    if both is None:
        return {}, {}
    if "ssl.keystore.location" in properties:
        chain = _blocks(both, lambda block: "CERTIFICATE" in block)
        key = _blocks(both, lambda block: "PRIVATE KEY" in block)
    else:
        chain, key = both, properties.get("ssl.keystore.key", "")
    if not chain or not key:
        raise ValueError("the PEM key store needs a certificate chain and a private key")
    theirs = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": chain,
        "ssl.keystore.key": key,
    }
    ours = {"ssl.certificate.pem": chain, "ssl.key.pem": key}
    if password := properties.get("ssl.key.password"):
        theirs["ssl.key.password"] = ours["ssl.key.password"] = password
    return theirs, ours


def _store(properties: Mapping[str, str], folder: Path, store: str, inline: str) -> str | None:
    """A store's PEM, from its file or from the properties themselves."""
    location, within = properties.get(f"ssl.{store}.location"), properties.get(f"ssl.{store}.{inline}")
    if location is None and within is None:
        return None
    if properties.get(f"ssl.{store}.type") != "PEM":
        raise ValueError(f'ssl.{store}.type "{properties.get(f"ssl.{store}.type", "JKS")}" is not PEM')
    if within is not None:
        return within
    try:
        return (folder / str(location)).read_text()
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "not PEM"
        raise ValueError(f"ssl.{store}.location {location}: {told}") from error


def _blocks(pem: str, wanted: Callable[[str], bool]) -> str:
    return "\n".join(block for block in _PEM.findall(pem) if wanted(block.partition("\n")[0]))
