package dev.caisson.egress;

import dev.caisson.api.CaissonException;
import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Header;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Opcode;
import org.xbill.DNS.PTRRecord;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.ReverseMap;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/**
 * Answers the DNS queries of one sandbox out of its policy and its table of names. Nothing is ever
 * asked outside: a name that is denied leaves no trace there. Safe for use by several threads.
 */
final class DnsAnswers {
    private static final int HEADER = 12;
    private static final int TTL_SECONDS = 30;
    private static final int UDP_SIZE = 1232;
    private static final int PLAIN_UDP_SIZE = 512;
    private static final int MAX_TCP = 65_535;
    private static final Name LOCALHOST = Name.fromConstantString("localhost.");
    private static final Name REVERSE4 = Name.fromConstantString("in-addr.arpa.");
    private static final Name REVERSE6 = Name.fromConstantString("ip6.arpa.");

    private final Names names;

    /** What a sandbox says of names. */
    interface Names {
        /** Whether one more may be asked for now. */
        boolean mayAsk();

        /** Whether a name is answered at all; records it when it is not. */
        boolean allowed(HostName name);

        /** Records text that is no name. */
        void unreadable(String text);

        /** The synthetic addresses, IPv4 first; empty when there are too many names. */
        Optional<List<IpAddress>> addresses(HostName name) throws IOException;

        /** The name behind an address. */
        Optional<HostName> name(IpAddress address);
    }

    DnsAnswers(Names names) {
        this.names = names;
    }

    /**
     * The answer to a message.
     *
     * @param tcp whether it may be long
     * @param inTime false: too many wait, so that it is refused
     * @return null when it deserves none: it is no query
     */
    byte @Nullable [] answer(byte[] message, boolean tcp, boolean inTime) {
        if (message.length < HEADER || (message[2] & 0x80) != 0) {
            return null;
        }
        Message query;
        try {
            query = new Message(message);
        } catch (IOException | RuntimeException e) {
            return bare(message, Rcode.FORMERR);
        }
        int fault = fault(query);
        if (fault != Rcode.NOERROR) {
            return bare(message, fault);
        }
        OPTRecord opt = query.getOPT();
        Message answer = start(query, opt);
        if (opt != null && opt.getVersion() > 0) {
            // The code is 16: its four low bits are those of the header, the rest is in the OPT.
            answer.getHeader().setRcode(Rcode.NOERROR);
        } else {
            fill(answer, query.getQuestion(), inTime);
        }
        int room =
                opt == null
                        ? PLAIN_UDP_SIZE
                        : Math.clamp(opt.getPayloadSize(), PLAIN_UDP_SIZE, UDP_SIZE);
        return answer.toWire(tcp ? MAX_TCP : room);
    }

    /** Queries have one question, nothing else but an OPT record, and the class of the internet. */
    private static int fault(Message query) {
        Header header = query.getHeader();
        if (header.getOpcode() != Opcode.QUERY) {
            return Rcode.NOTIMP;
        }
        if (header.getCount(Section.QUESTION) != 1
                || header.getCount(Section.ANSWER) != 0
                || header.getCount(Section.AUTHORITY) != 0
                || header.getCount(Section.ADDITIONAL) != (query.getOPT() == null ? 0 : 1)
                || header.getFlag(Flags.TC)) {
            return Rcode.FORMERR;
        }
        return query.getQuestion().getDClass() == DClass.IN ? Rcode.NOERROR : Rcode.NOTIMP;
    }

    /** A header alone, for what cannot be read or is not done. */
    private static byte[] bare(byte[] message, int rcode) {
        byte[] answer = new byte[HEADER];
        System.arraycopy(message, 0, answer, 0, 2);
        answer[2] = (byte) (0x80 | (message[2] & 0x79)); // QR, the opcode, RD
        answer[3] = (byte) (0x80 | rcode); // RA
        return answer;
    }

