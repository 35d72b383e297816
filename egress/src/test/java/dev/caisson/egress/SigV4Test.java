package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Against signatures that another program computed; the first one is the scheme's own example. */
class SigV4Test {
    private static final String KEY = "AKIDEXAMPLE";
    private static final String SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    private static final String EMPTY =
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    @Test
    void signsTheExample() {
        String value =
                new SigV4(KEY, SECRET, "us-east-1", "service")
                        .authorization(
                                "GET",
                                "/",
                                Map.of(
                                        "host", List.of("example.amazonaws.com"),
                                        "x-amz-date", List.of("20150830T123600Z"),
                                        "accept", List.of("not signed")),
                                "20150830T123600Z",
                                EMPTY);
        assertThat(value)
                .isEqualTo(
                        "AWS4-HMAC-SHA256"
                            + " Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
                            + " SignedHeaders=host;x-amz-date, Signature="
                            + "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    }

    @Test
    void escapesPathsTwiceAndSortsTheQuery() {
        String value =
                new SigV4(KEY, SECRET, "eu-west-1", "service")
                        .authorization(
                                "GET",
                                "/a%20b/c%C3%A4?b=2&a=x%2Fy&a=1&c",
                                Map.of(
                                        "host", List.of("api.example.org"),
                                        "content-type", List.of(" text/plain;  charset=utf-8"),
                                        "x-amz-date", List.of("20260101T000000Z")),
                                "20260101T000000Z",
                                "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        assertThat(value)
                .endsWith(
                        "SignedHeaders=content-type;host;x-amz-date, Signature="
                            + "b27f78d4ac6d2b2d633c082682309e21fcf82201df98d26006086de3cb8f33dd");
    }

    @Test
    void escapesPathsOfStorageOnceAndSignsTheSessionToken() {
        String value =
                new SigV4(KEY, SECRET, "eu-west-1", "s3")
                        .authorization(
                                "PUT",
                                "/a%20b/c%2Bd",
                                Map.of(
                                        "host", List.of("b.example.org"),
                                        "x-amz-content-sha256", List.of("UNSIGNED-PAYLOAD"),
                                        "x-amz-security-token", List.of("session/token"),
                                        "x-amz-date", List.of("20260101T000000Z")),
                                "20260101T000000Z",
                                "UNSIGNED-PAYLOAD");
        assertThat(value)
                .endsWith("cad6931c496af028169207755dc4df2709f20fc7bae7872841b3ba816ec0bbb4");
    }
}
