package dev.caisson.egress;

import java.io.ByteArrayOutputStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.databind.JsonNode;

/** The index of one npm package, without the versions that may not be installed. One thread. */
final class NpmIndex {
    private final PackageIndex index;
    private final PackageIndex.Versions versions;
    private final Map<String, Instant> times = new HashMap<>();
    private final Map<String, String> tags = new LinkedHashMap<>();
    private final List<Found> found = new ArrayList<>();
    private final Set<String> allowed = new LinkedHashSet<>();

    private record Found(String version, String link, Map<String, String> hashes) {}

    NpmIndex(PackageIndex index) {
        this.index = index;
        this.versions = new PackageIndex.Versions(index);
    }

    /**
     * The index as it may be seen.
     *
     * @throws tools.jackson.core.JacksonException it is no index
     */
    byte[] rewrite(byte[] whole) {
        IndexJson.read(whole, this::collect);
        for (Found one : found) {
            LearnedFile file =
                    new LearnedFile(
                            index.registry(),
                            index.name(),
                            one.version,
                            one.hashes,
                            Optional.ofNullable(times.get(one.version)),
                            true,
                            0);
            if (index.takes(versions, one.link, file)) {
                allowed.add(one.version);
            }
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(whole.length);
        try (JsonGenerator writer = IndexJson.writer(out)) {
            writer.writeStartObject();
            IndexJson.read(whole, (name, in) -> copy(name, in, writer));
            writer.writeEndObject();
        }
        return out.toByteArray();
    }

    private void collect(String name, JsonParser in) {
        switch (name) {
            case "versions" -> IndexJson.fields(in, this::version);
            case "time" ->
                    IndexJson.fields(
                            in,
                            (version, value) ->
                                    text(value)
                                            .flatMap(PackageIndex::time)
                                            .ifPresent(time -> times.put(version, time)));
            case "dist-tags" ->
                    IndexJson.fields(
                            in,
                            (tag, value) ->
                                    text(value).ifPresent(version -> tags.put(tag, version)));
            default -> in.skipChildren();
        }
    }

    private static Optional<String> text(JsonParser in) {
        if (in.currentToken().isScalarValue()) {
            return Optional.ofNullable(in.getValueAsString());
        }
        in.skipChildren();
        return Optional.empty();
    }

    private void version(String version, JsonParser in) {
        JsonNode dist = IndexJson.tree(in).path("dist");
        Map<String, String> hashes = new HashMap<>();
        FileHashes.put(hashes, "sha1", IndexJson.text(dist, "shasum"));
        FileHashes.integrity(hashes, IndexJson.text(dist, "integrity"));
        found.add(new Found(version, IndexJson.text(dist, "tarball"), hashes));
    }

    private void copy(String name, JsonParser in, JsonGenerator out) {
        out.writeName(name);
        switch (name) {
            case "versions" -> filtered(in, out, allowed::contains);
            case "time" ->
                    filtered(
                            in,
                            out,
                            key ->
                                    allowed.contains(key)
                                            || key.equals("created")
                                            || key.equals("modified"));
            case "dist-tags" -> {
                in.skipChildren();
                out.writeStartObject();
                tags(out);
                out.writeEndObject();
            }
            default -> out.copyCurrentStructure(in);
        }
    }

    private static void filtered(
            JsonParser in, JsonGenerator out, java.util.function.Predicate<String> keep) {
        out.writeStartObject();
        IndexJson.fields(
                in,
                (key, value) -> {
                    if (keep.test(key)) {
                        out.writeName(key);
                        out.copyCurrentStructure(value);
                    } else {
                        value.skipChildren();
                    }
                });
        out.writeEndObject();
    }

    private void tags(JsonGenerator out) {
        tags.forEach((tag, version) -> {
            if (allowed.contains(version)) {
                out.writeStringProperty(tag, version);
            } else if (tag.equals("latest")) {
                SemanticVersion.newest(allowed, version)
                        .ifPresent(older -> out.writeStringProperty(tag, older));
            }
        });
    }
}
