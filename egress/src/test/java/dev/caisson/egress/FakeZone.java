package dev.caisson.egress;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** An authoritative name server on loopback that keeps what it was asked. */
final class FakeZone implements AutoCloseable {
    final List<Message> asked = new CopyOnWriteArrayList<>();
    final Map<String, List<Record>> records = new ConcurrentHashMap<>();

    /** Changes an answer before it goes out over UDP. */
    volatile Function<Message, List<Message>> udp = List::of;

    private final DatagramSocket datagrams;
    private final ServerSocket streams;

    FakeZone() throws IOException {
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        // The kernel chooses among the free ports of TCP: of these some wait after their end.
        streams = new ServerSocket(0, 16, loopback);
        datagrams = new DatagramSocket(new InetSocketAddress(loopback, streams.getLocalPort()));
        Thread.ofVirtual().start(this::datagrams);
        Thread.ofVirtual().start(this::streams);
    }

    InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), datagrams.getLocalPort());
    }

    private void datagrams() {
        try {
            while (true) {
                DatagramPacket packet = new DatagramPacket(new byte[4096], 4096);
                datagrams.receive(packet);
                byte[] wire = Arrays.copyOf(packet.getData(), packet.getLength());
                for (Message answer : udp.apply(answer(wire))) {
                    byte[] out = answer.toWire();
                    datagrams.send(new DatagramPacket(out, out.length, packet.getSocketAddress()));
                }
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void streams() {
        try {
            while (true) {
                try (Socket socket = streams.accept()) {
                    DataInputStream in = new DataInputStream(socket.getInputStream());
                    byte[] wire = answer(in.readNBytes(in.readUnsignedShort())).toWire();
                    byte[] out = new byte[2 + wire.length];
                    out[0] = (byte) (wire.length >> 8);
                    out[1] = (byte) wire.length;
                    System.arraycopy(wire, 0, out, 2, wire.length);
                    socket.getOutputStream().write(out);
                }
            }
        } catch (IOException e) {
            // closed
        }
    }

    private Message answer(byte[] wire) throws IOException {
        Message query = new Message(wire);
        asked.add(query);
        Message answer = new Message(query.getHeader().getID());
        answer.getHeader().setFlag(Flags.QR);
        answer.addRecord(query.getQuestion(), Section.QUESTION);
        String name = query.getQuestion().getName().toString().toLowerCase(Locale.ROOT);
        List<Record> found = records.get(name);
        if (found == null) {
            answer.getHeader().setRcode(Rcode.NXDOMAIN);
            return answer;
        }
        for (Record record : found) {
            if (record.getType() == query.getQuestion().getType()
                    || record.getType() == Type.CNAME) {
                answer.addRecord(record, Section.ANSWER);
            }
        }
        return answer;
    }

    @Override
    public void close() throws IOException {
        datagrams.close();
        streams.close();
    }
}
