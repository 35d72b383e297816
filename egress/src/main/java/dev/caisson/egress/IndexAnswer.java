package dev.caisson.egress;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.core.JacksonException;

/**
 * Takes what is not allowed out of the index of a package.
 *
 * @param json whether a program that asks for Python's index takes it in JSON
 */
record IndexAnswer(PackageIndex index, boolean json) implements AnswerFilter {
    private static final List<String> OF_THE_OLD_BODY =
            List.of("etag", "last-modified", "content-md5", "digest", "accept-ranges");

    @Override
    public Plan begin(int status, Map<String, List<String>> headers) throws DeniedException {
        if (status >= 300 && status < 400) {
            checkRedirect(headers);
            return new Pass();
        }
        if (status >= 400 || status < 200) {
            return new Pass();
        }
        OF_THE_OLD_BODY.forEach(headers::remove);
        if (index.registry().ecosystem().equals("npm")) {
            return rewrite(whole -> new NpmIndex(index).rewrite(whole));
        }
        boolean sentJson =
                HttpHeaders.one(headers, "content-type")
                        .filter(type -> type.contains("json"))
                        .isPresent();
        if (!sentJson || !json) {
            HttpHeaders.set(headers, "content-type", "text/html; charset=utf-8");
        }
        PypiIndex pypi = new PypiIndex(index);
        return rewrite(whole -> sentJson ? pypi.json(whole, !json) : pypi.html(whole));
    }

    private interface Change {
        byte[] of(byte[] whole);
    }

    private static Rewrite rewrite(Change change) {
        return new Rewrite(
                Rewrite.MOST,
                whole -> {
                    try {
                        return change.of(whole);
                    } catch (JacksonException e) {
                        throw new DeniedException(
                                PackageRules.no(
                                        "package index",
                                        "The registry's answer is no index that can be read. Check"
                                                + " the registry's address."));
                    }
                });
    }

    // An index is read from the registry only: there the next request is judged as this one was.
    private void checkRedirect(Map<String, List<String>> headers) throws DeniedException {
        Optional<FileAddress> next =
                HttpHeaders.one(headers, "location")
                        .flatMap(text -> FileAddress.link(index.registry(), index.base(), text));
        if (next.isEmpty()
                || !next.get().to().host().equals(index.registry().host())
                || next.get().to().port() != index.registry().port()) {
            throw new DeniedException(
                    PackageRules.no(
                            "package redirect",
                            "The registry sends on to another host for its index. Name that one as"
                                    + " the registry's address."));
        }
    }
}
