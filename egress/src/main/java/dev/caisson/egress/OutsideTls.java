package dev.caisson.egress;

import dev.caisson.policy.Destination;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * TLS with servers outside. Chain, name and dates are always verified, against what this Java
 * trusts and the operator's own authorities; nothing can switch that off. Safe for use by several
 * threads.
 */
final class OutsideTls {
    private static final int SESSIONS = 256;

    private final TrustManager[] trust;
    // A context per sandbox: sessions are never resumed by another one.
    private final Map<Object, SSLContext> contexts =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** Reads the operator's own authorities from a PEM file. */
    static List<X509Certificate> read(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificates(in).stream()
                    .map(X509Certificate.class::cast)
                    .toList();
        } catch (GeneralSecurityException e) {
            throw new IOException("No certificates can be read from " + file + ".", e);
        }
    }

    /**
     * Trusts what this Java trusts, and these.
     *
     * @param extra the operator's own authorities
     */
    static OutsideTls trusting(List<X509Certificate> extra) throws IOException {
        try {
            KeyStore all = KeyStore.getInstance("PKCS12");
            all.load(null, null);
            int number = 0;
            for (TrustManager manager : managers(null)) {
                if (manager instanceof X509TrustManager known) {
                    for (X509Certificate issuer : known.getAcceptedIssuers()) {
                        all.setCertificateEntry("java" + number++, issuer);
                    }
                }
            }
            for (X509Certificate issuer : extra) {
                all.setCertificateEntry("extra" + number++, issuer);
            }
            return new OutsideTls(managers(all));
        } catch (GeneralSecurityException e) {
            throw new IOException("What this Java trusts cannot be read.", e);
        }
    }

    private OutsideTls(TrustManager[] trust) {
        this.trust = trust;
    }

    /**
     * Shakes hands with a server.
     *
     * @param owner whose TLS sessions are used; they go with it
     * @param protocols of ALPN, best first
     * @throws javax.net.ssl.SSLException when the server cannot show that it is that host
     */
    TlsDuplex connect(Object owner, Destination.Named to, Duplex outside, List<String> protocols)
            throws IOException {
        SSLContext context = contexts.computeIfAbsent(owner, o -> context());
        SSLEngine engine = context.createSSLEngine(to.host().value(), to.port());
        engine.setUseClientMode(true);
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        parameters.setServerNames(List.of(new SNIHostName(to.host().value())));
        parameters.setApplicationProtocols(protocols.toArray(String[]::new));
        engine.setSSLParameters(parameters);
        return TlsDuplex.handshake(outside, engine);
    }

    private SSLContext context() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust, null);
            context.getClientSessionContext().setSessionCacheSize(SESSIONS);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("This Java has no TLS.", e);
        }
    }

    private static TrustManager[] managers(@Nullable KeyStore store)
            throws GeneralSecurityException {
        TrustManagerFactory factory =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }
}
