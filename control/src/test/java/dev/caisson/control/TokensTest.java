package dev.caisson.control;

import static dev.caisson.control.Fixture.refused;
import static java.time.temporal.ChronoUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.OctetKeyPair;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.TenantPatch;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.EdECPublicKey;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TokensTest {
    private static final String ISSUER = "https://issuer.example";

    /** Made once, because it takes long. */
    private static final RSAKey RSA = rsa("rsa");

    private static final RSAKey NEXT = rsa("next");

    private final Fixture fixture = new Fixture();
    private final Caller admin = fixture.admin();
    private final Caller a = fixture.tenant(admin, "a", null);
    private final RSAKey rsa = RSA;
    private final ECKey ec;
    private final KeyPair ed;
    private final List<JWK> published = new ArrayList<>();
    private final AtomicInteger fetched = new AtomicInteger();
    private final TinyServer issuer;
    private final Tokens tokens;

    TokensTest() throws JOSEException, GeneralSecurityException, IOException {
        ec = new ECKeyGenerator(Curve.P_256).keyID("ec").generate();
        ed = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        published.add(rsa);
        published.add(ec);
        published.add(edKey());
        issuer =
                new TinyServer(request -> {
                    fetched.incrementAndGet();
                    return TinyServer.json(new JWKSet(published).toString(true));
                });
        tokens = tokens(config(issuer.url("/jwks").toString()));
    }

    private static RSAKey rsa(String id) {
        try {
            return new RSAKeyGenerator(2048).keyID(id).generate();
        } catch (JOSEException e) {
            throw new IllegalStateException(e);
        }
    }

    @AfterEach
    void close() throws IOException {
        issuer.close();
    }

    private Tokens tokens(@Nullable TokenConfig config) {
        return new Tokens(fixture.ledger, fixture.directory, config);
    }

    private static TokenConfig config(String keys) {
        return new TokenConfig(
                ISSUER,
                "caisson",
                URI.create(keys),
                "groups",
                Map.of("team-a", "a", "ops", "default"),
                "roles",
                Map.of("dev", Role.AGENT, "boss", Role.ADMIN),
                "email");
    }

    private JWK edKey() {
        EdECPublicKey key = (EdECPublicKey) ed.getPublic();
        byte[] y = key.getPoint().getY().toByteArray();
        byte[] x = new byte[32];
        for (int i = 0; i < Math.min(32, y.length); i++) {
            x[i] = y[y.length - 1 - i];
        }
        if (key.getPoint().isXOdd()) {
            x[31] |= (byte) 0x80;
        }
        return new OctetKeyPair.Builder(Curve.Ed25519, Base64URL.encode(x)).keyID("ed").build();
    }

    private JWTClaimsSet.Builder claims() {
        Instant now = fixture.ledger.now();
        return new JWTClaimsSet.Builder()
                .issuer(ISSUER)
                .audience(List.of("other", "caisson"))
                .subject("u1")
                .claim("email", "u1@example.com")
                .claim("groups", List.of("x", "team-a"))
                .claim("roles", "dev")
                .issueTime(Date.from(now))
                .expirationTime(Date.from(now.plusSeconds(300)));
    }

    private String signed(JWTClaimsSet claims) throws JOSEException {
        return signed(new JWSHeader.Builder(JWSAlgorithm.RS256).keyID("rsa").build(), claims);
    }

    private String signed(JWSHeader header, JWTClaimsSet claims) throws JOSEException {
        SignedJWT jwt = new SignedJWT(header, claims);
        jwt.sign(
                header.getAlgorithm().equals(JWSAlgorithm.ES256)
                        ? new ECDSASigner(ec)
                        : new RSASSASigner(rsa));
        return jwt.serialize();
    }

    private void refuse(String token) {
        refused(ErrorCode.UNAUTHENTICATED, () -> tokens.authenticateToken(token));
    }

    @Test
    void claimsChooseTenantAndRole() throws Exception {
        Caller caller = tokens.authenticateToken(signed(claims().build()));
        assertThat(caller.tenant()).isEqualTo(a.tenant());
        assertThat(caller.role()).isEqualTo(Role.AGENT);
        assertThat(caller.subject()).isEqualTo("u1@example.com");
        assertThat(caller.keyId()).startsWith("oidc-");
        Caller boss =
                tokens.authenticateToken(
                        signed(claims().claim("roles", List.of("dev", "boss")).build()));
        assertThat(boss.role()).isEqualTo(Role.ADMIN);
        assertThat(boss.keyId()).isEqualTo(caller.keyId());
        refuse(signed(claims().claim("groups", "nobody").build()));
        refuse(signed(claims().claim("groups", Map.of("team-a", 1)).build()));
        refuse(signed(claims().claim("roles", null).build()));
        fixture.tenants.patch(admin, "a", new TenantPatch(null, "suspended", null), null);
        String token = signed(claims().build());
        refused(ErrorCode.POLICY_DENIED, () -> tokens.authenticateToken(token));
    }

    @Test
    void whatIsMadeWithATokenEndsAsTheTokenDoes() throws Exception {
        Caller caller = tokens.authenticateToken(signed(claims().build()));
        Instant end = fixture.ledger.now().plusSeconds(300 + 60); // with the skew that is granted
        assertThat(caller.within(Instant.MAX)).isEqualTo(end.truncatedTo(SECONDS));
        assertThat(caller.within(Instant.EPOCH)).isEqualTo(Instant.EPOCH);
        // Keys are made as ever: a person is there longer than a token.
        Caller boss = tokens.authenticateToken(signed(claims().claim("roles", "boss").build()));
        assertThat(fixture.keys.create(boss, Fixture.request(Role.AGENT)).expiresAt()).isNull();
    }

    @Test
    void allThreeAlgorithmsAreTaken() throws Exception {
        tokens.authenticateToken(signed(claims().build()));
        JWSHeader es = new JWSHeader.Builder(JWSAlgorithm.ES256).keyID("ec").build();
        tokens.authenticateToken(signed(es, claims().build()));
        String eddsa = edSigned();
        tokens.authenticateToken(eddsa);
        refuse(eddsa.substring(0, eddsa.length() - 4) + "AAAA");
    }

    private String edSigned() throws GeneralSecurityException {
        Base64URL head =
                new JWSHeader.Builder(JWSAlgorithm.EdDSA).keyID("ed").build().toBase64URL();
        String input = head + "." + claims().build().toPayload().toBase64URL();
        Signature signature = Signature.getInstance("Ed25519");
        signature.initSign(ed.getPrivate());
        signature.update(input.getBytes(StandardCharsets.US_ASCII));
        return input + "." + Base64URL.encode(signature.sign());
    }

    @Test
    void timeIssuerAndAudienceAreChecked() throws Exception {
        Instant now = fixture.ledger.now();
        tokens.authenticateToken(
                signed(claims().expirationTime(Date.from(now.minusSeconds(59))).build()));
        refuse(signed(claims().expirationTime(Date.from(now.minusSeconds(60))).build()));
        refuse(signed(claims().expirationTime(null).build()));
        tokens.authenticateToken(
                signed(claims().notBeforeTime(Date.from(now.plusSeconds(60))).build()));
        refuse(signed(claims().notBeforeTime(Date.from(now.plusSeconds(61))).build()));
        refuse(signed(claims().issueTime(Date.from(now.plusSeconds(61))).build()));
        refuse(signed(claims().issuer("https://other.example").build()));
        refuse(signed(claims().audience("other").build()));
        refuse(signed(claims().subject(null).build()));
    }

    @Test
    void otherAlgorithmsAndHeadersAreRefused() throws Exception {
        refuse(new PlainJWT(claims().build()).serialize());
        SignedJWT mac =
                new SignedJWT(
                        new JWSHeader.Builder(JWSAlgorithm.HS256).keyID("rsa").build(),
                        claims().build());
        mac.sign(new MACSigner(rsa.toRSAPublicKey().getEncoded()));
        refuse(mac.serialize());
        refuse(
                signed(
                        new JWSHeader.Builder(JWSAlgorithm.PS256).keyID("rsa").build(),
                        claims().build()));
        refuse(
                signed(
                        new JWSHeader.Builder(JWSAlgorithm.RS256)
                                .keyID("rsa")
                                .type(new JOSEObjectType("logout+jwt"))
                                .build(),
                        claims().build()));
        String good = signed(claims().build());
        refuse(good.substring(0, good.lastIndexOf('.') + 1));
        refuse("");
        refuse("a.b.c");
        refuse("x".repeat(20_000));
        SignedJWT forged =
                new SignedJWT(
                        new JWSHeader.Builder(JWSAlgorithm.RS256)
                                .keyID("rsa")
                                .jwk(NEXT.toPublicJWK())
                                .build(),
                        claims().build());
        forged.sign(new RSASSASigner(NEXT));
        refuse(forged.serialize());
    }

    @Test
    void keysAreFetchedWhenTheyAreNeededAndKept() throws Exception {
        assertThat(fetched).hasValue(0);
        String token = signed(claims().build());
        for (int i = 0; i < 5; i++) {
            tokens.authenticateToken(token);
        }
        assertThat(fetched).hasValue(1);
        published.remove(rsa);
        published.add(NEXT);
        SignedJWT rotated =
                new SignedJWT(
                        new JWSHeader.Builder(JWSAlgorithm.RS256).keyID("next").build(),
                        claims().build());
        rotated.sign(new RSASSASigner(NEXT));
        refuse(rotated.serialize());
        assertThat(fetched).hasValue(1);
        fixture.clock.advance(Duration.ofSeconds(30));
        tokens.authenticateToken(rotated.serialize());
        assertThat(fetched).hasValue(2);
        refuse(token);
    }

    @Test
    void oldKeysAreGoodForADayWithoutTheIssuer() throws Exception {
        tokens.authenticateToken(signed(claims().build()));
        issuer.close();
        fixture.clock.advance(Duration.ofHours(23));
        tokens.authenticateToken(signed(claims().build()));
        fixture.clock.advance(Duration.ofHours(1));
        refuse(signed(claims().build()));
    }

    @Test
    void keysMayComeFromAFileAndTokensMayBeOff(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("jwks.json");
        Files.writeString(file, new JWKSet(published).toString(true));
        String token = signed(claims().build());
        tokens(config(file.toUri().toString())).authenticateToken(token);
        refused(ErrorCode.UNAUTHENTICATED, () -> tokens(null).authenticateToken(token));
    }
}
