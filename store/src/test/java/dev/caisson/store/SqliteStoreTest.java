package dev.caisson.store;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

class SqliteStoreTest extends EventAndUsageContract {
    @TempDir Path folder;

    @Override
    StoreConfig config(String node) {
        return StoreConfig.of("sqlite:" + folder.resolve("caisson.db"), node);
    }
}
