package dev.caisson.serve;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * Makes certificates with the JDK's keytool, which each runtime has. Its key stores lie in a folder
 * that only the owner may enter, under a password of this moment, and are gone afterwards.
 */
final class CertificateMaker {
    static final String AUTHORITY = "ca.crt";
    static final String CERTIFICATE = "server.crt";
    static final String KEY = "server.key";
    private static final String AUTHORITY_KEY = "ca.key";
    private static final String ISSUER = "ca";
    private static final String SERVER = "server";
    private static final String PASSWORD_VARIABLE = "CAISSON_KEYTOOL_PASSWORD";
    private static final String AUTHORITY_DAYS = "3650";
    private static final String SERVER_DAYS = "397";

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Path folder;
    private final String password = HexFormat.of().formatHex(random());

    CertificateMaker(Path folder) {
        this.folder = folder;
    }

    private static byte[] random() {
        byte[] bytes = new byte[16];
        RANDOM.nextBytes(bytes);
        return bytes;
    }

    /** Makes the server's certificate, and first the authority where there is none. */
    void make(List<String> alternatives) throws IOException {
        Path work = Files.createTempDirectory(folder, "work");
        try {
            if (Files.exists(folder.resolve(AUTHORITY_KEY))) {
                load(work);
            } else {
                authority(work);
            }
            server(work, alternatives);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        } finally {
            for (String name : List.of(ISSUER, SERVER, "request", "answer")) {
                Files.deleteIfExists(work.resolve(name));
            }
            Files.delete(work);
        }
    }

    private void authority(Path work) throws IOException, GeneralSecurityException {
        keytool(
                work,
                pair(
                        ISSUER,
                        "CN=Caisson local CA",
                        AUTHORITY_DAYS,
                        "-ext",
                        "bc:critical=ca:true,pathlen:0",
                        "-ext",
                        "ku:critical=keyCertSign,cRLSign"));
        KeyStore made = store(work.resolve(ISSUER));
        write(AUTHORITY_KEY, pem("PRIVATE KEY", key(made, ISSUER).getEncoded()));
        write(AUTHORITY, pem("CERTIFICATE", made.getCertificate(ISSUER).getEncoded()));
    }

    private static List<String> pair(String alias, String name, String days, String... more) {
        List<String> arguments =
                new ArrayList<>(
                        List.of(
                                "-genkeypair",
                                "-alias",
                                alias,
                                "-keyalg",
                                "EC",
                                "-groupname",
                                "secp256r1",
                                "-sigalg",
                                "SHA256withECDSA",
                                "-dname",
                                name,
                                "-validity",
                                days,
                                "-keystore",
                                alias));
        arguments.addAll(Arrays.asList(more));
        return arguments;
    }

    /** Puts the authority of an earlier time into a key store again. */
    private void load(Path work) throws IOException, GeneralSecurityException {
        KeyFactory keys = KeyFactory.getInstance("EC");
        PrivateKey key =
                keys.generatePrivate(new PKCS8EncodedKeySpec(read(folder.resolve(AUTHORITY_KEY))));
        Certificate certificate;
        try (InputStream input = Files.newInputStream(folder.resolve(AUTHORITY))) {
            certificate = CertificateFactory.getInstance("X.509").generateCertificate(input);
        }
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry(ISSUER, key, password.toCharArray(), new Certificate[] {certificate});
        try (OutputStream output = Files.newOutputStream(work.resolve(ISSUER))) {
            store.store(output, password.toCharArray());
        }
    }

    private static byte[] read(Path pem) throws IOException {
        String body =
                Files.readString(pem, StandardCharsets.US_ASCII).replaceAll("-----[^-]+-----", "");
        return Base64.getMimeDecoder().decode(body);
    }

    private void server(Path work, List<String> alternatives)
            throws IOException, GeneralSecurityException {
        keytool(work, pair(SERVER, "CN=Caisson server", SERVER_DAYS));
        keytool(
                work,
                List.of("-certreq", "-alias", SERVER, "-keystore", SERVER, "-file", "request"));
        keytool(
                work,
                List.of(
                        "-gencert",
                        "-alias",
                        ISSUER,
                        "-keystore",
                        ISSUER,
                        "-rfc",
                        "-sigalg",
                        "SHA256withECDSA",
                        "-validity",
                        SERVER_DAYS,
                        "-ext",
                        "san=" + String.join(",", alternatives),
                        "-ext",
                        "ku:critical=digitalSignature",
                        "-ext",
                        "eku=serverAuth",
                        "-infile",
                        "request",
                        "-outfile",
                        "answer"));
        KeyStore made = store(work.resolve(SERVER));
        write(KEY, pem("PRIVATE KEY", key(made, SERVER).getEncoded()));
        String issued = Files.readString(work.resolve("answer"), StandardCharsets.US_ASCII);
        write(CERTIFICATE, issued.replace("\r", ""));
    }

    private KeyStore store(Path file) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream input = Files.newInputStream(file)) {
            store.load(input, password.toCharArray());
        }
        return store;
    }

    private Key key(KeyStore store, String alias) throws GeneralSecurityException {
        return Objects.requireNonNull(store.getKey(alias, password.toCharArray()));
    }

    private static String pem(String kind, byte[] der) {
        String body =
                Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                        .encodeToString(der);
        return "-----BEGIN " + kind + "-----\n" + body + "\n-----END " + kind + "-----\n";
    }

    private void write(String name, String text) throws IOException {
        DataFolder.write(folder.resolve(name), text.getBytes(StandardCharsets.US_ASCII));
    }

    private void keytool(Path work, List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"));
        command.addAll(arguments);
        command.addAll(List.of("-storetype", "PKCS12", "-storepass:env", PASSWORD_VARIABLE));
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(work.toFile()).redirectErrorStream(true);
        builder.environment().put(PASSWORD_VARIABLE, password);
        Process process = builder.start();
        process.getOutputStream().close();
        String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (!process.waitFor(30, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException("keytool: " + told.strip());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            process.destroyForcibly();
        }
    }
}
