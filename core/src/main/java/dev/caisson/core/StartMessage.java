package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Limits;
import dev.caisson.wire.agent.ExecStart;
import dev.caisson.wire.agent.Overflow;
import dev.caisson.wire.agent.Pty;
import java.util.LinkedHashMap;
import java.util.Map;

/** What an agent is told of a command. */
final class StartMessage {
    private static final Map<String, String> BASE_ENV =
            Map.of(
                    "PATH",
                            "/opt/caisson/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "LANG", "C.UTF-8");
    private static final String HOME = "/home/sandbox";
    private static final String TERMINAL = "xterm-256color";

    private StartMessage() {}

    /**
     * The message for a command.
     *
     * @param env of the sandbox, beneath the command's own
     * @param limits where the command has none of its own
     */
    static ExecStart of(String exec, ExecSpec spec, Map<String, String> env, Limits limits) {
        ExecStart.Builder start =
                ExecStart.newBuilder()
                        .setExec(exec)
                        .setCwd(ByteString.copyFrom(Names.unescape(spec.cwd())))
                        .setTimeoutMillis(spec.timeout().orElse(limits.timeout()).toMillis())
                        .setGraceMillis(spec.grace().toMillis())
                        .setOverflow(
                                switch (spec.overflow()) {
                                    case WAIT -> Overflow.OVERFLOW_BLOCK;
                                    case DROP -> Overflow.OVERFLOW_DROP;
                                })
                        .setStdinOpen(spec.stdin() || spec.pty().isPresent())
                        .setLinger(spec.linger())
                        .setOpenFiles(limits.openFiles());
        spec.argv().forEach(argument -> start.addArgv(ByteString.copyFromUtf8(argument)));
        spec.pty()
                .ifPresent(size ->
                        start.setPty(Pty.newBuilder().setRows(size.rows()).setCols(size.cols())));
        if (spec.user().name().isPresent()) {
            start.setUser(ByteString.copyFromUtf8(spec.user().label()));
        } else {
            start.setUid(spec.user().uid()).setGid(spec.user().gid());
        }
        environment(spec, env)
                .forEach(
                        (name, value) -> start.addEnv(ByteString.copyFromUtf8(name + "=" + value)));
        return start.build();
    }

    private static Map<String, String> environment(ExecSpec spec, Map<String, String> env) {
        Map<String, String> all = new LinkedHashMap<>(BASE_ENV);
        if (spec.user().name().isEmpty()) {
            // Of a user by name the agent knows the home.
            all.put("HOME", HOME);
        }
        if (spec.pty().isPresent()) {
            all.put("TERM", TERMINAL);
        }
        all.putAll(env);
        all.putAll(spec.env());
        return all;
    }
}
