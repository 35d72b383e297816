package dev.caisson.egress;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.JsonNode;

/**
 * The index of one Python package (PEP 503 in HTML, PEP 691 in JSON), without the files that may
 * not be installed. One thread.
 */
final class PypiIndex {
    static final String JSON = "application/vnd.pypi.simple.v1+json";

    private final PackageIndex index;
    private final PackageIndex.Versions versions;
    private final Set<String> allowed = new HashSet<>();

    PypiIndex(PackageIndex index) {
        this.index = index;
        this.versions = new PackageIndex.Versions(index);
    }

    /** The index in HTML as it may be seen. */
    byte[] html(byte[] whole) {
        PypiPage page = PypiPage.parse(new String(whole, StandardCharsets.UTF_8));
        List<PypiPage.Link> kept = new ArrayList<>();
        PackageIndex from = page.base().isEmpty() ? index : rebased(page.base());
        for (PypiPage.Link link : page.links()) {
            Map<String, String> hashes = new HashMap<>();
            hash(hashes, link.fragment());
            if (take(from, link.text(), link.address(), hashes, Optional.empty())) {
                kept.add(link);
                companion(from, link.address(), link.text(), link.metadataHash());
            }
        }
        return PypiPage.write(index.name(), page.base(), kept).getBytes(StandardCharsets.UTF_8);
    }

    private PackageIndex rebased(String base) {
        try {
            return new PackageIndex(
                    index.registry(),
                    index.base().resolve(base),
                    index.name(),
                    index.rules(),
                    index.learned(),
                    index.now());
        } catch (IllegalArgumentException e) {
            return index;
        }
    }

    /**
     * The index in JSON as it may be seen.
     *
     * @param html whether it is wanted in HTML
     * @throws tools.jackson.core.JacksonException it is no index
     */
    byte[] json(byte[] whole, boolean html) {
        List<PypiPage.Link> kept = new ArrayList<>();
        // Versions come before or after the files.
        IndexJson.read(
                whole,
                (name, in) -> {
                    if (name.equals("files")) {
                        files(in, file -> kept.add(link(file)));
                    } else {
                        in.skipChildren();
                    }
                });
        if (html) {
            return PypiPage.write(index.name(), "", kept).getBytes(StandardCharsets.UTF_8);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(whole.length);
        try (JsonGenerator writer = IndexJson.writer(out)) {
            writer.writeStartObject();
            IndexJson.read(whole, (name, in) -> copy(name, in, writer));
            writer.writeEndObject();
        }
        return out.toByteArray();
    }

    private void copy(String name, JsonParser in, JsonGenerator out) {
        out.writeName(name);
        switch (name) {
            case "files" -> {
                out.writeStartArray();
                files(in, out::writePOJO);
                out.writeEndArray();
            }
            case "versions" -> {
                out.writeStartArray();
                elements(
                        in,
                        version -> {
                            if (version.isString() && allowed.contains(version.stringValue())) {
                                out.writeString(version.stringValue());
                            }
                        });
                out.writeEndArray();
            }
            default -> out.copyCurrentStructure(in);
        }
    }

    private static void elements(JsonParser in, java.util.function.Consumer<JsonNode> each) {
        if (in.currentToken() != JsonToken.START_ARRAY) {
            in.skipChildren();
            return;
        }
        while (in.nextToken() != JsonToken.END_ARRAY) {
            each.accept(IndexJson.tree(in));
        }
    }

    private void files(JsonParser in, java.util.function.Consumer<JsonNode> kept) {
        elements(
                in,
                file -> {
                    Map<String, String> hashes = hashes(file.path("hashes"));
                    Optional<Instant> time = PackageIndex.time(IndexJson.text(file, "upload-time"));
                    String name = IndexJson.text(file, "filename");
                    String url = IndexJson.text(file, "url");
                    if (take(index, name, url, hashes, time)) {
                        companion(index, url, name, metadata(file));
                        kept.accept(file);
                    }
                });
    }

    private boolean take(
            PackageIndex from,
            String file,
            String url,
            Map<String, String> hashes,
            Optional<Instant> published) {
        String version = PypiFiles.version(index.name(), file);
        boolean taken =
                from.takes(
                        versions,
                        url,
                        new LearnedFile(
                                index.registry(),
                                index.name(),
                                version,
                                hashes,
                                published,
                                true,
                                0));
        if (taken) {
            allowed.add(version);
        }
        return taken;
    }

    // The metadata beside a wheel (PEP 658), and what signs a file.
    private void companion(
            PackageIndex from, String url, String file, Optional<Map<String, String>> metadata) {
        Optional<FileAddress> at = FileAddress.link(index.registry(), from.base(), url);
        if (at.isEmpty() || metadata.isEmpty()) {
            return;
        }
        index.learned()
                .learn(
                        at.get().with(".metadata"),
                        new LearnedFile(
                                index.registry(),
                                index.name(),
                                PypiFiles.version(index.name(), file),
                                metadata.get(),
                                Optional.of(Instant.EPOCH),
                                false,
                                0));
    }

    private static Optional<Map<String, String>> metadata(JsonNode file) {
        JsonNode metadata =
                file.has("core-metadata")
                        ? file.path("core-metadata")
                        : file.path("dist-info-metadata");
        if (metadata.isBoolean()) {
            return metadata.booleanValue() ? Optional.of(Map.of()) : Optional.empty();
        }
        return metadata.isObject() ? Optional.of(hashes(metadata)) : Optional.empty();
    }

    private static Map<String, String> hashes(JsonNode object) {
        Map<String, String> hashes = new LinkedHashMap<>();
        FileHashes.KNOWN
                .keySet()
                .forEach(name -> FileHashes.put(hashes, name, IndexJson.text(object, name)));
        return hashes;
    }

    /** Takes a hash as links have it: {@code algorithm=hex}. */
    static void hash(Map<String, String> hashes, String text) {
        int equals = text.indexOf('=');
        if (equals > 0) {
            FileHashes.put(hashes, text.substring(0, equals), text.substring(equals + 1));
        }
    }

    private static PypiPage.Link link(JsonNode file) {
        Map<String, String> attributes = new LinkedHashMap<>();
        String url = IndexJson.text(file, "url");
        String sum = IndexJson.text(file.path("hashes"), "sha256");
        attributes.put("href", sum.isEmpty() ? url : url + "#sha256=" + sum);
        String python = IndexJson.text(file, "requires-python");
        if (!python.isEmpty()) {
            attributes.put("data-requires-python", python);
        }
        JsonNode yanked = file.path("yanked");
        if (yanked.isString() || (yanked.isBoolean() && yanked.booleanValue())) {
            attributes.put("data-yanked", yanked.isString() ? yanked.stringValue() : "");
        }
        metadata(file)
                .ifPresent(hashes -> {
                    String hash = hashes.get("sha256");
                    attributes.put("data-core-metadata", hash == null ? "true" : "sha256=" + hash);
                });
        return new PypiPage.Link(attributes, IndexJson.text(file, "filename"));
    }
}
