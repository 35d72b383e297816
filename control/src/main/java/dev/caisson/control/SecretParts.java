package dev.caisson.control;

import dev.caisson.core.SecretSink;

/** The parts that deal with secrets, put together. */
final class SecretParts {
    private final SecretFeed feed;
    private final SecretUses uses;
    private final Secrets service;

    SecretParts(
            Ledger ledger,
            Cursors cursors,
            Vault vault,
            Directory directory,
            SecretSources sources) {
        feed =
                new SecretFeed(
                        ledger,
                        vault,
                        (sandbox, secret) -> SecretUses.placeholder(vault, sandbox, secret));
        SecretRefresh refresh = new SecretRefresh(ledger, vault, sources, feed::changed);
        uses = new SecretUses(ledger, vault, refresh, feed);
        service = new Secrets(ledger, cursors, vault, directory, sources, feed);
    }

    SecretUses uses() {
        return uses;
    }

    Secrets service() {
        return service;
    }

    /** The gateway that has them from now on; told everything that is in use. */
    void connect(SecretSink sink) {
        feed.connect(sink);
    }

    /** How many are in use here. */
    int count() {
        return feed.count();
    }
}
