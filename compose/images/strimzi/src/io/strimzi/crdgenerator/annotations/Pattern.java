package io.strimzi.crdgenerator.annotations;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** On Strimzi's getters, from a library that is not published; Java leaves out annotations that it cannot load. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Pattern {
    String value();
}
