"""Numbers with their nouns, as people write them."""


def counted(number: int, noun: str) -> str:
    """1 network, 2,000 records, no tasks."""
    return f"{number:,} {noun}" if number == 1 else f"{f'{number:,}' if number else 'no'} {noun}s"
