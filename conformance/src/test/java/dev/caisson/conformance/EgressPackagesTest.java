package dev.caisson.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.caisson.api.ByteSize;
import dev.caisson.api.Caisson;
import dev.caisson.api.Event;
import dev.caisson.api.EventType;
import dev.caisson.api.ExecResult;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.Sandbox;
import dev.caisson.policy.AddressKind;
import dev.caisson.policy.HostRegistries;
import dev.caisson.policy.IpAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The host's own package managers inside, against the registries that this host uses: each is
 * skipped where its registry cannot be reached. What counts is what was installed, and the events.
 */
@Timeout(400)
@SuppressWarnings("NullAway.Init") // set before all tests
class EgressPackagesTest {
    private static final List<Event> EVENTS = new CopyOnWriteArrayList<>();
    private static final HostRegistries REGISTRIES = new HostRegistries(Map.of());
    private static final Duration LONG = Duration.ofMinutes(3);

    private static Caisson caisson;

    @BeforeAll
    static void start() {
        caisson = WayOut.toTheWorld(EVENTS::add);
    }

    @AfterAll
    static void end() {
        if (caisson != null) {
            caisson.close();
        }
    }

    /** A sandbox with rules for one ecosystem and none for a host. */
    private static Sandbox sandbox(String ecosystem, String rule) {
        return caisson.create(
                Lab.spec(limits ->
                                limits.withTimeout(LONG)
                                        .withDisk(ByteSize.ofGib(3))
                                        .withMemory(ByteSize.ofGib(1))
                                        .withPids(512)
                                        .withInodes(200_000))
                        .withEgress(
                                "{\"packages\": {\"%s\": %s}, \"allow\": [%s]}"
                                        .formatted(ecosystem, rule, range(registry(ecosystem)))));
    }

