package io.mirrorlab.strimzi;

import io.strimzi.api.kafka.model.connector.AbstractConnectorSpec;
import io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2;
import io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2ClusterSpec;
import io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2ConnectorSpec;
import io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2MirrorSpec;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What no schema says and Strimzi's operator asks for all the same: aliases that exist, one target for a resource,
 * and no key in a config that the operator writes by itself, by the API's own lists of them.
 */
final class Operator {
    private static final List<String> PREFIXES = list(KafkaMirrorMaker2ClusterSpec.FORBIDDEN_PREFIXES);
    private static final List<String> EXCEPTIONS = list(KafkaMirrorMaker2ClusterSpec.FORBIDDEN_PREFIX_EXCEPTIONS);
    private static final List<String> PARAMETERS = list(AbstractConnectorSpec.FORBIDDEN_PARAMETERS);

    static void check(KafkaMirrorMaker2 resource, List<String> found) {
        if (resource.getSpec() == null || resource.getSpec().getClusters() == null
                || resource.getSpec().getMirrors() == null || resource.getSpec().getConnectCluster() == null) {
            found.add("spec: needs connectCluster, clusters and mirrors");
            return;
        }
        String target = resource.getSpec().getConnectCluster();
        Set<String> aliases = new HashSet<>();
        int n = 0;
        for (KafkaMirrorMaker2ClusterSpec cluster : resource.getSpec().getClusters()) {
            String path = "spec.clusters[" + n++ + "]";
            if (!aliases.add(cluster.getAlias())) {
                found.add(path + ".alias: stands twice");
            }
            for (String key : config(cluster.getConfig()).keySet()) {
                if (PREFIXES.stream().anyMatch(key::startsWith) && EXCEPTIONS.stream().noneMatch(key::startsWith)) {
                    found.add(path + ".config." + key + ": the operator forbids it");
                }
            }
        }
        if (!aliases.contains(target)) {
            found.add("spec.connectCluster: no cluster has this alias");
        }
        n = 0;
        for (KafkaMirrorMaker2MirrorSpec mirror : resource.getSpec().getMirrors()) {
            mirror(mirror, "spec.mirrors[" + n++ + "]", target, aliases, found);
        }
    }

    private static void mirror(
            KafkaMirrorMaker2MirrorSpec mirror, String path, String target, Set<String> aliases, List<String> found) {
        if (!aliases.contains(mirror.getSourceCluster())) {
            found.add(path + ".sourceCluster: no cluster has this alias");
        }
        if (!target.equals(mirror.getTargetCluster())) {
            found.add(path + ".targetCluster: not the connectCluster");
        }
        Map<String, KafkaMirrorMaker2ConnectorSpec> connectors = new HashMap<>();
        connectors.put("sourceConnector", mirror.getSourceConnector());
        connectors.put("checkpointConnector", mirror.getCheckpointConnector());
        connectors.put("heartbeatConnector", mirror.getHeartbeatConnector());
        connectors.forEach((name, connector) -> {
            for (String key : connector == null ? Set.<String>of() : config(connector.getConfig()).keySet()) {
                if (PARAMETERS.contains(key)) {
                    found.add(path + "." + name + ".config." + key + ": the operator forbids it");
                }
            }
        });
    }

    private static Map<String, Object> config(Map<String, Object> given) {
        return given == null ? Map.of() : given;
    }

    private static List<String> list(String text) {
        return List.of(text.split(",\\s*"));
    }

    private Operator() {
    }
}
