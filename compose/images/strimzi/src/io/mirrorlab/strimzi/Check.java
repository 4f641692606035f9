package io.mirrorlab.strimzi;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.type.LogicalType;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import io.strimzi.api.kafka.model.mirrormaker2.KafkaMirrorMaker2;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Reads YAML documents from stdin as Strimzi's and Kubernetes' own classes, and prints a line per problem: number
 * of the document, path, what is wrong, never a value. Exit code 0 without problems, 1 with some, 2 when nothing
 * was read.
 */
public final class Check {
    private static final Map<String, Class<? extends HasMetadata>> KINDS = Map.of(
            "KafkaMirrorMaker2", KafkaMirrorMaker2.class,
            "ConfigMap", ConfigMap.class,
            "Pod", Pod.class,
            "Secret", Secret.class);

    private static final String NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

    // Anything else than what is asked for is refused, as an API server does: no "1" for 1, and no 1 for "1".
    static final ObjectMapper STRICT = strict();

    private static ObjectMapper strict() {
        JsonMapper.Builder builder = JsonMapper.builder()
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_INVALID_SUBTYPE);
        for (CoercionInputShape shape : List.of(
                CoercionInputShape.Integer, CoercionInputShape.Float, CoercionInputShape.Boolean)) {
            builder.withCoercionConfig(LogicalType.Textual, c -> c.setCoercion(shape, CoercionAction.Fail));
        }
        return builder.build();
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper yaml = new ObjectMapper(new YAMLFactory().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION));
        int number = 0;
        int problems = 0;
        try (var documents = yaml.readerFor(JsonNode.class).<JsonNode>readValues(System.in)) {
            while (documents.hasNextValue()) {
                number++;
                for (String problem : problems(documents.nextValue())) {
                    System.out.println(number + ": " + problem);
                    problems++;
                }
            }
        } catch (JsonProcessingException error) {
            System.out.println((number + 1) + ": not YAML, or a key that stands twice" + at(error));
            problems++;
        }
        System.exit(number == 0 && problems == 0 ? 2 : problems == 0 ? 0 : 1);
    }

    private static List<String> problems(JsonNode document) {
        String kind = document.path("kind").asText();
        Class<? extends HasMetadata> type = KINDS.get(kind);
        if (type == null) {
            return List.of("kind: not one of " + KINDS.keySet().stream().sorted().collect(Collectors.joining(", ")));
        }
        List<String> found = new ArrayList<>();
        try {
            HasMetadata resource = STRICT.treeToValue(document, type);
            Swallowed.find(document, STRICT.valueToTree(resource), "", found);
            Graph.check(resource, "", found);
            String version = HasMetadata.getApiVersion(type);
            if (!version.equals(document.path("apiVersion").asText())) { // the class fills in what is not there
                found.add("apiVersion: not " + version);
            }
            if (!document.path("metadata").path("name").asText().matches(NAME)) {
                found.add("metadata.name: not of the form " + NAME);
            }
            if (resource instanceof KafkaMirrorMaker2 mirrorMaker) {
                Operator.check(mirrorMaker, found);
            }
        } catch (JsonMappingException error) {
            found.add(path(error) + ": not what " + type.getSimpleName() + " has there");
        } catch (JsonProcessingException error) {
            found.add("not readable as " + type.getSimpleName());
        }
        return found;
    }

    private static String path(JsonMappingException error) {
        StringBuilder path = new StringBuilder();
        for (JsonMappingException.Reference part : error.getPath()) {
            path.append(part.getFieldName() == null ? "[" + part.getIndex() + "]" : "." + part.getFieldName());
        }
        return path.length() == 0 ? "the document" : path.substring(1);
    }

    private static String at(JsonProcessingException error) {
        return error.getLocation() == null ? "" : ", line " + error.getLocation().getLineNr();
    }

    private Check() {
    }
}
