package dev.caisson.egress;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.caisson.policy.HostName;
import dev.caisson.policy.IpAddress;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** Any message: an answer with its id, or none; never a throw, never long over UDP. */
class DnsAnswersFuzzTest {
    static Stream<Arguments> seeds() throws Exception {
        return Stream.of(
                        query("allowed.test.", Type.A),
                        query("1.0.18.198.in-addr.arpa.", Type.PTR),
                        query("localhost.", Type.AAAA),
                        new byte[12],
                        new byte[] {
                            0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, (byte) 0xC0, 12, 0, 1, 0, 1
                        })
                .map(bytes -> Arguments.of((Object) bytes));
    }

    private static byte[] query(String name, int type) throws Exception {
        Message message =
                Message.newQuery(Record.newRecord(Name.fromString(name), type, DClass.IN));
        message.addRecord(new OPTRecord(1232, 0, 0), Section.ADDITIONAL);
        return message.toWire();
    }

    @MethodSource("seeds")
    @FuzzTest
    void alwaysAnswersOrSaysNothing(byte[] message) {
        byte[] answer = new DnsAnswers(new Everything()).answer(message, false, true);
        if (answer != null) {
            assertThat(answer.length).isBetween(12, 1232);
            assertThat(answer[0]).isEqualTo(message[0]);
            assertThat(answer[1]).isEqualTo(message[1]);
            assertThat(answer[2] & 0x80).isEqualTo(0x80);
        }
    }

    private static final class Everything implements DnsAnswers.Names {
        @Override
        public boolean mayAsk() {
            return true;
        }

        @Override
        public boolean allowed(HostName name) {
            return name.value().length() % 2 == 0;
        }

        @Override
        public void unreadable(String text) {
            // nobody looks
        }

        @Override
        public Optional<List<IpAddress>> addresses(HostName name) {
            return Optional.of(List.of(IpAddress.parse("198.18.0.1"), IpAddress.parse("fdca::1")));
        }

        @Override
        public Optional<HostName> name(IpAddress address) {
            return Optional.of(HostName.of("x.test"));
        }
    }
}
