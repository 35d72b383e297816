package dev.caisson.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** Seeds of fuzz tests: good inputs, and the same with a few bytes changed, always alike. */
final class Seeds {
    private static final int VARIANTS = 20;

    private Seeds() {}

    static Stream<Arguments> around(byte[]... good) {
        Random random = new Random(3);
        List<Arguments> seeds = new ArrayList<>();
        for (byte[] one : good) {
            seeds.add(Arguments.of((Object) one));
            for (int i = 0; i < VARIANTS && one.length > 0; i++) {
                seeds.add(Arguments.of((Object) changed(one, random)));
            }
        }
        return seeds.stream();
    }

    private static byte[] changed(byte[] good, Random random) {
        byte[] bytes = Arrays.copyOf(good, 1 + random.nextInt(good.length));
        if (random.nextBoolean()) {
            bytes = good.clone();
        }
        for (int i = random.nextInt(4); i >= 0; i--) {
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
        }
        return bytes;
    }
}
