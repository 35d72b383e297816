package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.CNAMERecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;

/**
 * One question to one name server, and the questions to which its answer leads. Answers are taken
 * from the server's address to a port that the kernel chose at random, with our random id and our
 * question letter for letter in random case.
 */
final class DnsLookup {
    private static final int TIMEOUT_MILLIS = 2000;
    private static final int MAX_UDP = 1232;
    private static final int MAX_STEPS = 8;
    private static final int MAX_STRAY = 16;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final InetSocketAddress server;
    private final int type;

    DnsLookup(InetSocketAddress server, int type) {
        this.server = server;
        this.type = type;
    }

    /** The addresses of that type; none when the name has none. */
    List<IpAddress> addresses(HostName host) throws IOException {
        Name name = Name.fromString(host + ".");
        for (int step = 0; step < MAX_STEPS; step++) {
            Message answer = exchange(name);
            int rcode = answer.getHeader().getRcode();
            if (rcode == Rcode.NXDOMAIN) {
                return List.of();
            }
            if (rcode != Rcode.NOERROR) {
                throw new IOException("The name server says " + Rcode.string(rcode));
            }
            Name last = follow(answer, name);
            List<IpAddress> found = of(answer, last);
            if (!found.isEmpty() || last.equals(name)) {
                return found;
            }
            name = checked(last);
        }
        throw new IOException("Too many aliases of " + host);
    }

    /** The end of the chain of aliases in an answer. */
    private static Name follow(Message answer, Name from) throws IOException {
        Map<Name, Name> aliases = new HashMap<>();
        for (Record record : answer.getSection(Section.ANSWER)) {
            if (record instanceof CNAMERecord alias) {
                aliases.put(alias.getName(), alias.getTarget());
            }
        }
        Name name = from;
        for (int step = 0; step < MAX_STEPS; step++) {
            Name next = aliases.get(name);
            if (next == null) {
                return name;
            }
            name = next;
        }
        throw new IOException("Too many aliases of " + from);
    }

    private static List<IpAddress> of(Message answer, Name name) {
        List<IpAddress> found = new ArrayList<>();
        for (Record record : answer.getSection(Section.ANSWER)) {
            if (record.getName().equals(name) && record instanceof ARecord four) {
                found.add(IpAddress.of(four.getAddress().getAddress()));
            } else if (record.getName().equals(name) && record instanceof AAAARecord six) {
                found.add(IpAddress.of(six.getAddress().getAddress()));
            }
        }
        return found;
    }

    /** An alias is asked for only when it is a name of a host. */
    private static Name checked(Name name) throws IOException {
        try {
            return Name.fromString(HostName.of(name.toString(true)) + ".");
        } catch (CaissonException e) {
            throw new IOException("An alias is no name", e);
        }
    }

    private Message exchange(Name name) throws IOException {
        Record question = Record.newRecord(mixed(name), type, DClass.IN);
        Message query = Message.newQuery(question);
        query.getHeader().setID(RANDOM.nextInt(1 << 16));
        query.addRecord(new org.xbill.DNS.OPTRecord(MAX_UDP, 0, 0), Section.ADDITIONAL);
        Message answer = udp(query);
        return answer.getHeader().getFlag(Flags.TC) ? tcp(query) : answer;
    }

    /** Each letter in a case of its own (0x20): one bit more that nobody else can guess. */
    private static Name mixed(Name name) throws IOException {
        StringBuilder text = new StringBuilder();
        for (char c : name.toString().toCharArray()) {
            boolean letter = c >= 'a' && c <= 'z';
            text.append(letter && RANDOM.nextBoolean() ? (char) (c - 'a' + 'A') : c);
        }
        return Name.fromString(text.toString());
    }

    private Message udp(Message query) throws IOException {
        byte[] wire = query.toWire();
        long end = System.nanoTime() + TIMEOUT_MILLIS * 1_000_000L;
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(server);
            socket.send(new DatagramPacket(wire, wire.length));
            for (int i = 0; i < MAX_STRAY; i++) {
                DatagramPacket packet = new DatagramPacket(new byte[4096], 4096);
                long left = (end - System.nanoTime()) / 1_000_000;
                socket.setSoTimeout((int) Math.max(1, left));
                socket.receive(packet);
                byte[] bytes = java.util.Arrays.copyOf(packet.getData(), packet.getLength());
                if (answers(query, bytes)) {
                    return new Message(bytes);
                }
            }
        }
        throw new IOException("Only other answers came from " + server);
    }

    /** Whether these bytes answer this very question. */
    static boolean answers(Message query, byte[] bytes) {
        try {
            Message answer = new Message(bytes);
            Record question = answer.getQuestion();
            return answer.getHeader().getID() == query.getHeader().getID()
                    && answer.getHeader().getFlag(Flags.QR)
                    && answer.getHeader().getCount(Section.QUESTION) == 1
                    && question.getType() == query.getQuestion().getType()
                    && question.getDClass() == DClass.IN
                    && question.getName()
                            .toString()
                            .equals(query.getQuestion().getName().toString());
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    private Message tcp(Message query) throws IOException {
        byte[] wire = query.toWire();
        SocketDuplex duplex = SocketDuplex.connect(server, TIMEOUT_MILLIS);
        Thread watch = Deadline.close(duplex, TIMEOUT_MILLIS);
        try (duplex) {
            duplex.write(
                    ByteBuffer.allocate(2 + wire.length)
                            .putShort((short) wire.length)
                            .put(wire)
                            .flip());
            ByteBuffer length = fill(duplex, ByteBuffer.allocate(2));
            int size = length.getShort(0) & 0xFFFF;
            byte[] bytes = fill(duplex, ByteBuffer.allocate(size)).array();
            if (!answers(query, bytes)) {
                throw new IOException("Another answer came from " + server);
            }
            return new Message(bytes);
        } finally {
            watch.interrupt();
        }
    }

    private static ByteBuffer fill(Duplex from, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            if (from.read(into) < 0) {
                throw new IOException("The name server ended the connection");
            }
        }
        return into;
    }
}
