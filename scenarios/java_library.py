"""Kafka's own Java library, asked in a container of the lab.

The image has no JDK, but Debian's JRE has the compiler that runs a single source file.
"""

import re
from collections.abc import Mapping

from lab.harness import Lab
from lab.kafka import GroupOffset, Place

_UPSTREAM = """\
import java.util.Map;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

class Upstream {
    public static void main(String[] given) throws Exception {
        var cluster = Map.<String, Object>of("bootstrap.servers", given[0]);
        for (var alias : RemoteClusterUtils.upstreamClusters(cluster))
            System.out.println("found " + alias + " " + RemoteClusterUtils.replicationHops(cluster, alias));
    }
}
"""

_TRANSLATE = """\
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

class Translate {
    public static void main(String[] given) throws Exception {
        var target = Map.<String, Object>of("bootstrap.servers", given[0]);
        RemoteClusterUtils.translateOffsets(target, given[1], given[2], Duration.ofMinutes(2)).forEach(
            (at, to) -> System.out.println("found " + at.topic() + " " + at.partition() + " " + to.offset()));
    }
}
"""


def upstream_clusters(lab: Lab, alias: str) -> dict[str, int]:
    """What `RemoteClusterUtils.upstreamClusters` finds from a cluster, and the hops to each."""
    found = _run(lab, alias, _UPSTREAM, lab.internal_bootstrap(alias))
    return {cluster: int(hops) for cluster, hops in found}


def translate_offsets(lab: Lab, target: str, source: str, group: str) -> Mapping[Place, GroupOffset]:
    """What `RemoteClusterUtils.translateOffsets` tells a group of the source to go on from."""
    found = _run(lab, target, _TRANSLATE, lab.internal_bootstrap(target), source, group)
    return {(t, int(p)): GroupOffset(offset=int(o)) for t, p, o in found}


def _run(lab: Lab, alias: str, source: str, *arguments: str) -> list[list[str]]:
    """The words of each line that begins with "found", printed beside a cluster's first broker."""
    (name,) = re.findall(r"^class (\w+)", source, re.M)
    told = lab.shell(
        lab.topology.roles.clusters[alias][0],
        f"cat >/tmp/{name}.java && java -Xmx128m -cp '/opt/kafka/libs/*' /tmp/{name}.java "
        f"{' '.join(arguments)} 2>/tmp/{name}.log || {{ tail -n 20 /tmp/{name}.log >&2; false; }}",
        stdin=source,
    )
    lines = [line.split() for line in told.splitlines()]  # a library may print others between
    return [line[1:] for line in lines if line[:1] == ["found"]]
