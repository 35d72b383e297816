package dev.caisson.egress;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.FileSystems;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;

/**
 * What the kernel says ({@code SO_PEERCRED}). The JDK gives a principal and no number, so those of
 * the allowed uids are looked up once and compared, which they do by number.
 */
final class KernelPeers implements Peers {
    private final Map<UserPrincipal, Integer> allowed = new HashMap<>();

    KernelPeers(Set<Integer> uids) throws IOException {
        UserPrincipalLookupService service =
                FileSystems.getDefault().getUserPrincipalLookupService();
        for (int uid : uids) {
            allowed.put(service.lookupPrincipalByName(Integer.toUnsignedString(uid)), uid);
        }
    }

    @Override
    public OptionalInt uid(SocketChannel connection) throws IOException {
        UserPrincipal user = connection.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
        Integer uid = allowed.get(user);
        return uid == null ? OptionalInt.empty() : OptionalInt.of(uid);
    }
}
