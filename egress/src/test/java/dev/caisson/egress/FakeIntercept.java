package dev.caisson.egress;

import dev.caisson.policy.Destination;
import dev.caisson.policy.Scheme;
import dev.caisson.redact.Redactor;
import dev.caisson.wire.egress.Trust;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Dials, and carries what is said there and back unseen; says of one host that it has a secret. */
final class FakeIntercept {
    final List<String> served = new CopyOnWriteArrayList<>();
    volatile String concerns = "";
    volatile @Nullable Supplier<List<HeldSecret>> secrets;

    Parts parts() {
        return new Parts(
                this::serve,
                sandbox -> new NoAuthority(),
                (session, held) -> {
                    secrets = held;
                    return new FakeBroker();
                },
                authority -> Trust.newBuilder().addEnv("CA=here").build());
    }

    private void serve(Session session, Duplex inside, Destination.Named to, Scheme scheme)
            throws IOException {
        served.add(to + " " + scheme);
        try (Duplex outside = session.dialer().dial(to)) {
            ByteBuffer buffer = ByteBuffer.allocate(4096);
            while (inside.read(buffer.clear()) >= 0) {
                int size = buffer.position();
                outside.write(buffer.flip());
                for (int got = 0; got < size; got += buffer.limit()) {
                    outside.read(buffer.clear());
                    inside.write(buffer.flip());
                }
            }
            inside.shutdownOutput();
        }
    }

    private final class FakeBroker implements Broker {
        @Override
        public boolean concerns(Destination.Named to) {
            return to.host().value().equals(concerns);
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
}
