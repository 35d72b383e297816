package dev.caisson.egress;

import com.google.protobuf.ByteString;
import dev.caisson.policy.Destination;
import dev.caisson.wire.egress.Trust;
import dev.caisson.wire.egress.TrustFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;

/** Makes the parts of a gateway that terminates TLS, judges requests and puts credentials in. */
final class SeeingParts {
    private static final Path MACHINES = Path.of("/usr/lib/jvm");

    private SeeingParts() {}

    /**
     * The parts.
     *
     * @param authorities PEM files of the operator's own certificate authorities
     * @param gates judge requests before the policy does
     */
    static Parts of(List<Path> authorities, List<RequestGate> gates) throws IOException {
        OutsideTls outside = OutsideTls.trusting(trusted(authorities));
        TrustFiles files = TrustFiles.of(TrustFiles.HOST_BUNDLES);
        boolean javaOption = TrustFiles.javaOptionNeeded(MACHINES);
        SecretMeters meters = new SecretMeters(System::nanoTime);
        return new Parts(
                new HttpIntercept(outside, new Http2Peers(), gates),
                sandbox -> new SandboxAuthority(sandbox, Clock.systemUTC()),
                (session, secrets) ->
                        new HeldBroker(
                                new SecretBroker(
                                        to -> tokens(outside, session, to),
                                        meters,
                                        Clock.systemUTC()),
                                secrets),
                authority -> trust(files, authority, javaOption));
    }

    /** A silent server of tokens holds up who waits for one, and not for long. */
    private static Duplex tokens(OutsideTls outside, Session session, Destination.Named to)
            throws IOException {
        Duplex raw = session.dialer().dial(to);
        try (Watchdog _ = Watchdog.on(raw)) {
            return outside.connect(session, to, raw, List.of("http/1.1"));
        }
    }

    /** What the host trusts, which may be more than its Java does, and what the operator adds. */
    private static List<X509Certificate> trusted(List<Path> authorities) throws IOException {
        List<X509Certificate> trusted = new ArrayList<>();
        for (Path bundle : TrustFiles.HOST_BUNDLES) {
            if (Files.isReadable(bundle)) {
                trusted.addAll(OutsideTls.read(bundle));
                break;
            }
        }
        for (Path own : authorities) {
            trusted.addAll(OutsideTls.read(own));
        }
        return trusted;
    }

    private static Trust trust(TrustFiles files, Authority authority, boolean javaOption) {
        Trust.Builder trust = Trust.newBuilder();
        List<X509Certificate> own =
                authority instanceof SandboxAuthority ours ? ours.certificates() : List.of();
        try {
            files.files(own)
                    .forEach(file ->
                            trust.addFiles(
                                    TrustFile.newBuilder()
                                            .setPath(file.path())
                                            .setContent(ByteString.copyFrom(file.content()))));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        TrustFiles.env(javaOption).forEach((key, value) -> trust.addEnv(key + "=" + value));
        return trust.build();
    }
}