    /** The address of a registry; skips the test where it cannot be reached. */
    private static URI registry(String ecosystem) {
        Optional<String> address = REGISTRIES.apply(ecosystem);
        assumeTrue(address.isPresent(), "no program of this host names a registry: " + ecosystem);
        URI uri = URI.create(address.orElseThrow());
        int port = uri.getPort() > 0 ? uri.getPort() : uri.getScheme().equals("http") ? 80 : 443;
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(uri.getHost(), port), 5_000);
        } catch (IOException e) {
            assumeTrue(false, "the registry of " + ecosystem + " cannot be reached: " + e);
        }
        return uri;
    }

    /** A registry within a private network needs a rule for its address beside it. */
    private static String range(URI registry) {
        try {
            IpAddress address =
                    IpAddress.of(InetAddress.getByName(registry.getHost()).getAddress());
            return address.kind() == AddressKind.PUBLIC
                    ? ""
                    : "{\"cidr\": \"%s\", \"ports\": [80, 443]}".formatted(address);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static ExecResult sh(Sandbox sandbox, String line) {
        return sandbox.exec(ExecSpec.shell(line).withTimeout(LONG));
    }

    private static List<Event> installed(Sandbox sandbox) {
        return EVENTS.stream()
                .filter(event -> event.type() == EventType.PACKAGE_INSTALLED)
                .filter(event -> event.sandbox().equals(Optional.of(sandbox.id())))
                .toList();
    }

    /** The names that events say were installed. */
    private static Set<String> names(Sandbox sandbox) {
        Set<String> names = new TreeSet<>();
        installed(sandbox).forEach(event -> names.add(String.valueOf(event.data().get("name"))));
        return names;
    }

    @Test
    @DisplayName("N48 pip installs what is allowed, and its hash is told")
    void pipInstallsWhatIsAllowed() throws Exception {
        assumeTrue(
                Lab.outside("/usr/bin/python3", "-m", "pip", "--version").status() == 0,
                "the host's /usr/bin/python3 has no pip");
        String pip =
                "/usr/bin/python3 -m pip --disable-pip-version-check --no-cache-dir --retries 0 ";
        try (Sandbox sandbox = sandbox("pypi", "{\"allow\": [\"six\", \"python-dateutil\"]}")) {
            ExecResult good = sh(sandbox, pip + "install -q --target /work/lib python-dateutil");
            assertThat(good.succeeded()).as(WayOut.said(good)).isTrue();
            assertThat(
                            sh(
                                            sandbox,
                                            "PYTHONPATH=/work/lib /usr/bin/python3 -c 'import"
                                                    + " dateutil'")
                                    .succeeded())
                    .isTrue();
            await().untilAsserted(
                            () -> assertThat(names(sandbox)).contains("python-dateutil", "six"));

            ExecResult file =
                    sh(
                            sandbox,
                            pip
                                    + "download -q --no-deps --only-binary :all: -d /work/d six"
                                    + " && cd /work/d && sha256sum *.whl");
            assertThat(file.succeeded()).as(WayOut.said(file)).isTrue();
            String[] sum = file.stdout().text().strip().split(" +", 2);
            await().untilAsserted(() ->
                    assertThat(installed(sandbox))
                            .anySatisfy(event ->
                                    assertThat(event.data())
                                            .containsEntry("ecosystem", "pypi")
                                            .containsEntry("file", sum[1])
                                            .containsEntry("sha256", sum[0])));

            for (String no : List.of("idna", "sixx", "six --index-url https://elsewhere.test/")) {
                ExecResult denied = sh(sandbox, pip + "install --target /work/no " + no);
                assertThat(denied.succeeded()).as(no).isFalse();
                assertThat(WayOut.denied(denied))
                        .contains(no.contains("--") ? "elsewhere.test" : "pypi:" + no);
            }
            assertThat(names(sandbox)).containsExactly("python-dateutil", "six");
        }
    }

    @Test
    @DisplayName("N48 N30 npm installs a tree of many packages, without the one that is denied")
    void npmInstallsATree() {
        Lab.needs("npm");
        String npm = "cd /work && HOME=/work npm --no-update-notifier --no-fund ";
        String manifest =
                "{\"name\": \"a\", \"version\": \"1.0.0\", \"dependencies\": {\"express\":"
                        + " \"4.x\"}}";
        try (Sandbox sandbox = sandbox("npm", "{\"deny\": [\"left-pad\"]}")) {
            sandbox.files().write("/work/package.json", manifest);
            ExecResult lock = sh(sandbox, npm + "install --package-lock-only");
            assertThat(lock.succeeded()).as(WayOut.said(lock)).isTrue();
            ExecResult good = sh(sandbox, npm + "ci && ls node_modules | wc -l");
            assertThat(good.succeeded()).as(WayOut.said(good)).isTrue();
            String last = good.stdout().text().strip().lines().reduce("", (a, b) -> b);
            assertThat(Integer.parseInt(last)).isGreaterThan(40);
            assertThat(sh(sandbox, "cd /work && node -e 'require(\"express\")()'").succeeded())
                    .isTrue();
            await().untilAsserted(() ->
                    assertThat(names(sandbox))
                            .hasSizeGreaterThan(40)
                            .contains("express", "accepts"));

            // With a minimum age, and a lock file that this sandbox did not make.
            byte[] locked = sandbox.files().read("/work/package-lock.json");
            try (Sandbox aged = sandbox("npm", "{\"minAgeMillis\": 86400000}")) {
                aged.files().write("/work/package.json", manifest);
                aged.files().write("/work/package-lock.json", locked);
                ExecResult ci = sh(aged, npm + "ci");
                assertThat(ci.succeeded()).as(WayOut.said(ci)).isTrue();
            }

            ExecResult denied = sh(sandbox, npm + "install left-pad");
            assertThat(denied.succeeded()).isFalse();
            assertThat(WayOut.denied(denied)).contains("npm:left-pad");

            String token = "//" + registry("npm").getHost() + "/:_authToken=none\n";
            sandbox.files().write("/work/.npmrc", token);
            sandbox.files()
                    .write(
                            "/work/own/package.json",
                            "{\"name\": \"caisson-conformance-no-such\", \"version\": \"1.0.0\"}");
            ExecResult publish = sh(sandbox, npm + "publish ./own");
            assertThat(publish.succeeded()).isFalse();
            assertThat(WayOut.denied(publish)).as(WayOut.said(publish)).contains("package publish");
        }
    }

    @Test
    @DisplayName("N48 Maven builds with what is allowed")
    void mavenBuildsWithWhatIsAllowed() throws Exception {
        Path maven = Path.of("/usr/share/maven");
        assumeTrue(
                Files.exists(maven.resolve("bin/m2.conf")) && !ClientPrograms.javas().isEmpty(),
                "no Maven in /usr/share/maven");
        // What its package keeps in /etc, which sandboxes do not have.
        String conf = Files.readString(maven.resolve("bin/m2.conf"));
        String mvn =
                "cd /work && "
                        + ClientPrograms.javas().getFirst()
                        + " -Duser.home=/work -Dmaven.home=/usr/share/maven"
                        + " -Dmaven.multiModuleProjectDirectory=/work"
                        + " -Dclassworlds.conf=/work/m2.conf"
                        + " -cp \"$(ls /usr/share/maven/boot/plexus-classworlds*.jar | head -1)\""
                        + " org.codehaus.plexus.classworlds.launcher.Launcher -B -q ";
        try (Sandbox sandbox =
                sandbox("maven", "{\"deny\": [\"org.apache.commons:commons-text\"]}")) {
            sandbox.files().write("/work/m2.conf", conf);
            sandbox.files().write("/work/pom.xml", pom("commons-lang3", "3.17.0"));
            sandbox.files()
                    .write(
                            "/work/src/main/resources/a.txt",
                            "a resource, so that there is something to do");
            ExecResult good = sh(sandbox, mvn + "process-resources dependency:copy-dependencies");
            assertThat(good.succeeded()).as(WayOut.said(good)).isTrue();
            assertThat(sandbox.files().stat("/work/target/dependency/commons-lang3-3.17.0.jar"))
                    .isPresent();
            await().untilAsserted(() ->
                    assertThat(names(sandbox)).contains("org.apache.commons:commons-lang3"));

            sandbox.files().write("/work/pom.xml", pom("commons-text", "1.12.0"));
            ExecResult denied = sh(sandbox, mvn + "dependency:copy-dependencies");
            assertThat(denied.succeeded()).isFalse();
            assertThat(WayOut.denied(denied)).contains("maven:org.apache.commons:commons-text");
        }
    }

    private static String pom(String artifact, String version) {
        return """
        <project><modelVersion>4.0.0</modelVersion>
          <groupId>a</groupId><artifactId>a</artifactId><version>1</version>
          <properties><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
          <dependencies><dependency>
            <groupId>org.apache.commons</groupId><artifactId>%s</artifactId><version>%s</version>
          </dependency></dependencies>
        </project>
        """
                .formatted(artifact, version);
    }

    @Test
    @DisplayName("N48 apt fetches the package that is allowed")
    void aptFetchesThePackageThatIsAllowed() throws Exception {
        Lab.needs("apt-get");
        Path keys = Path.of("/usr/share/keyrings/debian-archive-keyring.gpg");
        assumeTrue(Files.exists(keys), "needs Debian's keys in " + keys);
        Lab.Outside site = Lab.outside("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)");
        String[] first = site.text().lines().findFirst().orElse("").split(" ", 2);
        assumeTrue(first.length == 2, "apt has no source");
        String source = "deb [signed-by=" + keys + "] " + first[0] + " " + first[1] + " main\n";
        String apt =
                "cd /work && mkdir -p state/lists/partial cache/archives/partial && touch"
                    + " state/status && apt-get -q -o Dir::Etc=/work/etc -o"
                    + " Dir::Etc::SourceList=/work/sources.list -o Dir::State=/work/state -o"
                    + " Dir::State::status=/work/state/status -o Dir::Cache=/work/cache -o"
                    + " Acquire::Languages=none -o APT::Sandbox::User=sandbox -o Acquire::Retries=0"
                    + " ";
        try (Sandbox sandbox = sandbox("debian", "{\"allow\": [\"hello\"]}")) {
            sandbox.files().write("/work/sources.list", source);
            ExecResult update = sh(sandbox, apt + "update");
            assertThat(update.succeeded()).as(WayOut.said(update)).isTrue();
            ExecResult good = sh(sandbox, apt + "download hello && ls hello_*.deb");
            assertThat(good.succeeded()).as(WayOut.said(good)).isTrue();
            await().untilAsserted(() -> assertThat(names(sandbox)).contains("hello"));

            ExecResult denied = sh(sandbox, apt + "download sl");
            assertThat(denied.succeeded()).isFalse();
            assertThat(WayOut.denied(denied)).contains("debian:sl");
            assertThat(names(sandbox)).containsExactly("hello");
        }
    }
}
