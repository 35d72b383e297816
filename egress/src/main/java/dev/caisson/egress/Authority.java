package dev.caisson.egress;

import dev.caisson.policy.HostName;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;

/** The certificate authority of one sandbox; its key is in this process's memory only. */
interface Authority {
    /** A certificate of a host, valid now. */
    Leaf leaf(HostName host);

    /** The certificate that programs inside trust, in PEM. */
    String pem();

    /**
     * A key and its chain.
     *
     * @param chain the host's certificate first
     */
    record Leaf(PrivateKey key, List<X509Certificate> chain) {
        /** Copies the list. */
        public Leaf {
            chain = List.copyOf(chain);
        }

        @Override
        public String toString() {
            return "Leaf";
        }
    }
}
