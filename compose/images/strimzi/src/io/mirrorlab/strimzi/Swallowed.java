package io.mirrorlab.strimzi;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** What a class read without an objection and does not write again: a value of an enum that it does not know. */
final class Swallowed {
    static void find(JsonNode read, JsonNode written, String path, List<String> found) {
        if (read.isObject()) {
            for (Iterator<Map.Entry<String, JsonNode>> fields = read.fields(); fields.hasNext(); ) {
                Map.Entry<String, JsonNode> field = fields.next();
                below(field.getValue(), written.get(field.getKey()), path + "." + field.getKey(), found);
            }
        } else if (read.isArray()) {
            for (int n = 0; n < read.size(); n++) {
                below(read.get(n), written.get(n), path + "[" + n + "]", found);
            }
        }
    }

    private static void below(JsonNode read, JsonNode written, String path, List<String> found) {
        boolean nothing = read.isNull() || (read.isContainerNode() && read.isEmpty());
        if (written == null || written.isNull()) {
            if (!nothing) {
                found.add(path.substring(1) + ": no such value");
            }
        } else if (read.isValueNode() && !read.isNull() && !read.asText().equals(written.asText())) {
            found.add(path.substring(1) + ": no such value");
        } else {
            find(read, written, path, found);
        }
    }

    private Swallowed() {
    }
}
