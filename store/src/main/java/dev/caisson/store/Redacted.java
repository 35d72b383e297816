package dev.caisson.store;

import java.util.regex.Pattern;

/** URLs without their secrets, for messages. */
final class Redacted {
    private static final Pattern USER = Pattern.compile("//([^/@:]*):[^/@]*@");
    private static final Pattern PARAMETER = Pattern.compile("(?i)([?&][^=&]*password=)[^&]*");

    private Redacted() {}

    /** Whether there is a secret in it. */
    static boolean hides(String url) {
        return !url(url).equals(url);
    }

    static String url(String url) {
        String user = USER.matcher(url).replaceAll("//$1:***@");
        return PARAMETER.matcher(user).replaceAll("$1***");
    }
}
