package dev.caisson.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.caisson.api.CaissonException;
import dev.caisson.v1.EgressJson;
import dev.caisson.v1.EgressRule;
import dev.caisson.v1.PackageRule;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Addresses of registries that policies lack. */
class RegistryFillTest {
    @TempDir Path folder;

    private static EgressJson layer(Map<String, PackageRule> packages) {
        return new EgressJson(null, null, List.of(), List.of(), null, List.of(), packages);
    }

    private static PackageRule rule(@Nullable String registry) {
        return new PackageRule(registry, List.of("a"), List.of("b"), 5L, Map.of());
    }

    @Test
    void fillsWhatNoDocumentNamesAndAsksForNothingElse() {
        List<String> asked = new ArrayList<>();
        List<EgressJson> filled =
                RegistryFill.fill(
                        List.of(
                                layer(Map.of("pypi", rule(null), "npm", rule(null))),
                                layer(
                                        Map.of(
                                                "pypi",
                                                rule("https://own.example.org/simple"),
                                                "npm",
                                                rule(null)))),
                        ecosystem -> {
                            asked.add(ecosystem);
                            return Optional.of("https://host.example.org/" + ecosystem);
                        });
        assertThat(asked).containsExactly("npm");
        assertThat(filled.get(0).packages()).containsEntry("pypi", rule(null));
        for (EgressJson one : filled) {
            assertThat(one.packages().get("npm")).isEqualTo(rule("https://host.example.org/npm"));
        }
        assertThat(EgressPolicy.of(filled).registryAddresses()).hasSize(2);
    }

    @Test
    void leavesAloneWhatNoToolReports() {
        List<EgressJson> layers = List.of(layer(Map.of("npm", rule(null))));
        assertThat(RegistryFill.fill(layers, ecosystem -> Optional.empty())).isEqualTo(layers);
    }

    @Test
    void aRegistryInAPrivateNetworkNeedsItsRangeAndNoRuleOfItsOwn() {
        Destination to = new Destination.Named(HostName.of("own.example.org"), 443);
        Destination other = new Destination.Named(HostName.of("other.example.org"), 443);
        IpAddress address = IpAddress.parse("10.1.2.3");
        EgressJson packages = layer(Map.of("npm", rule("https://own.example.org")));
        assertThat(EgressPolicy.of(List.of(packages)).address(to, address).passes()).isFalse();
        EgressPolicy policy =
                EgressPolicy.of(
                        List.of(
                                new EgressJson(
                                        null,
                                        null,
                                        List.of(
                                                new EgressRule(
                                                        null,
                                                        "10.1.2.3/32",
                                                        List.of(443),
                                                        List.of(),
                                                        List.of(),
                                                        null,
                                                        null,
                                                        null)),
                                        List.of(),
                                        null,
                                        List.of(),
                                        packages.packages())));
        assertThat(policy.address(to, address).passes()).isTrue();
        assertThat(policy.address(other, address).passes()).isFalse();
        assertThat(policy.address(other, address, true).passes()).isTrue();
    }

    // ---- what tools of the host report

    private HostRegistries host() {
        return new HostRegistries(
                Map.of(), Map.of("PATH", folder + ":/usr/bin:/bin", "HOME", "" + folder), 2);
    }

    private void tool(String name, String script) throws Exception {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void takesWhatToolsPrint() throws Exception {
        tool("pip", "[ \"$3\" = global.index-url ] && echo https://pip.example.org/simple/");
        tool("npm", "echo https://npm.example.org/");
        tool("apt-get", "echo http://apt.example.org/debian; echo http://other.example.org/x");
        HostRegistries host = host();
        assertThat(host.apply("pypi")).hasValue("https://pip.example.org/simple/");
        assertThat(host.apply("npm")).hasValue("https://npm.example.org/");
        assertThat(host.apply("debian")).hasValue("http://apt.example.org");
        assertThat(host.apply("cargo")).isEmpty();
    }

    @Test
    void asksOnceAndTakesPipsOwnDefault() throws Exception {
        tool("pip", "exit 1");
        tool("pip3", "exit 1");
        tool("python3", "echo x >> " + folder + "/asked; echo https://default.example.org/simple");
        HostRegistries host = host();
        assertThat(host.apply("pypi")).hasValue("https://default.example.org/simple");
        assertThat(host.apply("pypi")).isPresent();
        assertThat(Files.readAllLines(folder.resolve("asked"))).hasSize(1);
    }

    @Test
    void readsMavensOwnFiles() throws Exception {
        tool("home/bin/mvn", "exit 9");
        Files.createSymbolicLink(folder.resolve("mvn"), folder.resolve("home/bin/mvn"));
        Path jar =
                Files.createDirectories(folder.resolve("home/lib"))
                        .resolve("maven-model-builder-3.jar");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(jar))) {
            zip.putNextEntry(new ZipEntry("org/apache/maven/model/pom-4.0.0.xml"));
            zip.write(
                    ("<!-- <repository><id>central</id><url>https://no.example.org</url></repository>"
                         + " --><repository><id>x</id><url>https://x.example.org</url></repository><repository>\n"
                         + "<id>central</id>\n"
                         + "<url>https://central.example.org/m2</url></repository>")
                            .getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
        assertThat(host().apply("maven")).hasValue("https://central.example.org/m2");
        Files.createDirectories(folder.resolve(".m2"));
        Files.writeString(
                folder.resolve(".m2/settings.xml"),
                "<mirror><mirrorOf>other</mirrorOf><url>https://other.example.org</url></mirror>"
                    + "<mirror><url>https://mirror.example.org/m2</url><mirrorOf>central</mirrorOf></mirror>");
        assertThat(host().apply("maven")).hasValue("https://mirror.example.org/m2");
    }

    @Test
    void takesNothingFromToolsThatHangFailOrPrintNoAddress() throws Exception {
        tool("npm", "sleep 60");
        tool("pip", "echo https://user:password@pip.example.org/simple");
        tool("apt-get", "echo https://apt.example.org; exit 3");
        HostRegistries host = host();
        assertThat(host.apply("npm")).isEmpty();
        assertThat(host.apply("pypi")).isEmpty();
        assertThat(host.apply("debian")).isEmpty();
    }

    @Test
    void whatAnOperatorNamesIsNotAskedFor() {
        assertThat(
                        new HostRegistries(Map.of("npm", "https://named.example.org"), Map.of(), 1)
                                .apply("npm"))
                .hasValue("https://named.example.org");
        assertThatThrownBy(() -> new HostRegistries(Map.of("npm", "named"), Map.of(), 1))
                .isInstanceOf(CaissonException.class);
    }
}
