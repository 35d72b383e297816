package dev.caisson.core;

import java.util.Map;

/**
 * Reads the JSON of the way out for those who have no reader of it. Safe for use by several
 * threads.
 */
public interface EgressDocuments {
    /** Leaves documents as they are, and reads nothing. */
    EgressDocuments PLAIN =
            new EgressDocuments() {
                @Override
                public String complete(String document) {
                    return document;
                }

                @Override
                public Map<String, Object> data(String json) {
                    return Map.of();
                }
            };

    /**
     * The document of a sandbox before it is made, with what is this host's to fill in.
     *
     * @throws dev.caisson.api.CaissonException {@link dev.caisson.api.ErrorCode#INVALID} for what
     *     is no document
     */
    String complete(String document);

    /** The data of an event of the gateway; empty for what cannot be read. */
    Map<String, Object> data(String json);
}
