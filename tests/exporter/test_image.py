"""The exporter's image has what the exporter imports, and nothing else of the lab."""

import subprocess
import sys
import tomllib

from packaging.requirements import Requirement

from lab.images import FOLDER
from lab.project import ROOT, versions

IMPORTS = "import sys, lab.exporter.__main__; print(*sys.modules)"


def test_it_has_the_modules_that_the_exporter_imports() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = {name for name in done.stdout.split() if name.partition(".")[0] == "lab"}

    steps = (FOLDER / "exporter/Dockerfile").read_text().replace("\\\n", " ").splitlines()
    patterns = [word for step in steps if step.startswith("COPY lab/") for word in step.split()[1:-1]]
    copied = {path.relative_to(ROOT) for pattern in patterns for path in ROOT.glob(pattern)}

    modules = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in copied}
    assert modules == imported


def test_its_packages_have_the_versions_of_the_lock() -> None:
    here = _pinned((FOLDER / "exporter/requirements.txt").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {Requirement(text).name for text in project["dependency-groups"]["exporter"]}

    assert here.items() <= _pinned((ROOT / "requirements.lock").read_text()).items()
    assert wanted <= here.keys()


def _pinned(text: str) -> dict[str, str]:
    lines = (line.partition(" ")[0] for line in text.splitlines() if "==" in line and line[0].isalpha())
    return dict(line.split("==") for line in lines)


def test_its_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert versions()["EXPORTER_VERSION"] == project["project"]["version"]
