package dev.caisson.egress;

import java.util.List;
import java.util.Map;

/**
 * What an answer begins with, whatever the version.
 *
 * @param status 100 to 999
 * @param headers values by lower-case name, in their order; may be changed by its owner
 */
record AnswerHead(int status, Map<String, List<String>> headers) {
    /** Whether another answer to the same request follows. */
    boolean interim() {
        return status < 200 && status != 101;
    }

    /** Whether there is no body, whatever the headers say. */
    boolean bodiless(String method) {
        return status < 200 || status == 204 || status == 304 || method.equals("HEAD");
    }
}
