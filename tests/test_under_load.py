"""The table of faults: one line each, in the order of their numbers, the two guarantees side by side."""

from scenarios.under_load import AT_LEAST_ONCE, EXACTLY_ONCE, Line, table


def line(number: str, fault: str, guarantee: str = AT_LEAST_ONCE, *, duplicated: int = 0) -> Line:
    return Line(
        number=number,
        fault=fault,
        guarantee=guarantee,
        outage_s=12.34,
        recovered_s=5.0,
        sent=12_000,
        lost=0,
        duplicated=duplicated,
        reordered=0,
    )


def test_lines_stand_in_the_order_of_their_numbers() -> None:
    told = table(
        [line("10", "cut off"), line("2", "killed", EXACTLY_ONCE), line("2", "killed", duplicated=1_234)]
    ).splitlines()

    assert told[0].split() == "fault guarantee outage s recovery s sent lost twice order".split()
    assert [row.split()[0] for row in told[1:]] == ["2", "2", "10"]
    assert "at least once" in told[1]
    assert told[1].split()[-6:] == ["12.3", "5.0", "12,000", "0", "1,234", "0"]
    assert "exactly once" in told[2]
    assert len({len(row) for row in told}) == 1
