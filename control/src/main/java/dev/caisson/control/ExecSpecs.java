package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.PtySize;
import dev.caisson.api.User;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.LimitsJson;
import dev.caisson.v1.PtyJson;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a command is, of what is asked and of its sandbox. */
final class ExecSpecs {
    private static final int MAX_COMMAND = 128 << 10;
    private static final int MAX_ENV = 512 << 10;

    /** Characters of a command in an event. */
    private static final int SHOWN = 4000;

    private ExecSpecs() {}

    /** Of a request, with what the sandbox has where the request says nothing. */
    static ExecSpec spec(
            ExecRequest request,
            Box box,
            EffectivePolicy policy,
            Map<String, String> placeholders) {
        checkSize(request);
        // What a sandbox may not ask for, a command in it may not either.
        policy.limits(
                LimitsJson.ofCommand(
                        request.timeoutMillis(), request.outputBytes(), request.onOutputLimit()));
        Limits limits = limits(box, policy);
        ExecSpec spec =
                ExecSpec.of(argv(request))
                        .withEnv(env(request, box, placeholders))
                        .withCapture(false)
                        .withStdin(Boolean.TRUE.equals(request.stdin()) || request.input() != null)
                        .withLinger(Boolean.TRUE.equals(request.linger()))
                        .withUser(user(request.user(), box))
                        .withOutputLimit(limits.outputLimit());
        if (request.cwd() != null) {
            spec = spec.withCwd(request.cwd());
        }
        Long timeout = request.timeoutMillis();
        if (timeout == null) {
            // Not those of its start: a sandbox may have been claimed or changed since.
            timeout = least(box.doc().limits.timeoutMillis(), policy.maxLimits().timeoutMillis());
        }
        if (timeout != null) {
            spec = spec.withTimeout(Duration.ofMillis(timeout));
        }
        if (request.graceMillis() != null) {
            spec = spec.withGrace(Duration.ofMillis(request.graceMillis()));
        }
        if (request.outputBytes() != null) {
            ByteSize asked = ByteSize.of(request.outputBytes());
            spec = spec.withOutputLimit(limits.withOutputLimit(asked).outputLimit());
        }
        String onOutputLimit = request.onOutputLimit();
        if (onOutputLimit == null) {
            onOutputLimit = box.doc().limits.onOutputLimit();
        }
        if (onOutputLimit != null) {
            spec = spec.withOnOutputLimit(EffectivePolicy.onOutputLimit(onOutputLimit));
        }
        PtyJson pty = request.pty();
        return pty == null
                ? spec
                : spec.withPty(new PtySize(pty.rows(), pty.cols())).withStdin(true);
    }

    /** The command is kept; and a larger one of both the agent takes for nonsense. */
    private static void checkSize(ExecRequest request) {
        long command = length(request.command()) + length(request.cwd());
        for (String argument : request.argv()) {
            command += length(argument) + Long.BYTES;
        }
        if (command > MAX_COMMAND) {
            throw tooLarge("command", "A command", MAX_COMMAND);
        }
        checkEnv(request.env(), MAX_ENV);
    }

    /** Counted in bytes, as the agent gets it. */
    static void checkEnv(Map<String, String> env, int most) {
        long bytes = 0;
        for (Map.Entry<String, String> variable : env.entrySet()) {
            bytes += length(variable.getKey()) + length(variable.getValue()) + Long.BYTES;
        }
        if (bytes > most) {
            throw tooLarge("env", "An environment", most);
        }
    }

    private static CaissonException tooLarge(String field, String what, int most) {
        return CaissonException.of(
                        ErrorCode.TOO_LARGE, what + " has at most " + (most >> 10) + " KiB here.")
                .withRemedy("Put the rest into a file, or into standard input.")
                .withDetail("field", field)
                .withDetail("limit", field)
                .withDetail("allowed", Integer.toString(most));
    }

    private static long length(@Nullable String text) {
        return text == null ? 0 : text.getBytes(StandardCharsets.UTF_8).length;
    }

    /** A command for an event: its beginning, where it is long. */
    static List<String> shown(List<String> argv) {
        List<String> shown = new ArrayList<>();
        int left = SHOWN;
        for (String argument : argv) {
            if (argument.length() > left) {
                shown.add(argument.substring(0, left) + "…");
                return shown;
            }
            shown.add(argument);
            left -= argument.length() + 1;
            if (left <= 0) {
                shown.add("…");
                return shown;
            }
        }
        return shown;
    }

    private static Map<String, String> env(
            ExecRequest request, Box box, Map<String, String> placeholders) {
        Map<String, String> env = new HashMap<>(box.env());
        env.putAll(placeholders);
        env.putAll(request.env());
        return env;
    }

    /** What a sandbox of another key has is no more than this one may have. */
    private static @Nullable Long least(@Nullable Long own, @Nullable Long most) {
        return own == null || (most != null && most < own) ? most : own;
    }

    private static Limits limits(Box box, EffectivePolicy policy) {
        Long most = least(box.doc().limits.outputBytes(), policy.maxLimits().outputBytes());
        ByteSize output = ByteSize.of(most == null ? 1L << 20 : most);
        return Limits.defaults().withOutputLimit(output);
    }

    private static List<String> argv(ExecRequest request) {
        String command = request.command();
        if (command != null) {
            if (!request.argv().isEmpty()) {
                throw CaissonException.invalid("command", "Give argv or command, not both.");
            }
            return List.of("/bin/sh", "-c", command);
        }
        if (request.argv().isEmpty()) {
            throw CaissonException.invalid("argv", "A command needs argv, or command.");
        }
        return request.argv();
    }

    private static User user(@Nullable String name, Box box) {
        if (name == null || name.equals("sandbox")) {
            return User.SANDBOX;
        }
        User user =
                name.matches("[0-9]{1,5}")
                        ? new User(Integer.parseInt(name), Integer.parseInt(name))
                        : User.named(name);
        if (user.isRoot() && !box.doc().root) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The policy does not allow root inside this sandbox.")
                    .withRemedy(
                            "Run the command as another user, or create the sandbox with root:"
                                    + " allowed where the policy permits it.");
        }
        return user;
    }
}
