"""The host's own Debian sources are rewritten for another suite; nobody else's are."""

import pytest

from lab.setup.sources import renamed, rewrite_deb822, rewrite_one_line, write_sources

from .conftest import Machine

DEB822 = """\
Types: deb deb-src
# a comment in between
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By:
 /usr/share/keyrings/debian-archive-keyring.gpg
"""


def test_deb822_stanzas_keep_mirror_and_key_and_change_the_suite() -> None:
    assert rewrite_deb822(DEB822, "bookworm", "trixie") == (
        "Types: deb\nUris: http://mirror.example/debian\nSuites: trixie trixie-updates\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
        "\n"
        "Types: deb\nUris: http://mirror.example/debian-security\nSuites: trixie-security\n"
        "Components: main\nSigned-By: \n /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )


def stanza(**changes: str) -> str:
    fields = {"Types": "deb", "URIs": "http://m/debian", "Suites": "bookworm", "Components": "main"} | changes
    return "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())


@pytest.mark.parametrize(
    "changes",
    [
        {"Enabled": "no"},
        {"Types": "deb-src"},
        {"Suites": "nodistro"},
        {"Components": "stable"},
        {"URIs": "https://tools.example/apt"},
        {"Signed_By": "/etc/apt/keyrings/vendor.gpg"},
    ],
)
def test_a_deb822_stanza_that_is_off_or_not_debians_is_left_out(changes: dict[str, str]) -> None:
    assert rewrite_deb822(stanza(), "bookworm", "trixie") != ""
    assert rewrite_deb822(stanza(**changes), "bookworm", "trixie") == ""


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("deb http://m/debian bookworm main contrib", "deb http://m/debian trixie main\n"),
        ("deb http://m/debian stable main # why", "deb http://m/debian trixie main\n"),
        (
            "deb [arch=amd64 signed-by=/k/debian-archive-keyring.gpg] http://m/x bookworm-updates main",
            "deb [arch=amd64 signed-by=/k/debian-archive-keyring.gpg] http://m/x trixie-updates main\n",
        ),
        (
            "deb mirror+file:/etc/apt/mirrors/debian.list bookworm main",
            "deb mirror+file:/etc/apt/mirrors/debian.list trixie main\n",
        ),
        ("deb [signed-by=/k/vendor.gpg] http://v/debian bookworm main", ""),
        ("deb https://download.vendor.example/linux/debian bookworm stable", ""),
        ("deb http://pg.example/apt bookworm-pgdg main", ""),
        ("deb cdrom:[Debian GNU/Linux 12 _Bookworm_]/ bookworm main", ""),
        ("deb-src http://m/debian bookworm main", ""),
        ("# deb http://m/debian bookworm main", ""),
    ],
)
def test_one_line_sources_keep_options_and_change_the_suite(line: str, rewritten: str) -> None:
    assert rewrite_one_line(f"{line}\n", "bookworm", "trixie") == rewritten


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        ("bookworm-security", "trixie-security"),
        ("oldstable", "trixie"),
        ("bookworm-backports", None),
        ("buster/updates", None),
        ("sid", None),
    ],
)
def test_only_the_hosts_own_suites_are_renamed(suite: str, expected: str | None) -> None:
    assert renamed(suite, "bookworm", "trixie") == expected


def test_every_source_file_of_apt_is_read(machine: Machine) -> None:
    machine.write("etc/apt/sources.list", "deb http://m/debian bookworm main\n")
    machine.write("etc/apt/sources.list.d/debian.sources", DEB822)
    machine.write("etc/apt/sources.list.d/vendor.list", "deb http://v/apt bookworm main\n")
    machine.write("etc/apt/sources.list.d/old.list.disabled", "deb http://m/debian bookworm main\n")
    folder = machine.root / "out"
    folder.mkdir()
    assert write_sources(machine.root, folder, "bookworm", "trixie")
    assert sorted(path.name for path in folder.iterdir()) == ["debian.sources", "sources.list"]


def test_a_host_without_debian_sources_has_none_to_rewrite(machine: Machine) -> None:
    assert not write_sources(machine.root, machine.root, "bookworm", "trixie")
