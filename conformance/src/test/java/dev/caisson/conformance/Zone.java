package dev.caisson.conformance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.Address;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** The name server of the host, as the gateway sees it: it keeps every question that came. */
final class Zone implements AutoCloseable {
    private final DatagramSocket socket;
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final Map<String, Supplier<List<String>>> hosts = new ConcurrentHashMap<>();

    Zone() {
        try {
            socket = new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().name("zone").start(this::serve);
    }

    int port() {
        return socket.getLocalPort();
    }

    /** A host has these addresses. */
    void host(String name, String... addresses) {
        List<String> all = List.of(addresses);
        hosts.put(name, () -> all);
    }

    /** A host has the addresses that this says at each question. */
    void host(String name, Supplier<List<String>> addresses) {
        hosts.put(name, addresses);
    }

    /** The questions in whose name that text is, {@code TYPE name.}, in lower case. */
    List<String> asked(String part) {
        return asked.stream().filter(one -> one.contains(part.toLowerCase(Locale.ROOT))).toList();
    }

    private void serve() {
        try {
            while (true) {
                DatagramPacket packet = new DatagramPacket(new byte[4096], 4096);
                socket.receive(packet);
                byte[] out = answer(Arrays.copyOf(packet.getData(), packet.getLength())).toWire();
                socket.send(new DatagramPacket(out, out.length, packet.getSocketAddress()));
            }
        } catch (IOException e) {
            // It was closed.
        }
    }

    private Message answer(byte[] wire) throws IOException {
        Message query = new Message(wire);
        Message answer = new Message(query.getHeader().getID());
        answer.getHeader().setFlag(Flags.QR);
        Record question = query.getQuestion();
        answer.addRecord(question, Section.QUESTION);
        String name = question.getName().toString(true).toLowerCase(Locale.ROOT);
        asked.add(Type.string(question.getType()) + " " + name + ".");
        Supplier<List<String>> found = hosts.get(name);
        if (found == null) {
            answer.getHeader().setRcode(Rcode.NXDOMAIN);
            return answer;
        }
        for (String address : found.get()) {
            boolean six = address.indexOf(':') >= 0;
            if (question.getType() == (six ? Type.AAAA : Type.A)) {
                answer.addRecord(record(question.getName(), address, six), Section.ANSWER);
            }
        }
        return answer;
    }

    private static Record record(Name name, String address, boolean six) throws IOException {
        int family = six ? Address.IPv6 : Address.IPv4;
        InetAddress parsed = InetAddress.getByAddress(Address.toByteArray(address, family));
        return six
                ? new AAAARecord(name, DClass.IN, 0, Address.toByteArray(address, family))
                : new ARecord(name, DClass.IN, 0, parsed);
    }

    @Override
    public void close() {
        socket.close();
    }
}
