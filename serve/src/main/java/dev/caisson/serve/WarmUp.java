package dev.caisson.serve;

import dev.caisson.control.Vault;
import dev.caisson.server.HttpApi;
import dev.caisson.store.Stores;
import dev.caisson.v1.Json;
import java.util.List;
import org.slf4j.LoggerFactory;

/** Loads what a server needs beside whoever reads its command line: a start is mostly loading. */
public final class WarmUp {
    private WarmUp() {}

    /** Begins, on a thread of its own; does nothing but load classes. */
    public static void begin() {
        Thread.ofPlatform().daemon().name("warm-up").start(WarmUp::load);
    }

    private static void load() {
        LoggerFactory.getLogger(WarmUp.class);
        Stores.warmUp();
        new Vault(Vault.newKey()).hmac("");
        HttpApi.warmUp();
        Json.write(List.of());
    }
}
