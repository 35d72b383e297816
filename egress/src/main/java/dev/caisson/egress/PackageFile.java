package dev.caisson.egress;

import dev.caisson.policy.Scheme;
import dev.caisson.policy.Verdict;
import java.net.URI;
import java.nio.ByteBuffer;
import java.time.Clock;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Sees a file of a package pass: judges its age and its bytes, and tells of the install. */
final class PackageFile implements AnswerFilter {
    private static final int MAX_HOPS = 3;
    private static final List<String> HASH_HEADERS = List.of("sha1", "sha256", "sha512");

    private final Session session;
    private final FileAddress at;
    private final LearnedFile file;
    private final PackageRules rules;
    private final Clock clock;

    PackageFile(
            Session session, FileAddress at, LearnedFile file, PackageRules rules, Clock clock) {
        this.session = session;
        this.at = at;
        this.file = file;
        this.rules = rules;
        this.clock = clock;
    }

    @Override
    public Plan begin(int status, Map<String, List<String>> headers) throws DeniedException {
        if (status >= 300 && status < 400) {
            redirect(headers);
            return new Pass();
        }
        if (status >= 400 || status < 200) {
            return new Pass();
        }
        if (status != 200 || !HttpHeaders.words(headers, "content-encoding").isEmpty()) {
            throw denied(
                    PackageRules.no(
                            "package answer",
                            "The registry gave a part of the file, or changed its bytes, so that"
                                    + " its hash cannot be known. Try again."));
        }
        checkAge(headers);
        Map<String, String> wanted = new LinkedHashMap<>(file.hashes());
        if (file.registry().ecosystem().equals("maven")) {
            for (String name : HASH_HEADERS) {
                HttpHeaders.one(headers, "x-checksum-" + name)
                        .ifPresent(hex -> FileHashes.put(wanted, name, hex));
            }
        }
        return new Bytes(wanted);
    }

    private static DeniedException denied(Verdict verdict) {
        return new DeniedException(verdict);
    }

    // Maven's indexes say nothing of time; the file itself does.
    private void checkAge(Map<String, List<String>> headers) throws DeniedException {
        if (!file.registry().ecosystem().equals("maven") || !file.installed()) {
            return;
        }
        Optional<Instant> modified =
                HttpHeaders.one(headers, "last-modified").flatMap(PackageFile::time);
        Optional<Verdict> no =
                rules.version(file.name(), file.version(), modified, clock.instant());
        if (no.isPresent()) {
            throw denied(no.get());
        }
    }

    private static Optional<Instant> time(String text) {
        try {
            return Optional.of(
                    ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    /** The place that a server sends on to is one of the file's own, and nothing else's. */
    private void redirect(Map<String, List<String>> headers) throws DeniedException {
        Optional<FileAddress> next =
                HttpHeaders.one(headers, "location")
                        .flatMap(text -> FileAddress.link(file.registry(), base(), text));
        if (next.isEmpty() || file.hops() >= MAX_HOPS) {
            throw denied(
                    PackageRules.no(
                            "package redirect",
                            "The registry sends on to a place that is not followed: another host is"
                                    + " reached by https only, and "
                                    + MAX_HOPS
                                    + " times at most."));
        }
        session.files().learn(next.get(), file.moved());
    }

    private URI base() {
        String start = at.scheme() == Scheme.HTTPS ? "https://" : "http://";
        return URI.create(start + at.to() + at.target());
    }

    private final class Bytes implements Tap {
        private final FileHashes hashes = new FileHashes();
        private final Map<String, String> wanted;
        private final List<String> pinned;
        private long count;

        Bytes(Map<String, String> wanted) {
            this.wanted = wanted;
            this.pinned = file.installed() ? rules.pinned(file.name(), file.version()) : List.of();
            hashes.add("sha256");
            wanted.keySet().forEach(hashes::add);
            pinned.forEach(pin -> hashes.add(pin.substring(0, pin.indexOf(':'))));
        }

        @Override
        public void bytes(ByteBuffer bytes) {
            count += bytes.remaining();
            hashes.bytes(bytes);
        }

        @Override
        public void end() throws DeniedException {
            Map<String, String> found = hashes.end();
            for (Map.Entry<String, String> want : wanted.entrySet()) {
                check(want.getKey(), want.getValue(), found, "its registry's index names");
            }
            for (String pin : pinned) {
                int colon = pin.indexOf(':');
                check(pin.substring(0, colon), pin.substring(colon + 1), found, "the policy names");
            }
            if (file.installed()) {
                tell(found.getOrDefault("sha256", ""));
            }
        }

        private void check(String algorithm, String wanted, Map<String, String> found, String who)
                throws DeniedException {
            if (!wanted.equals(found.get(algorithm))) {
                throw denied(
                        PackageRules.no(
                                "package hash",
                                "The bytes of "
                                        + at.file()
                                        + " are not those that "
                                        + who
                                        + " ("
                                        + algorithm
                                        + " "
                                        + found.get(algorithm)
                                        + "). Do not use it, and tell the operator."));
            }
        }

        private void tell(String sha256) {
            Map<String, Object> data = new LinkedHashMap<>();
            data.put("ecosystem", file.registry().ecosystem());
            data.put("name", file.name());
            data.put("version", file.version());
            data.put("registry", file.registry().host().value());
            data.put("file", at.file());
            data.put("sha256", sha256);
            data.put("bytes", count);
            session.event("package.installed", "", data);
        }
    }
}
