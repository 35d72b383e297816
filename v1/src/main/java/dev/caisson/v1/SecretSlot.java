package dev.caisson.v1;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The place of a secret in a request. What the program inside put there is removed first.
 *
 * @param kind {@code header, basic, query, git, sigv4, oauth}. {@code git} is basic authentication
 *     on the paths of git over HTTPS, reading only unless {@code push}; {@code sigv4} signs with
 *     AWS Signature Version 4, the value is {@code KEY_ID:SECRET} or {@code
 *     KEY_ID:SECRET:SESSION_TOKEN}; {@code oauth} fetches an access token with client credentials
 *     ({@code CLIENT_ID:SECRET}) and puts it in as a bearer token
 * @param name of the header or the parameter of the query; a header's default is Authorization
 * @param format of a header's value, with <code>{}</code> for the secret; default for
 *     Authorization: <code>Bearer {}</code>, else <code>{}</code>
 * @param user of basic and git; absent: the value is {@code USER:PASSWORD}
 * @param region of sigv4
 * @param service of sigv4
 * @param tokenUrl of oauth; always https
 * @param scopes of oauth
 * @param push git may push
 */
public record SecretSlot(
        String kind,
        @Nullable String name,
        @Nullable String format,
        @Nullable String user,
        @Nullable String region,
        @Nullable String service,
        @Nullable String tokenUrl,
        List<String> scopes,
        @Nullable Boolean push) {
    /** Copies the collections; absent ones are empty. */
    public SecretSlot {
        scopes = List.copyOf(Absent.list(scopes));
    }

    /** {@code Authorization: Bearer …}. */
    public static SecretSlot bearer() {
        return new SecretSlot("header", null, null, null, null, null, null, List.of(), null);
    }
}
