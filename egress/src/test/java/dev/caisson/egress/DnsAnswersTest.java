package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.v1.EgressLimits;
import dev.caisson.wire.egress.Denial;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
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

/** What names are answered. The oracle of "asked nowhere" is the resolver of the rig. */
class DnsAnswersTest {
    private Rig rig;
    private FakeClient client;
    private FakeAgent agent;

    @BeforeEach
    void start() throws Exception {
        rig = Rig.started();
        client = rig.client();
        client.put("sb1", Rig.policy(Rig.host("allowed.test", 443), Rig.host("*.wild.test", 443)));
        agent = rig.agent("sb1");
    }

    @AfterEach
    void stop() throws Exception {
        assertThat(rig.resolved).as("nothing is asked outside").isEmpty();
        rig.close();
    }

    @Test
    void anAllowedNameHasSyntheticAddressesThatStay() throws Exception {
        Message four = agent.ask("allowed.test", Type.A);
        Message six = agent.ask("allowed.test", Type.AAAA);
        ARecord a = (ARecord) four.getSection(Section.ANSWER).getFirst();
        AAAARecord aaaa = (AAAARecord) six.getSection(Section.ANSWER).getFirst();
        assertThat(a.getAddress().getHostAddress()).startsWith("198.1");
        assertThat(aaaa.getAddress().getHostAddress()).startsWith("fdca:155a:6b2d:1:");
        assertThat(a.getTTL()).isLessThanOrEqualTo(60);
        assertThat(agent.ask("allowed.test", Type.A).getSection(Section.ANSWER))
                .isEqualTo(four.getSection(Section.ANSWER));
        assertThat(agent.lookUp("x.wild.test")).isNotEqualTo(agent.lookUp("y.wild.test"));
    }

    @Test
    void aDeniedNameDoesNotExistAndIsRecorded() throws Exception {
        for (int type : new int[] {Type.A, Type.AAAA, Type.TXT, Type.HTTPS, Type.MX}) {
            assertThat(rcode(agent.ask("secret-data.evil.test", type))).isEqualTo(Rcode.NXDOMAIN);
        }
        List<Denial> denials = client.denials("sb1", 0).getDenialsList();
        assertThat(denials).hasSize(1);
        assertThat(denials.getFirst().getTarget()).isEqualTo("secret-data.evil.test");
        assertThat(denials.getFirst().getCount()).isEqualTo(5);
    }

    @Test
    void onlyAddressesAreAnswered() throws Exception {
        for (int type :
                new int[] {Type.HTTPS, Type.SVCB, Type.TXT, Type.MX, Type.SRV, Type.NULL, 65_000}) {
            Message answer = agent.ask("allowed.test", type);
            assertThat(rcode(answer)).as(Type.string(type)).isEqualTo(Rcode.NOERROR);
            assertThat(answer.getSection(Section.ANSWER)).isEmpty();
        }
        for (int type : new int[] {Type.ANY, Type.AXFR, Type.IXFR}) {
            assertThat(rcode(agent.ask("allowed.test", type))).isEqualTo(Rcode.REFUSED);
        }
    }

    @Test
    void theCaseOfTheQuestionIsKept() throws Exception {
        Message answer = agent.ask("AlLoWeD.TeSt", Type.A);
        assertThat(answer.getQuestion().getName()).hasToString("AlLoWeD.TeSt.");
        assertThat(answer.getSection(Section.ANSWER)).hasSize(1);
    }

    @Test
    void namesThatCouldBeReadInTwoWaysDoNotExist() throws Exception {
        for (String name :
                List.of(
                        "allowed.test.evil.test",
                        "evilallowed.test",
                        "wild.test",
                        "allowed\\.test",
                        "allowed\\000.test",
                        "1.2.3.4",
                        "allowed.test.localdomain",
                        "wpad")) {
            assertThat(rcode(agent.ask(name, Type.A))).as(name).isEqualTo(Rcode.NXDOMAIN);
        }
    }

    @Test
    void localhostIsTheLoopback() throws Exception {
        ARecord four =
                (ARecord) agent.ask("localhost", Type.A).getSection(Section.ANSWER).getFirst();
        assertThat(four.getAddress().getHostAddress()).isEqualTo("127.0.0.1");
        assertThat(agent.ask("foo.localhost", Type.AAAA).getSection(Section.ANSWER)).hasSize(1);
    }

    @Test
    void syntheticAddressesHaveTheirNamesAndOthersNone() throws Exception {
        Name reverse = ReverseMap.fromAddress(agent.lookUp("allowed.test").toInet());
        Message answer = agent.ask(reverse.toString(true), Type.PTR);
        PTRRecord record = (PTRRecord) answer.getSection(Section.ANSWER).getFirst();
        assertThat(record.getTarget()).hasToString("allowed.test.");
        for (String other :
                List.of("8.8.8.8.in-addr.arpa", "9.9.18.198.in-addr.arpa", "x.ip6.arpa")) {
            assertThat(rcode(agent.ask(other, Type.PTR))).as(other).isEqualTo(Rcode.NXDOMAIN);
        }
    }