    private static Message start(Message query, @Nullable OPTRecord opt) {
        Message answer = new Message(query.getHeader().getID());
        answer.getHeader().setFlag(Flags.QR);
        answer.getHeader().setFlag(Flags.RA);
        if (query.getHeader().getFlag(Flags.RD)) {
            answer.getHeader().setFlag(Flags.RD);
        }
        // The very question, in the case that it was asked in (0x20).
        answer.addRecord(query.getQuestion(), Section.QUESTION);
        if (opt != null) {
            int extended = opt.getVersion() > 0 ? 1 : 0;
            answer.addRecord(new OPTRecord(UDP_SIZE, extended, 0), Section.ADDITIONAL);
        }
        return answer;
    }

    private void fill(Message answer, Record question, boolean inTime) {
        int type = question.getType();
        if (type == Type.ANY || type == Type.AXFR || type == Type.IXFR || !names.mayAsk()) {
            answer.getHeader().setRcode(Rcode.REFUSED);
            return;
        }
        if (!inTime) {
            answer.getHeader().setRcode(Rcode.SERVFAIL);
            return;
        }
        try {
            Name name = question.getName();
            if (name.subdomain(LOCALHOST)) {
                local(answer, question);
            } else if (name.subdomain(REVERSE4) || name.subdomain(REVERSE6)) {
                reverse(answer, question);
            } else {
                forward(answer, question);
            }
        } catch (IOException e) {
            answer.getHeader().setRcode(Rcode.SERVFAIL);
        }
    }

    private static void local(Message answer, Record question) throws IOException {
        byte[] six = new byte[16];
        six[15] = 1;
        add(answer, question, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
        add(answer, question, InetAddress.getByAddress(six));
    }

    private void forward(Message answer, Record question) throws IOException {
        HostName name;
        String text = question.getName().toString(true);
        try {
            name = HostName.of(text);
        } catch (CaissonException e) {
            names.unreadable(text);
            answer.getHeader().setRcode(Rcode.NXDOMAIN);
            return;
        }
        if (!names.allowed(name)) {
            answer.getHeader().setRcode(Rcode.NXDOMAIN);
            return;
        }
        if (question.getType() != Type.A && question.getType() != Type.AAAA) {
            return; // There is such a name, and no such data: HTTPS, SVCB, TXT and all the others.
        }
        Optional<List<IpAddress>> addresses = names.addresses(name);
        if (addresses.isEmpty()) {
            answer.getHeader().setRcode(Rcode.SERVFAIL);
            return;
        }
        for (IpAddress address : addresses.get()) {
            add(answer, question, address.toInet());
        }
    }

    /** Adds an address when it is of the family that was asked for. */
    private static void add(Message answer, Record question, InetAddress address) {
        Name name = question.getName();
        boolean four = address.getAddress().length == 4;
        if (four && question.getType() == Type.A) {
            answer.addRecord(new ARecord(name, DClass.IN, TTL_SECONDS, address), Section.ANSWER);
        } else if (!four && question.getType() == Type.AAAA) {
            answer.addRecord(new AAAARecord(name, DClass.IN, TTL_SECONDS, address), Section.ANSWER);
        }
    }

    private void reverse(Message answer, Record question) throws IOException {
        Optional<HostName> name = Optional.empty();
        try {
            InetAddress address = ReverseMap.fromName(question.getName());
            name = names.name(IpAddress.of(address.getAddress()));
        } catch (IOException | RuntimeException e) {
            name = Optional.empty(); // no address: nobody's
        }
        if (name.isEmpty()) {
            answer.getHeader().setRcode(Rcode.NXDOMAIN);
        } else if (question.getType() == Type.PTR) {
            Name target = Name.fromString(name.get() + ".");
            answer.addRecord(
                    new PTRRecord(question.getName(), DClass.IN, TTL_SECONDS, target),
                    Section.ANSWER);
        }
    }
}
