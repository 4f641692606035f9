"""The rules, one file each. Of equally likely findings earlier rules come first: causes, then effects.

A rule is a function `look`: an observation -> what it finds. It takes nothing that is not there for evidence.
"""

from collections.abc import Callable, Iterator
from typing import Final

from lab.diagnose.finding import Finding
from lab.diagnose.observation import Observation
from lab.diagnose.rules import (
    advertised_listener,
    at_rest,
    batch_refused,
    certificate_authority,
    certificate_expired,
    certificate_name,
    flush_timeout,
    group_active,
    header_converter,
    log_directory,
    memory,
    password,
    plugin_class,
    producer_thread,
    record_too_large,
    replication_factor,
    security_protocol,
    service_down,
    topic_key,
    unknown_topic,
)

Rule = Callable[[Observation], Iterator[Finding]]

RULES: Final[dict[str, Rule]] = {
    module.__name__.rpartition(".")[2]: module.look
    for module in (
        memory,
        plugin_class,
        certificate_expired,
        certificate_authority,
        certificate_name,
        password,
        security_protocol,
        advertised_listener,
        record_too_large,
        batch_refused,
        producer_thread,
        topic_key,
        replication_factor,
        group_active,
        header_converter,
        unknown_topic,
        flush_timeout,
        log_directory,
        service_down,
        at_rest,
    )
}
