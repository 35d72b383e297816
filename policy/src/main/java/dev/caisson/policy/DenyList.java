package dev.caisson.policy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Hosts and ranges that no rule allows. */
final class DenyList {
    private record Range(int index, Cidr cidr) {}

    private final Map<String, Integer> exact = new HashMap<>();
    private final Map<String, Integer> below = new HashMap<>();
    private final List<Range> ranges = new ArrayList<>();

    DenyList(List<String> items) {
        for (int i = 0; i < items.size(); i++) {
            String field = "egress.deny[" + i + "]";
            String item = items.get(i);
            if (item.indexOf('/') >= 0 || AddressText.parse(item) != null) {
                ranges.add(new Range(i, RuleReader.range(field, item)));
            } else {
                HostPattern pattern = HostPattern.of(field, item);
                (pattern.below() ? below : exact).putIfAbsent(pattern.name().value(), i);
            }
        }
    }

    /** The item that a host is denied by. */
    Optional<String> of(HostName host) {
        Integer found = exact.get(host.value());
        String name = HostPattern.above(host.value());
        while (found == null && !name.isEmpty()) {
            found = below.get(name);
            name = HostPattern.above(name);
        }
        return Optional.ofNullable(found).map(index -> "deny[" + index + "] host " + host);
    }

    /** The item that an address, or one that it wraps, is denied by. */
    Optional<String> of(IpAddress address) {
        List<IpAddress> all = new ArrayList<>(WrappedAddress.inside(address));
        all.add(address);
        return ranges.stream()
                .filter(range -> all.stream().anyMatch(range.cidr()::contains))
                .findFirst()
                .map(range -> "deny[" + range.index() + "] cidr " + range.cidr());
    }

    Optional<String> of(Destination to) {
        return switch (to) {
            case Destination.Named(HostName host, int port) -> of(host);
            case Destination.Literal(IpAddress address, int port) -> of(address);
        };
    }
}
