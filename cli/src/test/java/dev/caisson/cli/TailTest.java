package dev.caisson.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TailTest {
    private final Tail tail = new Tail(4);

    private void add(String text) {
        tail.add(text.getBytes(UTF_8), text.length());
    }

    @Test
    void keepsTheLastBytesOnly() {
        assertThat(tail.text()).isEmpty();
        add("ab");
        assertThat(tail.text()).isEqualTo("ab");
        add("cdef");
        assertThat(tail.text()).isEqualTo("cdef");
        add("g");
        assertThat(tail.text()).isEqualTo("defg");
        add("0123456789");
        assertThat(tail.text()).isEqualTo("6789");
    }
}
