package dev.caisson.serve;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLFactory;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * The configuration of a server: flags over environment over {@code caisson.yaml} over defaults.
 */
public final class Settings {
    private static final Pattern TIME = Pattern.compile("([0-9]{1,9})(ms|s|m|h|d)");
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,9})([kmg]?)");
    private static final int MAX_FILE = 1 << 20;

    private final Map<Setting, Given> given;

    /**
     * A value and where it came from.
     *
     * @param source {@code default}, {@code environment}, {@code flag} or the file
     */
    public record Given(String value, String source) {}

    private Settings(Map<Setting, Given> given) {
        this.given = given;
    }

    /**
     * Reads all layers.
     *
     * @param file must be there when it is given
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} that names the setting
     */
    public static Settings read(
            Optional<Path> file, Map<String, String> environment, Map<Setting, String> flags) {
        Map<Setting, Given> given = new EnumMap<>(Setting.class);
        for (Setting setting : Setting.values()) {
            given.put(setting, new Given(setting.usual(), "default"));
        }
        file.ifPresent(path -> readFile(path, given));
        for (Setting setting : Setting.values()) {
            String value = environment.get(setting.variable());
            if (value != null) {
                given.put(setting, new Given(value, "environment"));
            }
        }
        flags.forEach((setting, value) -> given.put(setting, new Given(value, "flag")));
        Settings settings = new Settings(given);
        settings.check();
        return settings;
    }

    private static void readFile(Path file, Map<Setting, Given> given) {
        try {
            if (Files.size(file) > MAX_FILE) {
                throw wrong("config", file + " is larger than 1 MiB");
            }
            YAMLMapper mapper =
                    YAMLMapper.builder(
                                    YAMLFactory.builder()
                                            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                                            .build())
                            .build();
            JsonNode root = mapper.readTree(Files.readString(file, StandardCharsets.UTF_8));
            if (root == null || root.isMissingNode() || root.isNull()) {
                return;
            }
            if (!root.isObject()) {
                throw wrong("config", file + " is not a mapping");
            }
            flatten("", root, file, given);
        } catch (IOException e) {
            throw wrong("config", file + " cannot be read: " + e.getMessage());
        } catch (JacksonException e) {
            throw wrong("config", file + " is not valid YAML: " + e.getOriginalMessage());
        }
    }

    private static void flatten(
            String prefix, JsonNode node, Path file, Map<Setting, Given> given) {
        for (Map.Entry<String, JsonNode> entry : node.properties()) {
            String key = prefix + entry.getKey();
            JsonNode value = entry.getValue();
            if (value.isObject()) {
                flatten(key + ".", value, file, given);
                continue;
            }
            Setting setting =
                    Setting.of(key)
                            .orElseThrow(() ->
                                    wrong(key, "there is no such setting")
                                            .withRemedy(
                                                    "`caisson config show` lists all of them."));
            given.put(setting, new Given(text(value), file.toString()));
        }
    }

    private static String text(JsonNode value) {
        if (!value.isArray()) {
            return value.asString();
        }
        List<String> parts = new ArrayList<>();
        value.forEach(part -> parts.add(part.asString()));
        return String.join(",", parts);
    }

    private static CaissonException wrong(String key, String why) {
        return CaissonException.invalid(key, "The setting " + key + " is wrong: " + why + ".");
    }

    private void check() {
        for (Setting setting : Setting.values()) {
            if (value(setting).indexOf('\0') >= 0) {
                throw wrong(setting.key(), "it holds a NUL");
            }
        }
        address(Setting.LISTEN);
        optionalAddress(Setting.PORTS_LISTEN);
        for (Setting time :
                List.of(
                        Setting.SANDBOX_LEASE,
                        Setting.SANDBOX_TIMEOUT,
                        Setting.SANDBOX_ENDED_KEPT,
                        Setting.OUTPUT_KEPT_FOR,
                        Setting.RUNS_KEPT,
                        Setting.EVENTS_KEPT)) {
            time(time);
        }
        size(Setting.OUTPUT_KEPT);
        number(Setting.EXECS_MAX);
        flag(Setting.WEBHOOKS_PRIVATE);
        times(Setting.WEBHOOKS_BACKOFF);
        if (value(Setting.TLS_CERTIFICATE).isEmpty() != value(Setting.TLS_KEY).isEmpty()) {
            throw wrong(Setting.TLS_KEY.key(), "certificate and key come together");
        }
        if (!value(Setting.NODE).matches("[a-z0-9][a-z0-9-]{0,38}")) {
            throw wrong(Setting.NODE.key(), "a node is [a-z0-9][a-z0-9-]{0,38}");
        }
        new Wiring(this).checkStoreUrl();
        new Wiring(this).tokens();
        new Wiring(this).secrets();
        optional(Setting.OTLP_ENDPOINT).ifPresent(Tracing::endpoint);
    }

    /** A value and where it came from; values are no secrets. */
    public Given given(Setting setting) {
        return given.getOrDefault(setting, new Given(setting.usual(), "default"));
    }

    String value(Setting setting) {
        return given(setting).value();
    }

    Optional<String> optional(Setting setting) {
        return Optional.of(value(setting)).filter(text -> !text.isEmpty());
    }

    Optional<Path> path(Setting setting) {
        return optional(setting).map(text -> Path.of(text).toAbsolutePath());
    }

    Set<String> words(Setting setting) {
        return Arrays.stream(value(setting).split(",", -1))
                .map(String::strip)
                .filter(word -> !word.isEmpty())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** {@code NAME=VALUE} words. */
    Map<String, String> pairs(Setting setting) {
        Map<String, String> pairs = new TreeMap<>();
        for (String word : words(setting)) {
            int equals = word.lastIndexOf('=');
            if (equals < 1 || equals == word.length() - 1) {
                throw wrong(setting.key(), "'" + word + "' is not VALUE=NAME");
            }
            pairs.put(word.substring(0, equals), word.substring(equals + 1));
        }
        return pairs;
    }

    /**
     * Looks at what else would keep a server from starting: files that are named.
     *
     * @throws CaissonException {@link dev.caisson.api.ErrorCode#INVALID} that names the setting
     */
    public void checkFiles() {
        new Wiring(this).check();
    }

    InetSocketAddress address(Setting setting) {
        return optionalAddress(setting)
                .orElseThrow(() -> wrong(setting.key(), "it needs HOST:PORT"));
    }

    Optional<InetSocketAddress> optionalAddress(Setting setting) {
        String text = value(setting);
        if (text.isEmpty()) {
            return Optional.empty();
        }
        int colon = text.lastIndexOf(':');
        String port = text.substring(colon + 1);
        if (colon < 1 || !port.matches("[0-9]{1,5}") || Integer.parseInt(port) > 65_535) {
            throw wrong(setting.key(), "'" + text + "' is not HOST:PORT");
        }
        String host = text.substring(0, colon).replaceAll("^\\[|]$", "");
        return Optional.of(new InetSocketAddress(host, Integer.parseInt(port)));
    }

    Duration time(Setting setting) {
        return time(setting, value(setting));
    }

    /** Several times, in their order; one or more. */
    List<Duration> times(Setting setting) {
        return Arrays.stream(value(setting).split(",", -1))
                .map(word -> time(setting, word.strip()))
                .toList();
    }

    private static Duration time(Setting setting, String text) {
        Matcher matcher = TIME.matcher(text);
        if (!matcher.matches()) {
            throw wrong(setting.key(), "'" + text + "' is not a time such as 90s or 2h");
        }
        long number = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "s" -> Duration.ofSeconds(number);
            case "m" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            default -> Duration.ofDays(number);
        };
    }

    ByteSize size(Setting setting) {
        Matcher matcher = SIZE.matcher(value(setting));
        if (!matcher.matches()) {
            throw wrong(setting.key(), "'" + value(setting) + "' is not a size such as 512m");
        }
        long number = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "k" -> ByteSize.ofKib(number);
            case "m" -> ByteSize.ofMib(number);
            case "g" -> ByteSize.ofGib(number);
            default -> ByteSize.of(number);
        };
    }

    int number(Setting setting) {
        if (!value(setting).matches("[0-9]{1,7}")) {
            throw wrong(setting.key(), "'" + value(setting) + "' is not a number");
        }
        return Integer.parseInt(value(setting));
    }

    boolean flag(Setting setting) {
        return switch (value(setting)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw wrong(setting.key(), "it is true or false");
        };
    }
}
