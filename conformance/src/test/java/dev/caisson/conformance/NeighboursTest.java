package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.caisson.api.Exec;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Two sandboxes know nothing of each other, and one that follows knows nothing of the one before.
 */
class NeighboursTest {
    /** Leaves a mark in everything that processes share, says so, and keeps what must be held. */
    private static final String MARK =
            """
            import ctypes, os, socket, sys, time
            libc = ctypes.CDLL(None)
            for folder in '/tmp', '/var/tmp', '/dev/shm', '/run/lock', '/home/sandbox', '/work':
                open(folder + '/mark-51', 'w').write('mark')
            libc.shmget(0x5151, 4096, 0o1666)
            libc.semget(0x5151, 1, 0o1666)
            libc.msgget(0x5151, 0o1666)
            libc.mq_open(b'/mark-51', 0o102, 0o666, None)
            unix = socket.socket(socket.AF_UNIX)
            unix.bind('\\0mark-51')
            unix.listen(9)
            tcp = socket.socket()
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tcp.bind(('0.0.0.0', 5151))
            tcp.listen(9)
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.bind(('0.0.0.0', 5151))
            print('ready', flush=True)
            time.sleep(30)
            """;

    /** Says which of those marks can be seen. */
    private static final String LOOK =
            """
            import ctypes, os, socket
            libc = ctypes.CDLL(None)
            for folder in '/tmp', '/var/tmp', '/dev/shm', '/run/lock', '/home/sandbox', '/work', '/dev/mqueue':
                print(folder, os.path.exists(folder + '/mark-51'))
            print('shm', libc.shmget(0x5151, 4096, 0) >= 0)
            print('sem', libc.semget(0x5151, 1, 0) >= 0)
            print('msg', libc.msgget(0x5151, 0) >= 0)
            print('unix', socket.socket(socket.AF_UNIX).connect_ex('\\0mark-51') == 0)
            print('tcp', socket.socket().connect_ex(('127.0.0.1', 5151)) == 0)
            print('listing', '@mark-51' in open('/proc/net/unix').read())
            print('port', ':141F' in open('/proc/net/udp').read())
            def marked(pid):
                try:
                    return b'mark-51' in open(f'/proc/{pid}/cmdline', 'rb').read() and int(pid) != os.getpid()
                except OSError:
                    return False
            print('process', any(marked(pid) for pid in os.listdir('/proc') if pid.isdigit()))
            """;

    private static List<String> seen(Sandbox sandbox) {
        return Lab.python(sandbox, LOOK)
                .stdout()
                .text()
                .lines()
                .filter(line -> line.endsWith("True"))
                .toList();
    }

    @Test
    @DisplayName("K51 F30 neither a neighbour nor a successor sees a mark of a sandbox")
    void neitherANeighbourNorASuccessorSeesAMark() {
        try (Sandbox neighbour = Lab.sandbox()) {
            try (Sandbox marked = Lab.sandbox()) {
                marked.start(Lab.pythonSpec(MARK));
                Awaitility.await()
                        .until(() ->
                                seen(marked).stream().anyMatch(line -> line.startsWith("tcp")));

                assertThat(seen(marked)).as("control: another exec beside it sees all").hasSize(15);
                assertThat(seen(neighbour)).isEmpty();
            }
            try (Sandbox successor = Lab.sandbox()) {
                assertThat(seen(successor)).isEmpty();
            }
            assertThat(Lab.python(neighbour, LOOK).stdout().text().lines()).hasSize(15);
        }
    }

    @Test
    @DisplayName("K51 a signal to a neighbour's pid reaches nobody")
    void aSignalToANeighboursPidReachesNobody() {
        try (Sandbox one = Lab.sandbox();
                Sandbox two = Lab.sandbox()) {
            Exec sleeper = one.start(ExecSpec.of("sleep", "30.5151"));
            Awaitility.await().until(() -> !HostView.withArgument("30.5151").isEmpty());
            String killAll =
                    "for p in $(seq 2 400); do [ $p = $$ ] || kill -9 $p; done 2>/dev/null; exit 0";

            assertThat(Lab.sh(two, killAll).succeeded()).isTrue();
            assertThat(HostView.withArgument("30.5151")).as("seen from the host").hasSize(1);

            Lab.sh(one, killAll);
            assertThat(sleeper.await().signal()).as("control: the same from within").hasValue(9);
        }
    }

    @Test
    @DisplayName("K47 a variable of one sandbox or exec is not in another")
    void variablesStayWhereTheyWereGiven() {
        try (Sandbox one =
                        Lab.caisson()
                                .create(Lab.spec(l -> l).withEnv(Map.of("TOKEN", "canary-47")));
                Sandbox two = Lab.sandbox()) {
            String look = "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'";
            assertThat(Lab.sh(one, look).stdout().text()).as("control").contains("canary-47");
            assertThat(Lab.sh(two, look).stdout().text())
                    .contains("PATH=")
                    .doesNotContain("canary-47");
            one.exec(ExecSpec.of("true").withEnv(Map.of("ONCE", "canary-48")));
            assertThat(Lab.sh(one, look).stdout().text()).doesNotContain("canary-48");
        }
    }
}
