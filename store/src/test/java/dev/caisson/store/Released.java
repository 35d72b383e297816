package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.control.Store;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Dumps of the schemas that were released, with a few rows in them; a new schema needs one of each
 * kind. To make them: {@link #main}, then {@code sqlite3 FILE .dump} or {@code pg_dump --inserts}.
 */
final class Released {
    private static final List<Integer> ROWS = IntStream.rangeClosed(1, 9).boxed().toList();

    private Released() {}

    /** Fills the store of a URL. */
    public static void main(String[] arguments) {
        try (Store store = Stores.open(StoreConfig.of(arguments[0], "n1"))) {
            ROWS.forEach(number -> Ledger.write(store, number));
        }
    }

    static String dump(int schema, String engine) throws IOException {
        String name = "released-" + schema + "." + engine + ".sql";
        try (InputStream file = Released.class.getResourceAsStream(name)) {
            assertThat(file).as("the dump %s of schema %d", name, schema).isNotNull();
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** It holds what it held, and can be written. */
    static void verify(Store store) {
        Ledger.verify(store, ROWS);
        assertThat(store.epoch()).isEqualTo(2);
        Ledger.write(store, 10);
        store.check();
    }
}
