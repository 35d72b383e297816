package dev.caisson.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StoreConfigTest {
    @ParameterizedTest
    @CsvSource({
        "postgresql://me@host/db, jdbc:postgresql://host/db?user=me",
        "postgresql://me%40b@host:1/db, jdbc:postgresql://host:1/db?user=me%40b",
        "postgres://host/db?ssl=true, jdbc:postgresql://host/db?ssl=true",
        "postgresql://me@host/db?ssl=true, jdbc:postgresql://host/db?ssl=true&user=me",
        "postgresql:///db, jdbc:postgresql:///db",
        "jdbc:postgresql://host/db?user=x, jdbc:postgresql://host/db?user=x"
    })
    void turnsUrlsIntoTheDrivers(String url, String jdbc) {
        assertThat(PostgresUrl.jdbc(url)).isEqualTo(jdbc);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "postgresql://me:s3cret@host/db",
                "jdbc:postgresql://host/db?user=me&password=s3cret",
                "jdbc:postgresql://host/db?sslpassword=s3cret&x=1",
                "postgresql://me@host/db?a=1&PASSWORD=s3cret"
            })
    void refusesAPasswordInTheUrlAndDoesNotRepeatIt(String url) {
        assertThatThrownBy(() -> StoreConfig.of(url, "n1"))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> {
                            assertThat(e.code()).isEqualTo(ErrorCode.INVALID);
                            assertThat(e.message()).doesNotContain("s3cret").contains("***");
                            assertThat(e.remedy()).contains("store.passwordFile");
                        });
    }

    @Test
    void neverPrintsAPassword() {
        StoreConfig config = StoreConfig.of("postgresql://me@host/db", "n1").withPassword("s3cret");

        assertThat(config.toString()).doesNotContain("s3cret").contains("me@host");
    }

    @ParameterizedTest
    @ValueSource(strings = {"mysql://host/db", "sqlite:relative.db", "/path", "postgresql:// /x"})
    void refusesOtherUrls(String url) {
        StoreConfig config = StoreConfig.of(url, "n1");

        assertThatThrownBy(() -> Stores.open(config))
                .isInstanceOfSatisfying(
                        CaissonException.class,
                        e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID));
    }

    @Test
    void refusesAStoreWithoutNodeOrReaders() {
        StoreConfig config = StoreConfig.of("sqlite:/x.db", "n1");

        assertThatThrownBy(() -> StoreConfig.of("sqlite:/x.db", " "))
                .isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> config.withReaders(0)).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> config.withQueue(0)).isInstanceOf(CaissonException.class);
    }
}
