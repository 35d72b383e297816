package dev.caisson.egress;

import java.util.List;
import java.util.Map;

/**
 * What a request begins with, whatever the version.
 *
 * @param method as sent
 * @param target path and query
 * @param headers values by lower-case name, in their order; may be changed by its owner
 */
record RequestHead(String method, String target, Map<String, List<String>> headers) {
    /** Path without the query. */
    String path() {
        int mark = target.indexOf('?');
        return mark < 0 ? target : target.substring(0, mark);
    }

    @Override
    public String toString() {
        return method + " " + path();
    }
}
