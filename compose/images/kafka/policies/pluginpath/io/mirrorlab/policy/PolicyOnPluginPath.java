package io.mirrorlab.policy;

/**
 * The same policy in a place where workers do not find it: its jar is on {@code plugin.path} only.
 *
 * <p>Connect gives each connector the class loader of the plugin that the connector comes from. MM2's connectors
 * come from the class path, whose loader does not look into plugins; a connector that names this class is
 * refused. It is here to be tried.
 */
public class PolicyOnPluginPath extends CustomReplicationPolicy {
}
