package io.mirrorlab.strimzi;

import com.fasterxml.jackson.databind.BeanDescription;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.introspect.BeanPropertyDefinition;
import io.strimzi.crdgenerator.annotations.Minimum;
import io.strimzi.crdgenerator.annotations.Pattern;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Every object below a resource. Strimzi's and Kubernetes' classes keep whatever they do not know as "additional
 * properties" and say nothing: a document that is only read by them is never refused. Here those must be empty, at
 * every level, and what the classes say of their fields must be true: required, a pattern, a least number.
 */
final class Graph {
    static void check(Object object, String path, List<String> found) throws com.fasterxml.jackson.databind.JsonMappingException {
        if (object instanceof Collection<?> elements) {
            int n = 0;
            for (Object element : elements) {
                check(element, path + "[" + n++ + "]", found);
            }
        } else if (isModel(object)) {
            fields(object, path, found);
        }
    }

    /** Maps are free: labels, the data of a ConfigMap, the config of a connector. */
    private static boolean isModel(Object object) {
        return object != null && !object.getClass().isEnum()
                && (object.getClass().getName().startsWith("io.strimzi.")
                || object.getClass().getName().startsWith("io.fabric8."));
    }

    private static void fields(Object object, String path, List<String> found) throws com.fasterxml.jackson.databind.JsonMappingException {
        JavaType type = Check.STRICT.constructType(object.getClass());
        BeanDescription described = Check.STRICT.getSerializationConfig().introspect(type);
        if (described.findAnyGetter() != null) {
            Map<?, ?> unknown = (Map<?, ?>) described.findAnyGetter().getValue(object);
            for (Object key : unknown == null ? List.of() : unknown.keySet()) {
                found.add(below(path, key.toString()) + ": no such field");
            }
        }
        for (BeanPropertyDefinition property : described.findProperties()) {
            if (!property.couldSerialize()) {
                continue;
            }
            Object value = property.getAccessor().getValue(object);
            String place = below(path, property.getName());
            if (value == null && property.isRequired()) {
                found.add(place + ": is missing");
            }
            Pattern pattern = property.getAccessor().getAnnotated().getAnnotation(Pattern.class);
            if (value instanceof String text && pattern != null && !text.matches(pattern.value())) {
                found.add(place + ": not of the form " + pattern.value());
            }
            Minimum minimum = property.getAccessor().getAnnotated().getAnnotation(Minimum.class);
            if (value instanceof Number number && minimum != null && number.longValue() < minimum.value()) {
                found.add(place + ": less than " + minimum.value());
            }
            check(value, place, found);
        }
    }

    private static String below(String path, String name) {
        return path.isEmpty() ? name : path + "." + name;
    }

    private Graph() {
    }
}
