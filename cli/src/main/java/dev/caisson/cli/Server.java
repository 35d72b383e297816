package dev.caisson.cli;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.client.RemoteConfig;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Which server a command speaks to. */
final class Server {
    private Server() {}

    /**
     * The named context; else what the environment says; else the context in use.
     *
     * @param context name; null: none given
     * @param local why what is asked for is not there without a server; empty: nothing is to be
     *     said
     */
    static RemoteConfig config(Map<String, String> env, @Nullable String context, String local) {
        if (context == null && !env.getOrDefault("CAISSON_URL", "").isBlank()) {
            return RemoteConfig.of(env);
        }
        Contexts contexts = Contexts.load(Contexts.file(env));
        String name = context == null ? contexts.current() : context;
        if (name == null) {
            throw CaissonException.of(
                            local.isEmpty() ? ErrorCode.INVALID : ErrorCode.UNSUPPORTED,
                            local.isEmpty()
                                    ? "No server is named."
                                    : "No server is named, and " + local)
                    .withRemedy(
                            "Set CAISSON_URL and CAISSON_API_KEY, or run: caisson login URL. One"
                                    + " program runs here without a server: caisson run --"
                                    + " COMMAND. A server of your own: caisson serve");
        }
        return config(contexts.find(name));
    }

    static RemoteConfig config(Contexts.Context context) {
        RemoteConfig config = RemoteConfig.of(context.url(), context.key());
        String tenant = context.tenant();
        String caFile = context.caFile();
        config = tenant == null ? config : config.withTenant(tenant);
        return caFile == null ? config : config.withCaFile(Path.of(caFile));
    }
}