    @Test
    void oddMessagesAreRefused() throws Exception {
        Message two = query("allowed.test", Type.A);
        two.addRecord(two.getQuestion(), Section.QUESTION);
        assertThat(rcode(agent.ask(two))).isEqualTo(Rcode.FORMERR);
        Message none = new Message(7);
        assertThat(rcode(agent.ask(none))).isEqualTo(Rcode.FORMERR);
        Message update = query("allowed.test", Type.A);
        update.getHeader().setOpcode(Opcode.UPDATE);
        assertThat(rcode(agent.ask(update))).isEqualTo(Rcode.NOTIMP);
        Record chaos = Record.newRecord(Name.fromString("version.bind."), Type.TXT, DClass.CH);
        assertThat(rcode(agent.ask(Message.newQuery(chaos)))).isEqualTo(Rcode.NOTIMP);
        Message answered = query("allowed.test", Type.A);
        answered.addRecord(
                new ARecord(
                        Name.fromString("x.test."),
                        DClass.IN,
                        1,
                        java.net.InetAddress.getLoopbackAddress()),
                Section.ANSWER);
        assertThat(rcode(agent.ask(answered))).isEqualTo(Rcode.FORMERR);
        agent.query(1, new byte[] {1, 2, 3});
        agent.query(1, new byte[4096]);
        assertThat(rcode(agent.ask("allowed.test", Type.A))).isIn(Rcode.FORMERR, Rcode.NOERROR);
    }

    @Test
    void extensionsAreAnsweredAndNewerOnesNot() throws Exception {
        Message query = query("allowed.test", Type.A);
        query.addRecord(new OPTRecord(4096, 0, 0), Section.ADDITIONAL);
        Message answer = agent.ask(query);
        assertThat(answer.getOPT()).isNotNull();
        assertThat(answer.getSection(Section.ANSWER)).hasSize(1);
        Message newer = query("allowed.test", Type.A);
        newer.addRecord(new OPTRecord(4096, 0, 1), Section.ADDITIONAL);
        assertThat(agent.ask(newer).getRcode()).isEqualTo(Rcode.BADVERS);
    }

    @Test
    void answersOverTcpToAnyAddress() throws Exception {
        FakeStream stream = agent.open("8.8.8.8", 53);
        byte[] wire = query("allowed.test", Type.A).toWire();
        byte[] both = new byte[2 * (wire.length + 2)];
        for (int i = 0; i < 2; i++) {
            both[i * (wire.length + 2) + 1] = (byte) wire.length;
            System.arraycopy(wire, 0, both, i * (wire.length + 2) + 2, wire.length);
        }
        for (byte b : both) {
            stream.send(new byte[] {b});
        }
        stream.end();
        byte[] answers = stream.readAll();
        int first = ((answers[0] & 0xFF) << 8) | (answers[1] & 0xFF);
        Message answer = new Message(Arrays.copyOfRange(answers, 2, 2 + first));
        assertThat(answer.getHeader().getFlag(Flags.QR)).isTrue();
        assertThat(answer.getSection(Section.ANSWER)).hasSize(1);
        assertThat(answers).hasSize(2 * (2 + first));
    }

    @Test
    void deniedNamesAreRecordedOneByOneOnlyForAWhile() throws Exception {
        for (int i = 0; i < EventBudget.LOOKUPS + 50; i++) {
            agent.ask("exfil" + i + ".evil.test", Type.A);
        }
        assertThat(client.denials("sb1", 0).getDenialsCount()).isEqualTo(EventBudget.LOOKUPS);
        int single = 0;
        while (!client.event("egress.denied").getReason().equals("lookups")) {
            single++;
        }
        assertThat(single).isEqualTo(EventBudget.LOOKUPS);
        assertThat(agent.lookUp("allowed.test")).isNotNull();
    }

    @Test
    void moreQueriesThanAllowedAreRefusedAndTold() throws Exception {
        client.put(
                "sb1",
                Rig.limits(
                        Rig.policy(Rig.host("allowed.test", 443)),
                        new EgressLimits(null, null, null, null, 5)));
        Set<Integer> codes = new HashSet<>();
        for (int i = 0; i < 10; i++) {
            codes.add(rcode(agent.ask("allowed.test", Type.A)));
        }
        assertThat(codes).containsExactlyInAnyOrder(Rcode.NOERROR, Rcode.REFUSED);
        assertThat(client.event("limit.hit").getData().toStringUtf8()).contains("dnsQueries");
    }

    private static Message query(String name, int type) throws IOException {
        return Message.newQuery(Record.newRecord(Name.fromString(name + "."), type, DClass.IN));
    }

    private static int rcode(Message message) {
        return message.getHeader().getRcode();
    }
}
