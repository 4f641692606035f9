"""fault: break a running lab by hand, and undo it."""

import types
from dataclasses import MISSING, fields
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from lab import faults, leases
from lab.cli import console
from lab.cli.options import Json, Name, seconds
from lab.errors import BadInput, nearest
from lab.faults import FAULTS, Fault, victims
from lab.harness import Lab, breaking
from lab.run import Run
from lab.wait import FAULT_LIMIT_S, every

fault_app = typer.Typer(no_args_is_help=True)
Setting = tuple[str, str, str]  # its name, what it takes, its default or ""


def register(app: typer.Typer) -> None:
    app.add_typer(
        fault_app, name="fault", help="Break a lab on purpose: what can be broken, break it, undo it."
    )


def _kinds(incomplete: str) -> list[str]:
    return [name for name in FAULTS if name.startswith(incomplete)]


@fault_app.command("list")
def list_(name: Name = None, json: Json = False) -> None:
    """Show what can be broken and with which settings, and the faults that a lab has or had."""
    known = leases.names()
    shown = [name] if name else known
    for lab in shown:
        if lab not in known:
            raise BadInput(f'no lab named "{lab}" is up', nearest(lab, known))
    found = [(lab, entry) for lab in shown for entry in faults.entries(lab)]
    kinds = [
        {"name": kind, "does": _first_line(fault), "settings": [s[0] for s in _settings(fault)]}
        for kind, fault in FAULTS.items()
    ]
    made = [{"lab": lab, "id": entry.id, "what": entry.what, "open": entry.is_open} for lab, entry in found]

    def text() -> None:
        rows = [(k, _shown(fault), _first_line(fault)) for k, fault in FAULTS.items()]
        console.table("Faults", ("name", "--set", "what it does"), rows, empty="none")
        console.line(
            "\nA victim is a service, several with commas between, workers, leader:CLUSTER/TOPIC/PARTITION,"
        )
        console.line("controller:CLUSTER, brokers:CLUSTER, or task:CONNECTOR/TASK.\n")
        states = [(m["lab"], m["id"], m["what"], "in force" if m["open"] else "healed") for m in made]
        console.table("Made so far", ("lab", "id", "what", "state"), states, empty="none")

    console.show({"faults": kinds, "made": made}, as_json=json, text=text)


@fault_app.command()
def inject(
    kind: Annotated[
        str, typer.Argument(metavar="NAME", help='One of "lab fault list".', autocompletion=_kinds)
    ],
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the fault.")
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="Hold it so long, e.g. 30s, then undo it."),
    ] = None,
    limit: Annotated[
        str, typer.Option("--limit", metavar="DURATION", help="Undo it after that whatever happens.")
    ] = f"{FAULT_LIMIT_S:.0f}s",
    name: Name = None,
    json: Json = False,
) -> None:
    """Break something and prove it. Without --for it lasts until "lab fault heal", or its limit."""
    fault = made(kind, setting or [])
    hold_s = seconds(for_) if for_ else None
    limit_s = seconds(limit)
    if hold_s is not None and hold_s >= limit_s:
        raise BadInput(
            f"it cannot be held for {hold_s:g} s with a limit of {limit_s:g} s", "give it a longer --limit"
        )
    stays = hold_s is None and fault.lasts
    lab = Lab.attach(name)
    lab.run = run = Run.open(f"fault-{kind}", console.Steps(), topology=lab.topology.name, lab=lab.name)
    try:
        if hold_s is None or not fault.lasts:
            injected = breaking.inject(lab, fault, limit_s=limit_s, run=run)
            if stays:
                injected.leave()
            else:
                breaking.end(injected, run)
        else:
            with lab.inject(fault, limit_s=limit_s) as injected, run.step(f"hold for {hold_s:g} s"):
                _hold(hold_s)
    except BadInput:
        run.forget()
        raise
    except BaseException as error:
        run.close("interrupted" if isinstance(error, KeyboardInterrupt) else f"failed: {error}")
        raise
    run.close("injected")
    data = {
        "id": injected.id,
        "what": injected.what,
        "proof": injected.proof,
        "open": stays,
        "limit_s": limit_s,
    }

    def text() -> None:
        console.line(f"{injected.what}: {injected.proof}")
        if stays:
            console.suggest(
                f"lab fault heal --name {lab.name}", f"undoes it; else its limit, {limit_s:g} s, does"
            )

    console.show(data, as_json=json, text=text)


def _hold(hold_s: float) -> None:
    for _ in every(min(1.0, hold_s), for_s=hold_s):
        pass


@fault_app.command()
def heal(name: Name = None, json: Json = False) -> None:
    """Undo every fault that may be in force, and prove that nothing of it is left."""
    lab = Lab.attach(name)
    healed = breaking.heal(lab, "lab fault heal")

    def text() -> None:
        rows = [(found["what"], found["proof"]) for found in healed]
        console.table("Healed", ("fault", "what shows it"), rows, empty="no fault was in force")

    console.show({"healed": healed}, as_json=json, text=text)


# -- settings as text -----------------------------------------------------------------------------


def made(kind: str, texts: list[str]) -> Fault:
    """The fault with its settings, or what is wrong with them."""
    if kind not in FAULTS:
        raise BadInput(f'no fault named "{kind}"', nearest(kind, list(FAULTS)))
    known = _settings(FAULTS[kind])
    names = [setting for setting, *_ in known]
    given: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in names:
            raise BadInput(f'fault "{kind}" has no setting "{text}"', f"it has {_shown(FAULTS[kind])}")
        given[key] = _read(key, value, get_type_hints(FAULTS[kind])[key])
    if missing := [setting for setting, _, default in known if not default and setting not in given]:
        raise BadInput(f'fault "{kind}" needs --set {missing[0]}=…', f"it has {_shown(FAULTS[kind])}")
    return FAULTS[kind](**given)


def _settings(fault: type[Fault]) -> list[Setting]:
    hints = get_type_hints(fault)
    return [
        (field.name, _takes(hints[field.name]), "" if field.default is MISSING else str(field.default))
        for field in fields(fault)  # type: ignore[arg-type]
    ]


def _shown(fault: type[Fault]) -> str:
    return ", ".join(
        f"{name}={f'[{takes}]' if default else takes}" for name, takes, default in _settings(fault)
    )


def _plain(hint: Any) -> Any:
    """The type of what may also be left out."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(arm for arm in get_args(hint) if arm is not type(None))
    return hint


def _takes(hint: Any) -> str:
    words = {int: "NUMBER", float: "NUMBER", bool: "true|false", str: "NAME"}
    return words.get(_plain(hint), "VICTIM")


def _read(key: str, value: str, hint: Any) -> Any:
    plain = _plain(hint)
    if plain is bool and value in ("true", "false"):
        return value == "true"
    if plain in (int, float):
        try:
            return plain(value)
        except ValueError as error:
            raise BadInput(f'{key}="{value}" is not a number', f"e.g. --set {key}=1") from error
    if plain is bool:
        raise BadInput(f'{key}="{value}" is neither true nor false', f"e.g. --set {key}=true")
    return value if plain is str else victims.parse(value)


def _first_line(fault: type[Fault]) -> str:
    return (fault.__doc__ or "").strip().partition("\n")[0]
