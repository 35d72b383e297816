package dev.caisson.server;

import java.math.BigInteger;
import java.security.SecureRandom;

/** Ids of requests: {@code rq} and 20 of {@code [0-9a-z]}; for logs and for people. */
final class RequestIds {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int LENGTH = 20;

    private RequestIds() {}

    static String next() {
        String digits = new BigInteger(103, RANDOM).toString(Character.MAX_RADIX);
        String padded = "0".repeat(LENGTH) + digits;
        return "rq" + padded.substring(padded.length() - LENGTH);
    }
}
