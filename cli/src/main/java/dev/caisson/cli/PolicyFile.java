package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.PolicyJson;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLFactory;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** A policy in a file, in JSON or YAML: a whole one, or only the document of the way out. */
final class PolicyFile {
    private static final int LONGEST = 1 << 20;
    private static final Set<String> OF_EGRESS =
            Set.of("mode", "allow", "deny", "limits", "secrets", "packages");

    private PolicyFile() {}

    /**
     * The document of the way out; of a policy that has none the closed one.
     *
     * @param file path, or - for standard input
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} that names the field
     */
    static EgressJson egress(Main main, String file) {
        byte[] json = json(file, content(main, file));
        JsonNode root = Json.LENIENT.readTree(json);
        boolean bare = root.propertyNames().stream().anyMatch(OF_EGRESS::contains);
        if (bare || root.isEmpty()) {
            return form(json, EgressJson.class);
        }
        EgressJson egress = form(json, PolicyJson.class).egress();
        return egress == null ? EgressJson.closed() : egress;
    }

    /** A refusal in it is of a policy: nobody sent a request. */
    private static <T> T form(byte[] json, Class<T> type) {
        try {
            return Json.request(json, type);
        } catch (CaissonException e) {
            throw CaissonException.invalid(
                            e.details().getOrDefault("field", "file"),
                            e.message().replace(" in this request", " in a policy"))
                    .withRemedy("All fields are in docs/egress-policy.md.");
        }
    }

    private static byte[] content(Main main, String file) {
        try (InputStream in = file.equals("-") ? main.streams().in() : open(file)) {
            byte[] content = in.readNBytes(LONGEST + 1);
            if (content.length > LONGEST) {
                throw wrong(file, "is larger than 1 MiB");
            }
            return content;
        } catch (NoSuchFileException e) {
            throw CaissonException.invalid("file", "There is no file " + file + ".")
                    .withRemedy("Name one, or - for standard input.");
        } catch (IOException | InvalidPathException e) {
            throw wrong(file, "cannot be read: " + e.getMessage());
        }
    }

    private static InputStream open(String file) throws IOException {
        return Files.newInputStream(Path.of(file));
    }

    /** YAML has JSON in it; the words of a document are then read as strictly as by a server. */
    private static byte[] json(String file, byte[] content) {
        try {
            YAMLMapper yaml =
                    YAMLMapper.builder(
                                    YAMLFactory.builder()
                                            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                                            .build())
                            .build();
            JsonNode root = yaml.readTree(content);
            if (root == null || !root.isObject()) {
                throw wrong(file, "is not a policy in JSON or YAML");
            }
            return Json.bytes(root);
        } catch (JacksonException e) {
            throw wrong(file, "is not valid: " + e.getOriginalMessage());
        }
    }

    private static CaissonException wrong(String file, String why) {
        return CaissonException.invalid("file", file + " " + why + ".")
                .withRemedy("Give a policy in JSON or YAML, as docs/egress-policy.md has it.");
    }
}
