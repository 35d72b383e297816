package dev.caisson.serve;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * A local certificate authority and the server's certificate from it, in the folder {@code tls} of
 * the data folder. Keys are P-256, files of keys have mode 0600.
 */
public final class LocalTls {
    private static final Pattern NAME =
            Pattern.compile("(\\*\\.)?[a-zA-Z0-9]([a-zA-Z0-9-]{0,62})(\\.[a-zA-Z0-9-]{1,63}){0,8}");
    private static final Pattern ADDRESS =
            Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*");

    private LocalTls() {}

    /**
     * What was made.
     *
     * @param authority certificate that clients trust
     * @param certificate of the server, for {@code tls.certificate}
     * @param key of the server, for {@code tls.key}
     * @param names that were asked for, besides those of loopback, for {@code hosts}
     */
    public record Made(String authority, String certificate, String key, List<String> names) {
        /** Copies the list. */
        public Made {
            names = List.copyOf(names);
        }
    }

    /**
     * Makes a certificate for these names and loopback; the authority only where there is none.
     *
     * @throws CaissonException {@link ErrorCode#INVALID} for a name that cannot be one
     */
    public static Made make(Settings settings, List<String> names) {
        Path data = new Wiring(settings).data();
        Set<String> alternatives =
                new TreeSet<>(List.of("dns:localhost", "ip:127.0.0.1", "ip:::1"));
        names.forEach(name -> alternatives.add(alternative(name)));
        try {
            Owner.makeFolder(data, System.getenv());
            Path folder = data.resolve("tls");
            Files.createDirectories(folder);
            new CertificateMaker(folder).make(new ArrayList<>(alternatives));
            Owner.share(data);
            return new Made(
                    folder.resolve(CertificateMaker.AUTHORITY).toString(),
                    folder.resolve(CertificateMaker.CERTIFICATE).toString(),
                    folder.resolve(CertificateMaker.KEY).toString(),
                    names);
        } catch (IOException e) {
            throw CaissonException.of(ErrorCode.INTERNAL, "The certificate was not made: " + e, e)
                    .withRemedy("Run this as root or the user caisson; see the folder's rights.");
        }
    }

    private static String alternative(String name) {
        if (ADDRESS.matcher(name).matches()) {
            return "ip:" + name;
        }
        if (NAME.matcher(name).matches()) {
            return "dns:" + name;
        }
        throw CaissonException.invalid(
                "name", "'" + name + "' is neither a host name nor an address.");
    }
}
