package dev.caisson.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.control.PortService;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpVersion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What of a browser's request counts as let in. */
class PortEntryTest {
    private static final String HOST = "80-sb00000000000000000000.box.test:3901";

    private static Messages.Head head(String method, String target, String... fields) {
        List<HttpField> all = new ArrayList<>();
        all.add(new HttpField("Host", HOST));
        for (String field : fields) {
            int colon = field.indexOf(':');
            all.add(new HttpField(field.substring(0, colon), field.substring(colon + 2)));
        }
        return new Messages.Head(method, target, 0, HttpVersion.HTTP_1_1, all, false, -1);
    }

    private static List<String> passes(String method, String fields) {
        List<String> all = new ArrayList<>(List.of("Cookie: a=b; caisson_port=good; c=d"));
        if (!fields.isEmpty()) {
            all.addAll(List.of(fields.split("\\|", -1)));
        }
        return PortEntry.passes(head(method, "/", all.toArray(String[]::new)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET ",
                "GET Sec-Fetch-Site: none|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document",
                "GET Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: cors|Sec-Fetch-Dest: empty",
                "POST Origin: http://" + HOST,
                "POST Origin: https://" + HOST + "|Sec-Fetch-Site: same-origin",
                "GET Origin: http://" + HOST + "|Upgrade: websocket",
                "GET Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document",
                "HEAD Sec-Fetch-Site: same-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document"
            })
    void itsOwnPagesAndGoingThereMayUseTheCookie(String request) {
        int space = request.indexOf(' ');
        assertThat(passes(request.substring(0, space), request.substring(space + 1)))
                .containsExactly("good");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST Origin: http://81-sb00000000000000000000.box.test:3901",
                "POST Origin: http://80-sb00000000000000000000.box.test:3902",
                "POST Origin: null",
                "POST Origin: http://" + HOST + "|Origin: http://other",
                "GET Origin: http://other.test|Upgrade: websocket",
                "GET Origin: http://" + HOST + ".other.test",
                "GET Origin: http://other@" + HOST,
                "GET Sec-Fetch-Site: same-site|Sec-Fetch-Mode: no-cors|Sec-Fetch-Dest: script",
                "GET Sec-Fetch-Site: same-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: iframe",
                "GET Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: websocket|Sec-Fetch-Dest:"
                        + " websocket",
                "POST Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document",
                "GET Sec-Fetch-Site: whatever"
            })
    void whatPagesOfOthersAskForMayNot(String request) {
        int space = request.indexOf(' ');
        assertThat(passes(request.substring(0, space), request.substring(space + 1))).isEmpty();
    }

    @Test
    void cookiesThatOthersSetDoNotHideTheGoodOne() {
        Messages.Head head =
                head(
                        "GET",
                        "/",
                        "Cookie: caisson_port=x; caisson_port=y",
                        "Cookie: caisson_port=z");
        assertThat(PortEntry.passes(head)).containsExactly("x", "y", "z");
        String many = "Cookie: " + "caisson_port=x; ".repeat(100);
        assertThat(PortEntry.passes(head("GET", "/", many))).hasSize(8);
        assertThat(PortEntry.passes(head("GET", "/", "Cookie: caisson_portal=x; x=caisson_port=y")))
                .isEmpty();
    }

    @Test
    void onlyAGetFollowsALink() {
        assertThat(PortEntry.link(head("GET", "/.caisson/links/abc"))).contains("abc");
        for (String target : List.of("/", "/.caisson/links", "/x/.caisson/links/abc")) {
            assertThat(PortEntry.link(head("GET", target))).as(target).isEmpty();
        }
        assertThat(PortEntry.link(head("HEAD", "/.caisson/links/abc"))).isEmpty();
        assertThat(PortEntry.link(head("POST", "/.caisson/links/abc"))).isEmpty();
    }

    @Test
    void theCookieIsOfThisHostAlone() {
        PortService.Entry entry = new PortService.Entry("pass", Duration.ofMinutes(5), "/app?x=1");
        String plain = new String(PortEntry.answer(entry, false), StandardCharsets.ISO_8859_1);
        assertThat(plain)
                .startsWith("HTTP/1.1 303 ")
                .contains("\r\nLocation: /app?x=1\r\n")
                .contains(
                        "\r\nSet-Cookie: caisson_port=pass; Path=/; Max-Age=300; HttpOnly;"
                                + " SameSite=Lax\r\n")
                .contains("Referrer-Policy: no-referrer", "Cache-Control: no-store")
                .doesNotContain("Domain")
                .endsWith("\r\n\r\n");
        assertThat(new String(PortEntry.answer(entry, true), StandardCharsets.ISO_8859_1))
                .contains("; SameSite=Lax; Secure\r\n");
    }
}
