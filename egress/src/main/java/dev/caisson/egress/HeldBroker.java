package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Verdict;
import dev.caisson.redact.Redactor;
import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;

/**
 * The broker of one sandbox over the secrets of the moment. Those that a gateway that was started
 * anew does not have yet are no reason to let a request pass without them: it is refused. Safe for
 * use by several threads.
 */
final class HeldBroker implements Broker {
    private final SecretBroker broker;
    private final Supplier<List<HeldSecret>> secrets;
    // Guarded by this.
    private List<HeldSecret> known = List.of();

    HeldBroker(SecretBroker broker, Supplier<List<HeldSecret>> secrets) {
        this.broker = broker;
        this.secrets = secrets;
    }

    private synchronized List<HeldSecret> refresh() {
        List<HeldSecret> now = secrets.get();
        if (!now.equals(known)) {
            known = now;
            broker.replace(
                    now.stream()
                            .filter(secret -> !secret.isMissing())
                            .map(secret ->
                                    new SecretGrant(
                                            secret.id(),
                                            secret.name(),
                                            secret.spec(),
                                            secret.value(),
                                            secret.placeholder()))
                            .toList());
        }
        return now;
    }

    private static boolean isBoundTo(HeldSecret secret, Destination.Named to) {
        return secret.spec().bindings().stream()
                .anyMatch(binding ->
                        binding.host().equalsIgnoreCase(to.host().value())
                                && (binding.port() == null ? 443 : binding.port()) == to.port());
    }

    @Override
    public boolean concerns(Destination.Named to) {
        return refresh().stream().anyMatch(secret -> isBoundTo(secret, to));
    }

    @Override
    public Use apply(Destination.Named to, Outgoing request) throws IOException {
        for (HeldSecret secret : refresh()) {
            if (secret.isMissing() && isBoundTo(secret, to)) {
                throw new DeniedException(
                        new Verdict(
                                Verdict.Answer.DENY,
                                "secret missing",
                                "The gateway was started anew and does not have the secret "
                                        + secret.name()
                                        + " yet: try again in a moment."));
            }
        }
        return broker.apply(to, request);
    }

    @Override
    public Redactor redactor() {
        refresh();
        return broker.redactor();
    }
}
