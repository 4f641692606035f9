package io.mirrorlab.policy;

import java.util.Map;

import org.apache.kafka.connect.mirror.DefaultReplicationPolicy;

/**
 * A replication policy that keeps the names of topics: {@code orders} is {@code orders} on the target.
 *
 * <p>MM2's own topics are named as by {@link DefaultReplicationPolicy}, and so are heartbeats: a topic whose
 * name ends in {@code heartbeats} gets the alias of its source as prefix, since every cluster has a topic
 * {@code heartbeats} of its own.
 *
 * <p>What a prefix tells, this policy cannot know:
 * <ul>
 *   <li>Cycles. MM2 leaves out topics that came from where they would go; without a prefix nothing says so,
 *       and two clusters that mirror a topic into each other repeat each record for ever.</li>
 *   <li>The source of a topic, {@link #topicSource}. Every topic is said to come from the connector's source
 *       cluster, also one that was created on the target. Where several sources have topics of one name,
 *       their records come together in one topic.</li>
 *   <li>The upstream topic, {@link #upstreamTopic}. It is the topic itself, however many clusters lie between;
 *       {@code MirrorClient} and {@code RemoteClusterUtils} cannot count hops or list remote topics.</li>
 * </ul>
 *
 * <p>The same class name belongs into the source connector and into the checkpoint connector: with two
 * policies, the offsets of consumer groups are translated for topics that do not exist.
 */
public class CustomReplicationPolicy extends DefaultReplicationPolicy {
    private static final String HEARTBEATS = "heartbeats";

    private final boolean asksForEver = asksForEver();
    private String source;

    @Override
    public void configure(Map<String, ?> config) {
        super.configure(config);
        source = (String) config.get("source.cluster.alias");
    }

    @Override
    public String formatRemoteTopic(String sourceAlias, String topic) {
        return isHeartbeats(topic) ? super.formatRemoteTopic(sourceAlias, topic) : topic;
    }

    /**
     * The alias of the connector's source cluster. Were it null, the source connector would take every
     * topic for missing on the target, and would sync neither configs nor ACLs.
     */
    @Override
    public String topicSource(String topic) {
        if (topic == null) {
            return null;
        }
        return isHeartbeats(topic) ? super.topicSource(topic) : source;
    }

    /**
     * The topic itself.
     *
     * <p>With Kafka before 3.0 it is null, "not a remote topic": MM2 asked on and on for the upstream topic's
     * upstream topic there, until its stack was full. The price is that MM2 tries to create all topics anew
     * at every {@code refresh.topics.interval.seconds}, and warns that they exist.
     */
    @Override
    public String upstreamTopic(String topic) {
        if (isHeartbeats(topic)) {
            return super.upstreamTopic(topic);
        }
        return asksForEver ? null : topic;
    }

    private static boolean isHeartbeats(String topic) {
        return topic != null && topic.endsWith(HEARTBEATS);
    }

    /** Kafka 3.0 brought a policy that keeps names, and with it an end to the questions. */
    private static boolean asksForEver() {
        try {
            Class.forName("org.apache.kafka.connect.mirror.IdentityReplicationPolicy", false,
                DefaultReplicationPolicy.class.getClassLoader());
            return false;
        } catch (ClassNotFoundException error) {
            return true;
        }
    }
}
