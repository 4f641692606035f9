"""Is there a container engine, does it answer, and if not: why, and what helps."""

from typing import Final

from lab.setup.advice import Advice, Problem, how_to_install
from lab.setup.finding import Finding, Status
from lab.setup.host import Host
from lab.setup.reach import Reach, Reached

NEEDED: Final = "Docker Engine 20.10 or later, and its client on PATH"


def _how_to_start(host: Host) -> Advice:
    if host.system == "Darwin":
        return Advice(words='start Docker Desktop (or run "colima start")')
    if host.has_systemd:
        return Advice(command="systemctl start docker" if host.is_root else "sudo systemctl start docker")
    return how_to_install(host) if host.is_debian else Advice(command="sudo service docker start")


def _how_to_restart(host: Host) -> Advice:
    if host.system == "Darwin":
        return Advice(words="restart Docker Desktop")
    if host.has_systemd:
        return Advice(command="sudo systemctl restart docker")
    return Advice(words='stop the process "dockerd" (its containers stop with it), then start it again')


def _unreachable(reached: Reached) -> Problem:
    chosen_by = reached.endpoint.chosen_by
    if chosen_by == "DOCKER_HOST":
        advice = Advice(words='start the engine there, or "unset DOCKER_HOST" to use the one of this host')
    elif chosen_by == "the default":
        advice = Advice(command="docker version")
    else:
        words = 'start the engine there, or run "docker context use default" to use the one of this host'
        advice = Advice(words=words)
    url = reached.endpoint.url
    return Problem(f'docker engine named by {chosen_by}, "{url}", does not answer: {reached.detail}', advice)


def engine_problem(host: Host, reached: Reached) -> Problem | None:
    """What is wrong and what helps; None when the engine answers."""
    path = reached.endpoint.socket_path
    match reached.reach:
        case Reach.ANSWERS:
            return None
        case Reach.TOO_OLD:
            fact = f"docker {reached.detail}, is older than the lab can use (20.10, API 1.41)"
            return Problem(fact, how_to_install(host))
        case Reach.NO_CLIENT:
            return Problem("docker client is not installed", how_to_install(host))
        case Reach.NO_ENGINE:
            fact = "docker engine is not installed (a client alone runs nothing)"
            return Problem(fact, how_to_install(host))
        case Reach.STOPPED:
            return Problem(f'docker engine is not running on "{path}"', _how_to_start(host))
        case Reach.FORBIDDEN:
            words = 'run "sudo usermod -aG docker $USER" and log in again, or use sudo'
            fact = f'no permission on the socket of the docker engine, "{path}"'
            return Problem(fact, Advice(words=words))
        case Reach.SILENT:
            fact = f'docker engine takes connections on "{path}" and does not answer: {reached.detail}'
            return Problem(fact, _how_to_restart(host))
        case Reach.UNREACHABLE:
            return _unreachable(reached)


def check_engine(host: Host, reached: Reached) -> Finding:
    """The problem, or its absence, as a line of the doctor's report."""
    problem = engine_problem(host, reached)
    if problem:
        return problem.finding("engine", NEEDED)
    found = f"{reached.detail} ({reached.endpoint.url})"
    return Finding(name="engine", status=Status.OK, found=found, needed=NEEDED)
