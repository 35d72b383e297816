package dev.caisson.v1;

import java.util.List;

/**
 * The way out of a sandbox as it is now.
 *
 * @param layers documents, the tenant's first; what each of them allows is allowed
 */
public record EgressLayersJson(List<EgressJson> layers) {
    /** Copies the list. */
    public EgressLayersJson {
        layers = List.copyOf(Absent.list(layers));
    }
}
