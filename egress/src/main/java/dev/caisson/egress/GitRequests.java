package dev.caisson.egress;

import java.util.List;

/** The requests of git's smart protocol over HTTPS (gitprotocol-http). */
final class GitRequests {
    private GitRequests() {}

    /**
     * Whether a request belongs to fetching, or to pushing when that is allowed.
     *
     * @param target path and query
     */
    static boolean allowed(String method, String target, boolean push) {
        int mark = target.indexOf('?');
        String path = mark < 0 ? target : target.substring(0, mark);
        if (method.equals("GET") && path.endsWith("/info/refs")) {
            List<String> parts = Queries.parts(target);
            return parts.equals(List.of("service=git-upload-pack"))
                    || (push && parts.equals(List.of("service=git-receive-pack")));
        }
        return method.equals("POST")
                && mark < 0
                && (path.endsWith("/git-upload-pack")
                        || (push && path.endsWith("/git-receive-pack")));
    }
}
