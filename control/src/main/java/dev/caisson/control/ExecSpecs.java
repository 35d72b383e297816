package dev.caisson.control;

import dev.caisson.api.ByteSize;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.api.PtySize;
import dev.caisson.api.User;
import dev.caisson.v1.ExecRequest;
import dev.caisson.v1.PtyJson;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What a command is, of what is asked and of its sandbox. */
final class ExecSpecs {
    private ExecSpecs() {}

    /** Of a request, with what the sandbox has where the request says nothing. */
    static ExecSpec spec(ExecRequest request, Box box) {
        Limits limits = limits(box);
        ExecSpec spec =
                ExecSpec.of(argv(request))
                        .withEnv(env(request, box))
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
            timeout = box.doc().limits.timeoutMillis();
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

    private static Map<String, String> env(ExecRequest request, Box box) {
        Map<String, String> env = new HashMap<>(box.env());
        env.putAll(request.env());
        return env;
    }

    private static Limits limits(Box box) {
        ByteSize output =
                ByteSize.of(Optional.ofNullable(box.doc().limits.outputBytes()).orElse(1L << 20));
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
