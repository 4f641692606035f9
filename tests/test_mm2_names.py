"""A NAME is a connector's, a file, or a source whose three connectors are meant; what is missing is named."""

import json
from pathlib import Path

import pytest

from lab.errors import BadInput
from lab.mm2_names import Names, rule_of_names, together

SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
CHECKPOINT = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
THREE = ["mm2-msc-us", "mm2-cpc-us", "mm2-hbc-us"]


@pytest.fixture
def names(tmp_path: Path) -> Names:
    """Clusters us, eu, uk and asia; three files of us, two of uk, one of eu under a name of its own."""
    bodies = {name: {"source.cluster.alias": "us"} for name in THREE}
    bodies |= {name: {"source.cluster.alias": "uk"} for name in rule_of_names("uk")[:2]}
    bodies |= {"mirror": {"source.cluster.alias": "eu", "name": "its-own-name"}}
    for name, body in bodies.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"connector.class": SOURCE, **body}))
    files = {path.stem: path for path in sorted(tmp_path.glob("*.json"))}
    return Names(files=files, clusters=["us", "eu", "uk", "asia"], folder=tmp_path)


def stems(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


def test_without_names_all_files_are_meant(names: Names) -> None:
    assert stems(names.paths(None)) == sorted([*THREE, "mm2-cpc-uk", "mm2-msc-uk", "mirror"])
    assert "its-own-name" in names.connectors([], [])


def test_a_name_a_file_or_an_alias(names: Names, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.json").write_text(json.dumps({"connector.class": SOURCE}))

    assert stems(names.paths(["mm2-cpc-us"])) == ["mm2-cpc-us"]
    assert stems(names.paths(["us"])) == THREE
    assert names.paths([str(elsewhere / "x.json")]) == [elsewhere / "x.json"]
    assert stems(names.paths(["mm2-cpc-us", "us", "mirror"])) == [
        "mm2-cpc-us",
        "mm2-msc-us",
        "mm2-hbc-us",
        "mirror",
    ]


def test_files_that_a_tutorial_named_otherwise_are_found_by_what_they_say(names: Names) -> None:
    assert stems(names.paths(["eu"])) == ["mirror"]
    assert names.connectors(["eu"], []) == ["its-own-name"]


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (
            "uk",
            'of the connectors of source "uk" mm2-hbc-uk.json is missing',
            "write it into {folder}, or name the connectors that are there",
        ),
        (
            "asia",
            'of the connectors of source "asia" mm2-msc-asia.json, mm2-cpc-asia.json, mm2-hbc-asia.json '
            "are missing",
            "write them into {folder}",
        ),
        ("mirro", 'no connector, no file and no source named "mirro"', 'did you mean "mirror"?'),
        (
            "zz.json",  # asia is a cluster, and no source: it would be refused too
            'no connector, no file and no source named "zz.json"',
            "known: eu, mirror, mm2-cpc-uk, mm2-cpc-us, mm2-hbc-us, mm2-msc-uk, mm2-msc-us, uk, us",
        ),
        (
            "mm2-msc-su",
            'no connector, no file and no source named "mm2-msc-su"',
            'did you mean "mm2-msc-us"?',
        ),
    ],
)
def test_what_is_missing_is_named(names: Names, name: str, message: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        names.paths(["us", name])

    assert caught.value.message == message
    assert caught.value.hint == hint.format(folder=names.folder)


def test_two_missing_files_are_both_named(names: Names) -> None:
    only_one = Names(
        files={"mm2-cpc-uk": names.files["mm2-cpc-uk"]}, clusters=names.clusters, folder=names.folder
    )

    with pytest.raises(BadInput, match=r"mm2-msc-uk\.json, mm2-hbc-uk\.json are missing$"):
        only_one.paths(["uk"])


def test_connectors_are_named_without_files_too(names: Names) -> None:
    """What is deployed can be undeployed when its file has gone."""
    assert names.connectors(["us"], []) == THREE
    assert names.connectors(["asia"], []) == rule_of_names("asia")
    assert names.connectors(["gone"], ["mm2-hbc-gone"]) == rule_of_names("gone")
    assert names.connectors(["mirror", "its-own-name"], ["its-own-name"]) == ["its-own-name"]
    assert names.connectors(["whatever"], []) == ["whatever"]


def test_aliases_are_clusters_and_what_files_are_named_for(names: Names) -> None:
    assert names.aliases == ["asia", "eu", "uk", "us"]


DEFAULT, CUSTOM = "DefaultReplicationPolicy", "CustomReplicationPolicy"


@pytest.fixture
def alternatives(tmp_path: Path) -> Names:
    """Of one flow: two policies, and for one of them a second file of the same connector."""
    policies = {
        DEFAULT: f"org.apache.kafka.connect.mirror.{DEFAULT}",
        CUSTOM: f"io.mirrorlab.policy.{CUSTOM}",
    }
    bodies = {
        "mm2-chk": (CHECKPOINT, DEFAULT, {}),
        "mm2-cpc": (CHECKPOINT, CUSTOM, {}),
        "mm2-cpc-sync": (CHECKPOINT, CUSTOM, {"name": "mm2-cpc"}),
        "mm2-msc": (SOURCE, CUSTOM, {}),
        "mm2-src": (SOURCE, DEFAULT, {}),
    }
    for name, (kind, policy, more) in bodies.items():
        body = {"connector.class": kind, "replication.policy.class": policies[policy], **more}
        (tmp_path / f"{name}.json").write_text(json.dumps(body))
    files = {name: tmp_path / f"{name}.json" for name in bodies}
    return Names(files=files, clusters=["source", "target"], folder=tmp_path)


@pytest.mark.parametrize("names_given", [None, ["source"]], ids=["none", "the source"])
def test_among_alternatives_somebody_must_choose(alternatives: Names, names_given: list[str] | None) -> None:
    with pytest.raises(BadInput) as caught:
        alternatives.paths(names_given)

    assert caught.value.message == (
        "some connector files are alternatives: mm2-chk, mm2-cpc, mm2-cpc-sync, mm2-msc, mm2-src"
    )
    assert caught.value.hint == (
        "name those that you want together, e.g. mm2-chk mm2-src or mm2-cpc-sync mm2-msc"
    )
    for chosen in together(alternatives.files.values()):
        assert stems(alternatives.paths(chosen)) == chosen


def test_two_files_of_one_connector_are_alternatives_too(alternatives: Names) -> None:
    files = {name: alternatives.files[name] for name in ("mm2-cpc", "mm2-cpc-sync")}

    assert together(files.values()) == [["mm2-cpc-sync"]]
    with pytest.raises(BadInput, match="are alternatives: mm2-cpc, mm2-cpc-sync"):
        Names(files=files, clusters=["source"], folder=alternatives.folder).paths(None)


def test_two_files_of_one_connector_are_one_connector(alternatives: Names) -> None:
    assert alternatives.connectors(None, []) == ["mm2-chk", "mm2-cpc", "mm2-msc", "mm2-src"]


def test_other_flows_may_have_other_policies(names: Names, tmp_path: Path) -> None:
    body = {"connector.class": SOURCE, "source.cluster.alias": "asia"}
    body |= {"replication.policy.class": f"io.mirrorlab.policy.{CUSTOM}"}
    (tmp_path / "asia.json").write_text(json.dumps(body))

    all_files = {**names.files, "asia": tmp_path / "asia.json"}

    assert len(together(all_files.values())) == 1
