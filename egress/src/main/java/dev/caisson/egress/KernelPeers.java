package dev.caisson.egress;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import jdk.net.ExtendedSocketOptions;

/**
 * What the kernel says ({@code SO_PEERCRED}). The JDK gives a principal and no number, so those of
 * the allowed uids are looked up once and compared, which they do by number.
 */
final class KernelPeers implements Peers {
    private static final int UNKNOWN = -1;
    private static final int NAMED_SECONDS = 5;

    private final Map<UserPrincipal, Integer> allowed = new ConcurrentHashMap<>();
    private final OptionalInt anyoneBut;

    KernelPeers(Set<Integer> uids) throws IOException {
        this(uids, OptionalInt.empty());
    }

    /**
     * @param anyoneBut whoever the file's mode lets connect is allowed, but for this uid; empty:
     *     only those of the set are
     */
    KernelPeers(Set<Integer> uids, OptionalInt anyoneBut) throws IOException {
        this.anyoneBut = anyoneBut;
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
        if (uid == null && anyoneBut.isPresent()) {
            uid = allowed.computeIfAbsent(user, KernelPeers::number);
            if (uid == anyoneBut.getAsInt()) {
                uid = UNKNOWN;
            }
        }
        return uid == null || uid == UNKNOWN ? OptionalInt.empty() : OptionalInt.of(uid);
    }

    /**
     * The number of somebody whom the JDK names; the host's own tool knows every source of names.
     */
    private static int number(UserPrincipal user) {
        String name = user.getName();
        if (name.matches("[0-9]{1,10}")) {
            return Integer.parseUnsignedInt(name);
        }
        try {
            Process id = new ProcessBuilder("/usr/bin/id", "-u", "--", name).start();
            String number =
                    new String(id.getInputStream().readNBytes(32), StandardCharsets.US_ASCII)
                            .strip();
            boolean ended = id.waitFor(NAMED_SECONDS, TimeUnit.SECONDS);
            return ended && number.matches("[0-9]{1,10}")
                    ? Integer.parseUnsignedInt(number)
                    : UNKNOWN;
        } catch (IOException e) {
            return UNKNOWN;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return UNKNOWN;
        }
    }
}
