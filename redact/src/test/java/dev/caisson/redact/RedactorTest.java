package dev.caisson.redact;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RedactorTest {
    private static final String SECRET = "tk/9+Zq \"x\\ü7-QwErTy_Kö";
    private static final Redactor ONE = of(SECRET);

    private static Redactor of(String... secrets) {
        return Redactor.of(Arrays.stream(secrets).map(s -> s.getBytes(UTF_8)).toList());
    }

    private static String redact(Redactor redactor, String text) {
        return new String(redactor.redact(text.getBytes(ISO_8859_1)), ISO_8859_1);
    }

    private static String latin(byte[] bytes) {
        return new String(bytes, ISO_8859_1);
    }

    @Test
    void theSameSecretsHaveOneRedactorWhileItIsUsed() {
        assertThat(of(" first secret", "second secret"))
                .isSameAs(of("second secret", "first secret\n"))
                .isNotSameAs(of("first secret"))
                .isNotSameAs(of("first secretsecond secret"));
        Shared shared = new Shared();
        Redactor used = shared.of(List.of("used"), () -> of("it is used"));
        for (int i = 0; i < 100; i++) {
            String unused = "unused" + i;
            shared.of(List.of(unused), () -> of(unused));
        }
        org.awaitility.Awaitility.await()
                .until(() -> {
                    System.gc();
                    shared.of(List.of("used"), () -> of("another"));
                    return shared.size() < 10;
                });
        assertThat(shared.of(List.of("used"), () -> of("another"))).isSameAs(used);
    }

    /** The secret as others would write it, made here by other means than the redactor's. */
    private static Map<String, String> written() {
        byte[] raw = SECRET.getBytes(UTF_8);
        Map<String, String> forms = new TreeMap<>();
        forms.put("plain", latin(raw));
        for (int before = 0; before < 3; before++) {
            byte[] framed = ("abc".substring(0, before) + latin(raw) + "!?").getBytes(ISO_8859_1);
            forms.put("base64 " + before, Base64.getEncoder().encodeToString(framed));
            forms.put("base64url " + before, Base64.getUrlEncoder().encodeToString(framed));
            forms.put(
                    "mime " + before,
                    Base64.getMimeEncoder(12, "\r\n".getBytes(UTF_8)).encodeToString(framed));
            forms.put(
                    "wrapped " + before,
                    Base64.getMimeEncoder(20, "\n".getBytes(UTF_8)).encodeToString(framed));
        }
        forms.put("hex", HexFormat.of().formatHex(raw));
        forms.put("HEX", HexFormat.of().withUpperCase().formatHex(raw));
        forms.put("colons", HexFormat.ofDelimiter(":").formatHex(raw));
        forms.put("COLONS", HexFormat.ofDelimiter(":").withUpperCase().formatHex(raw));
        forms.put("\\x", HexFormat.of().withPrefix("\\x").formatHex(raw));
        forms.put("%", HexFormat.of().withPrefix("%").formatHex(raw));
        forms.put("url", java.net.URLEncoder.encode(SECRET, UTF_8));
        forms.put("url, %20", java.net.URLEncoder.encode(SECRET, UTF_8).replace("+", "%20"));
        forms.put(
                "url lower",
                java.net.URLEncoder.encode(SECRET, UTF_8)
                        .replace("%C3%B6", "%c3%b6")
                        .replace("%2F", "%2f"));
        String quoted = SECRET.replace("\\", "\\\\").replace("\"", "\\\"");
        forms.put("json", latin(quoted.getBytes(UTF_8)));
        forms.put("json ascii", quoted.replace("ü", "\\u00fc").replace("ö", "\\u00F6"));
        forms.put("json slash", latin(quoted.replace("/", "\\/").getBytes(UTF_8)));
        StringBuilder units = new StringBuilder();
        SECRET.chars().forEach(c -> units.append(String.format(Locale.ROOT, "\\u%04x", c)));
        forms.put("json all", units.toString());
        return forms;
    }

    @Test
    void takesOutEveryFormWhereverItIsCut() {
        written()
                .forEach((name, form) -> {
                    byte[] all =
                            latin(("before " + form + " after").getBytes(ISO_8859_1))
                                    .getBytes(ISO_8859_1);
                    byte[] whole = ONE.redact(all);
                    assertThat(latin(whole))
                            .as(name)
                            .contains("[redacted]")
                            .startsWith("before ")
                            .endsWith(" after")
                            .hasSizeLessThan(40);
                    for (int first = 0; first <= all.length; first++) {
                        assertThat(Reference.streamed(ONE, all, first)).as(name).isEqualTo(whole);
                        for (int second = first; second <= all.length; second += 3) {
                            assertThat(Reference.streamed(ONE, all, first, second))
                                    .isEqualTo(whole);
                        }
                    }
                    assertThat(
                                    Reference.streamed(
                                            ONE, all, IntStream.range(0, all.length).toArray()))
                            .as(name + " byte by byte")
                            .isEqualTo(whole);
                });
    }

    @Test
    void findsEveryFormAtEveryPlaceOfAStream() {
        Random random = new Random(1);
        byte[] noise = new byte[300];
        random.nextBytes(noise);
        for (byte filling : new byte[] {'a', ' ', '%', '\\', '\n', 0}) {
            written()
                    .forEach((name, form) -> {
                        byte[] hidden = form.getBytes(ISO_8859_1);
                        for (int place = 0; place < 100; place++) {
                            byte[] all = new byte[place + hidden.length + 100];
                            Arrays.fill(all, filling);
                            all[place > 0 ? place - 1 : all.length - 1] = ' ';
                            System.arraycopy(hidden, 0, all, place, hidden.length);
                            assertThat(ONE.redact(all))
                                    .as(name + " at " + place)
                                    .isEqualTo(
                                            Reference.redact(List.of(SECRET.getBytes(UTF_8)), all));
                            assertThat(latin(ONE.redact(all))).contains("[redacted]");
                        }
                    });
        }
    }

    @Test
    void mixesEscapedAndPlainCharacters() {
        Redactor redactor = of("hunter2secret");
        assertThat(redact(redactor, "a%68u%6eter2%73ecret.")).isEqualTo("a[redacted].");
        assertThat(redact(redactor, "\\u0068unter2\\x73ecret.")).isEqualTo("[redacted].");
        assertThat(redact(redactor, "hunter%32secre%74")).isEqualTo("[redacted]");
    }

    @Test
    void anEscapedBackslashBeginsNoEscape() {
        Redactor redactor = of("u0041secret");
        assertThat(redact(redactor, "\\\\u0041secret")).isEqualTo("\\\\[redacted]");
        assertThat(redact(of("Asecret-1"), "\\\\\\u0041secret-1")).isEqualTo("\\\\[redacted]");
    }

    @Test
    void leavesEverythingElseAsItIs() {
        String text = "50%, 100%2 %zz \\ \\q \\u00 \r\n\r\r\n tk/9+Zq tk/9\n";
        assertThat(redact(ONE, text)).isEqualTo(text);
        assertThat(ONE.redact(text)).isSameAs(text);
    }

    @Test
    void takesTheLongestOfSecretsThatOverlap() {
        Redactor redactor = of("password", "password-long", "long-tail1");
        assertThat(redact(redactor, "<password>")).isEqualTo("<[redacted]>");
        assertThat(redact(redactor, "<password-long>")).isEqualTo("<[redacted]>");
        assertThat(redact(redactor, "<password-long-tail1>")).isEqualTo("<[redacted]>");
        assertThat(redact(redactor, "<passwordpassword>")).isEqualTo("<[redacted][redacted]>");
    }

    @Test
    void looksForNoShortSecretsAndNoWhiteSpaceAroundLongOnes() {
        assertThat(of("short", "", "  ab  \n").isEmpty()).isTrue();
        assertThat(redact(of("sixsix\n"), "sixsix.")).isEqualTo("[redacted].");
        assertThatThrownBy(() -> Redactor.of(List.of(new byte[Redactor.MAX_LENGTH + 1])))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void anEmptyOneHandsOutWhatItGets() {
        List<ByteBuffer> out = new ArrayList<>();
        Redactor.Stream stream = Redactor.NONE.stream();
        stream.write(ByteBuffer.wrap("abc".getBytes(UTF_8)), out::add);
        stream.write(ByteBuffer.allocateDirect(3), out::add);
        stream.flush(out::add);
        assertThat(out).hasSize(2).allMatch(ByteBuffer::hasArray);
        assertThat(stream.found()).isZero();
    }

    @Test
    void holdsBackOnlyWhatMayBeginASecret() {
        Redactor.Stream stream = of("hunter2secret").stream();
        StringBuilder out = new StringBuilder();
        stream.write(ByteBuffer.wrap("Password? hunt".getBytes(UTF_8)), b -> append(out, b));
        assertThat(out).hasToString("Password? ");
        assertThat(stream.held()).isEqualTo(4);
        stream.write(ByteBuffer.wrap("ing ".getBytes(UTF_8)), b -> append(out, b));
        assertThat(out).hasToString("Password? hunting ");
        assertThat(stream.held()).isZero();
    }

    private static void append(StringBuilder out, ByteBuffer bytes) {
        out.append(ISO_8859_1.decode(bytes));
    }

    @Test
    void aPauseLetsGoAndTheRestOfASecretIsStillTakenOut() {
        Redactor.Stream stream = of("hunter2secret").stream();
        StringBuilder out = new StringBuilder();
        stream.write(ByteBuffer.wrap("hunter".getBytes(UTF_8)), b -> append(out, b));
        assertThat(out).isEmpty();
        stream.flush(b -> append(out, b));
        assertThat(out).hasToString("hunter");
        String rest = "2secret and " + "more ".repeat(40);
        stream.write(ByteBuffer.wrap(rest.getBytes(UTF_8)), b -> append(out, b));
        stream.flush(b -> append(out, b));
        assertThat(out.toString()).startsWith("hunter[redacted] and more").doesNotContain("secret");
        assertThat(stream.found()).isEqualTo(1);
    }

    @Test
    void whatIsKeptBackIsBounded() {
        byte[] secret = "ab".repeat(40).getBytes(UTF_8);
        Redactor redactor = Redactor.of(List.of(secret));
        long longest = 3L * secret.length;
        for (String part :
                List.of("a", "b", "ab", "%61%62", "\\u0061\\u0062", "a\nb\n", "\n", "61:")) {
            Redactor.Stream stream = redactor.stream();
            for (int i = 0; i < 5000; i++) {
                stream.write(ByteBuffer.wrap(part.getBytes(UTF_8)), bytes -> {});
                assertThat(stream.held()).as(part).isLessThanOrEqualTo((int) (6 * longest));
            }
        }
    }

    @Test
    void agreesWithTheReferenceOnRandomText() {
        Random random = new Random(7);
        for (int round = 0; round < 4000; round++) {
            List<byte[]> secrets = new ArrayList<>();
            for (int i = 0; i <= random.nextInt(3); i++) {
                secrets.add(word(random, 6 + random.nextInt(9), 2 + random.nextInt(2)));
            }
            byte[] all = text(random, secrets, 1 + random.nextInt(12));
            int[] cuts =
                    IntStream.generate(() -> random.nextInt(all.length + 1))
                            .limit(random.nextInt(4))
                            .sorted()
                            .toArray();
            byte[] expected = Reference.redact(secrets, all);
            assertThat(latin(Reference.streamed(Redactor.of(secrets), all, cuts)))
                    .as(
                            "round %d, secrets %s, text %s",
                            round, secrets.stream().map(RedactorTest::latin).toList(), latin(all))
                    .isEqualTo(latin(expected));
        }
    }

    private static byte[] word(Random random, int length, int letters) {
        byte[] word = new byte[length];
        for (int i = 0; i < length; i++) {
            word[i] = (byte) "ab\\%é\n".charAt(random.nextInt(letters));
        }
        return word;
    }

    /** Forms, whole and broken off, escaped at random, between fillings. */
    private static byte[] text(Random random, List<byte[]> secrets, int parts) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < parts; i++) {
            byte[] secret = secrets.get(random.nextInt(secrets.size()));
            List<String> forms = List.copyOf(new java.util.TreeSet<>(Forms.of(secret)));
            String form = forms.get(random.nextInt(forms.size()));
            int from = random.nextInt(4) == 0 ? random.nextInt(form.length()) : 0;
            int to =
                    random.nextInt(4) == 0
                            ? from + random.nextInt(form.length() - from)
                            : form.length();
            int how = random.nextInt(5);
            for (char c : form.substring(from, to).toCharArray()) {
                text.append(random.nextInt(3) > 0 ? String.valueOf(c) : escaped(c, how));
            }
            if (how == 3) {
                text.insert(text.length() - random.nextInt(Math.min(3, to - from + 1)), "\n");
            }
            String[] fillings = {
                "",
                "",
                "a",
                "\\",
                "%",
                "%4",
                "\\u0",
                "x".repeat(70),
                "\r\n",
                "\\\\",
                "filling, long enough to be skipped over\n  and more, 100% "
            };
            text.append(fillings[random.nextInt(fillings.length)]);
        }
        return text.toString().getBytes(ISO_8859_1);
    }

    private static String escaped(char c, int how) {
        return switch (how) {
            case 0 -> String.format(Locale.ROOT, "%%%02x", (int) c);
            case 1 -> String.format(Locale.ROOT, "\\x%02X", (int) c);
            case 2 -> c < 128 ? String.format(Locale.ROOT, "\\u%04x", (int) c) : String.valueOf(c);
            default -> String.valueOf(c);
        };
    }
}
