package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.redact.Redactor;
import java.util.List;

/** The broker of a gateway that puts nothing in. */
final class NoBroker implements Broker {
    @Override
    public boolean concerns(Destination.Named to) {
        return false;
    }

    @Override
    public Use apply(Destination.Named to, Outgoing request) {
        return Use.NONE;
    }

    @Override
    public Redactor redactor() {
        return Redactor.of(List.of());
    }
}
