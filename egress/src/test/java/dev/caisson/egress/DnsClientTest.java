package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.CNAMERecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;

class DnsClientTest {
    private FakeZone zone;
    private DnsClient client;

    @BeforeEach
    void start() throws Exception {
        zone = new FakeZone();
        client = new DnsClient(List.of(zone.address()));
        zone.records.put("a.test.", List.of(four("a.test.", "192.0.2.1"), six("a.test.")));
    }

    @AfterEach
    void stop() throws Exception {
        zone.close();
    }

    @Test
    void asksForBothFamiliesWithIdsAndLettersOfChance() throws Exception {
        Set<Integer> ids = new HashSet<>();
        Set<String> spellings = new HashSet<>();
        zone.records.put("longer-name.test.", List.of(four("longer-name.test.", "192.0.2.1")));
        for (int i = 0; i < 8; i++) {
            client.resolve(HostName.of("longer-name.test"));
        }
        for (Message message : zone.asked) {
            ids.add(message.getHeader().getID());
            spellings.add(message.getQuestion().getName().toString());
        }
        assertThat(zone.asked).hasSize(16);
        assertThat(ids).hasSizeGreaterThan(14);
        assertThat(spellings).hasSizeGreaterThan(8);
        assertThat(client.resolve(HostName.of("a.test")))
                .containsExactly(IpAddress.parse("2001:db8::1"), IpAddress.parse("192.0.2.1"));
    }

    @Test
    void followsAliasesWithinAndBetweenAnswersButNotForEver() throws Exception {
        zone.records.put(
                "one.test.",
                List.of(alias("one.test.", "two.test."), alias("two.test.", "a.test.")));
        assertThat(client.resolve(HostName.of("one.test"))).hasSize(2);
        zone.records.put("l1.test.", List.of(alias("l1.test.", "l2.test.")));
        zone.records.put("l2.test.", List.of(alias("l2.test.", "l1.test.")));
        assertThatThrownBy(() -> client.resolve(HostName.of("l1.test")))
                .isInstanceOf(IOException.class);
    }

    @Test
    void takesNoRecordOfAnotherName() throws Exception {
        zone.records.put("b.test.", List.of(four("evil.test.", "192.0.2.66")));
        assertThatThrownBy(() -> client.resolve(HostName.of("b.test")))
                .hasMessageContaining("no address");
    }

    @Test
    void passesOverAnswersToOtherQuestions() throws Exception {
        zone.udp =
                right -> {
                    Message otherId = right.clone();
                    otherId.getHeader().setID(right.getHeader().getID() ^ 1);
                    Message otherCase = new Message(right.getHeader().getID());
                    otherCase.getHeader().setFlag(Flags.QR);
                    Record question = right.getQuestion();
                    otherCase.addRecord(
                            Record.newRecord(
                                    swapped(question.getName()), question.getType(), DClass.IN),
                            Section.QUESTION);
                    otherCase.addRecord(four("a.test.", "192.0.2.66"), Section.ANSWER);
                    return List.of(otherId, otherCase, right);
                };
        assertThat(client.resolve(HostName.of("a.test"))).contains(IpAddress.parse("192.0.2.1"));
        assertThat(client.resolve(HostName.of("a.test")))
                .doesNotContain(IpAddress.parse("192.0.2.66"));
    }

    @Test
    void asksAgainOverTcpWhenTheAnswerIsCut() throws Exception {
        zone.udp =
                right -> {
                    Message cut = new Message(right.getHeader().getID());
                    cut.getHeader().setFlag(Flags.QR);
                    cut.getHeader().setFlag(Flags.TC);
                    cut.addRecord(right.getQuestion(), Section.QUESTION);
                    return List.of(cut);
                };
        assertThat(client.resolve(HostName.of("a.test"))).hasSize(2);
        assertThat(zone.asked).hasSize(4);
    }

    @Test
    void asksTheNextServerWhenOneIsSilent() throws Exception {
        try (FakeZone silent = new FakeZone()) {
            silent.udp = right -> List.of();
            DnsClient both = new DnsClient(List.of(silent.address(), zone.address()));
            assertThat(both.resolve(HostName.of("a.test"))).hasSize(2);
        }
    }

    @Test
    void aNameThatIsNotThereIsToldAtOnce() {
        assertThatThrownBy(() -> client.resolve(HostName.of("nothing.test")))
                .hasMessageContaining("no address");
        assertThat(zone.asked).hasSize(2);
    }

    private static ARecord four(String name, String address) {
        try {
            return new ARecord(name(name), DClass.IN, 0, InetAddress.getByName(address));
        } catch (IOException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static AAAARecord six(String name) throws IOException {
        return new AAAARecord(name(name), DClass.IN, 0, InetAddress.getByName("2001:db8::1"));
    }

    private static CNAMERecord alias(String name, String to) {
        return new CNAMERecord(name(name), DClass.IN, 0, name(to));
    }

    private static Name name(String text) {
        return Name.fromConstantString(text);
    }

    private static Name swapped(Name name) {
        StringBuilder text = new StringBuilder();
        for (char c : name.toString().toCharArray()) {
            text.append(
                    Character.isUpperCase(c) ? Character.toLowerCase(c) : Character.toUpperCase(c));
        }
        return name(text.toString());
    }
}
