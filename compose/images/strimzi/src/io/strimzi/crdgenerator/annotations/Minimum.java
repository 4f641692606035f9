package io.strimzi.crdgenerator.annotations;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** As {@link Pattern}. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Minimum {
    int value();
}
