package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.HostName;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SNIMatcher;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.StandardConstants;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;

/** TLS with programs inside, in the place of the server. Safe for use by several threads. */
final class InsideTls {
    private static final int SESSIONS = 256;

    // A context per authority keeps its TLS sessions; it goes with the authority.
    private final Map<Authority, SSLContext> contexts =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** The name that a program asked for is another than the one it connects to. */
    static final class WrongNameException extends SSLException {
        private static final long serialVersionUID = 1;

        WrongNameException(String name, SSLException cause) {
            super(name, cause);
        }
    }

    /**
     * Shakes hands as the host.
     *
     * @throws WrongNameException when the server name is another
     */
    TlsDuplex accept(Authority authority, Destination.Named to, Duplex inside) throws IOException {
        SSLContext context = contexts.computeIfAbsent(authority, InsideTls::context);
        SSLEngine engine = context.createSSLEngine(to.host().value(), to.port());
        engine.setUseClientMode(false);
        AtomicReference<@Nullable String> wrong = new AtomicReference<>();
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
        parameters.setSNIMatchers(List.of(new OnlyName(to.host(), wrong)));
        engine.setSSLParameters(parameters);
        engine.setHandshakeApplicationProtocolSelector((e, offered) -> choose(offered));
        try {
            return TlsDuplex.handshake(inside, engine);
        } catch (SSLException e) {
            String name = wrong.get();
            throw name == null ? e : new WrongNameException(name, e);
        }
    }

    private static String choose(List<String> offered) {
        if (offered.contains("h2")) {
            return "h2";
        }
        return offered.contains("http/1.1") ? "http/1.1" : "";
    }

    private static SSLContext context(Authority authority) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(new KeyManager[] {new Leaves(authority)}, null, null);
            context.getServerSessionContext().setSessionCacheSize(SESSIONS);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("This Java has no TLS.", e);
        }
    }

    private static final class OnlyName extends SNIMatcher {
        private final HostName host;
        private final AtomicReference<@Nullable String> wrong;

        OnlyName(HostName host, AtomicReference<@Nullable String> wrong) {
            super(StandardConstants.SNI_HOST_NAME);
            this.host = host;
            this.wrong = wrong;
        }

        @Override
        public boolean matches(SNIServerName name) {
            String text =
                    new String(name.getEncoded(), StandardCharsets.US_ASCII)
                            .toLowerCase(Locale.ROOT);
            if (text.equals(host.value())) {
                return true;
            }
            wrong.set(text.replaceAll("[^a-z0-9._-]", "?"));
            return false;
        }
    }

    // The alias is the host that the engine was made for.
    private static final class Leaves extends X509ExtendedKeyManager {
        private final WeakReference<Authority> authority;

        Leaves(Authority authority) {
            this.authority = new WeakReference<>(authority);
        }

        @Override
        public @Nullable String chooseEngineServerAlias(
                String type, Principal @Nullable [] issuers, SSLEngine engine) {
            return type.equals("EC") ? engine.getPeerHost() : null;
        }

        @Override
        public X509Certificate @Nullable [] getCertificateChain(String alias) {
            Authority now = authority.get();
            return now == null
                    ? null
                    : now.leaf(new HostName(alias)).chain().toArray(X509Certificate[]::new);
        }

        @Override
        public @Nullable PrivateKey getPrivateKey(String alias) {
            Authority now = authority.get();
            return now == null ? null : now.leaf(new HostName(alias)).key();
        }

        @Override
        public String @Nullable [] getClientAliases(String type, Principal @Nullable [] issuers) {
            return null;
        }

        @Override
        public @Nullable String chooseClientAlias(
                String[] types, Principal @Nullable [] issuers, @Nullable Socket socket) {
            return null;
        }

        @Override
        public String @Nullable [] getServerAliases(String type, Principal @Nullable [] issuers) {
            return null;
        }

        @Override
        public @Nullable String chooseServerAlias(
                String type, Principal @Nullable [] issuers, @Nullable Socket socket) {
            return null;
        }
    }
}
