package dev.caisson.control;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.crypto.RSASSAVerifier;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.OctetKeyPair;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.spec.EdECPoint;
import java.security.spec.EdECPublicKeySpec;
import java.security.spec.NamedParameterSpec;
import java.text.ParseException;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * OIDC bearer tokens, where they are configured: signed with RS256, ES256 or EdDSA by the issuer's
 * published keys, for our audience, in their time. Claims choose tenant and role by what is
 * configured; a token that chooses none is no credential. Thread-safe.
 */
final class Tokens {
    /** Of what stands for a key's id. */
    static final String PREFIX = "oidc-";

    private static final Duration SKEW = Duration.ofSeconds(60);
    private static final int MAX_TOKEN = 16 << 10;
    private static final int MIN_RSA_BITS = 2048;
    private static final Set<String> TYPES = Set.of("jwt", "at+jwt", "application/at+jwt");

    private final Ledger ledger;
    private final Directory directory;
    private final @Nullable TokenConfig config;
    private final @Nullable KeySet keys;

    /**
     * @param config null: tokens are not taken
     */
    Tokens(Ledger ledger, Directory directory, @Nullable TokenConfig config) {
        this.ledger = ledger;
        this.directory = directory;
        this.config = config;
        this.keys = config == null ? null : new KeySet(config.keys(), ledger::now);
    }

    /**
     * Who presents this token.
     *
     * @throws CaissonException {@link ErrorCode#UNAUTHENTICATED}, the same for every cause; {@link
     *     ErrorCode#POLICY_DENIED} for a valid token of a suspended tenant
     */
    Caller authenticateToken(String token) {
        if (config == null || keys == null || token.length() > MAX_TOKEN) {
            throw Credentials.refused();
        }
        try {
            SignedJWT jwt = SignedJWT.parse(token);
            if (!headerFits(jwt.getHeader()) || !signed(jwt, keys)) {
                throw Credentials.refused();
            }
            JWTClaimsSet claims = jwt.getJWTClaimsSet();
            if (!claimsFit(claims, config)) {
                throw Credentials.refused();
            }
            return caller(claims, config);
        } catch (ParseException | IllegalArgumentException | IllegalStateException e) {
            throw Credentials.refused();
        }
    }

    /** Nothing critical that we do not know, and a token that is meant to be one. */
    private static boolean headerFits(JWSHeader header) {
        boolean type =
                header.getType() == null
                        || TYPES.contains(header.getType().getType().toLowerCase(Locale.ROOT));
        Set<String> critical = header.getCriticalParams();
        return type
                && (critical == null || critical.isEmpty())
                && header.isBase64URLEncodePayload();
    }

    private static boolean signed(SignedJWT jwt, KeySet keys) {
        for (JWK key : keys.find(jwt.getHeader().getKeyID())) {
            boolean forSigning =
                    key.getKeyUse() == null || KeyUse.SIGNATURE.equals(key.getKeyUse());
            boolean sameAlgorithm =
                    key.getAlgorithm() == null
                            || key.getAlgorithm()
                                    .getName()
                                    .equals(jwt.getHeader().getAlgorithm().getName());
            if (forSigning && sameAlgorithm && signed(jwt, key)) {
                return true;
            }
        }
        return false;
    }

    /** The type of the key chooses the one algorithm that it may be used with. */
    private static boolean signed(SignedJWT jwt, JWK key) {
        JWSAlgorithm algorithm = jwt.getHeader().getAlgorithm();
        try {
            return switch (key) {
                case RSAKey rsa ->
                        algorithm.equals(JWSAlgorithm.RS256)
                                && rsa.size() >= MIN_RSA_BITS
                                && jwt.verify(new RSASSAVerifier(rsa));
                case ECKey ec ->
                        algorithm.equals(JWSAlgorithm.ES256)
                                && ec.getCurve().equals(Curve.P_256)
                                && jwt.verify(new ECDSAVerifier(ec));
                case OctetKeyPair okp ->
                        (algorithm.equals(JWSAlgorithm.EdDSA)
                                        || algorithm.equals(JWSAlgorithm.Ed25519))
                                && okp.getCurve().equals(Curve.Ed25519)
                                && signedEd25519(jwt, okp.getDecodedX());
                default -> false;
            };
        } catch (JOSEException | GeneralSecurityException e) {
            return false;
        }
    }

    /** With the JDK: the library's own needs another library. RFC 8032, 5.1.2 for the point. */
    private static boolean signedEd25519(SignedJWT jwt, byte[] x) throws GeneralSecurityException {
        if (x.length != 32) {
            return false;
        }
        byte[] bigEndian = new byte[x.length];
        for (int i = 0; i < x.length; i++) {
            bigEndian[i] = x[x.length - 1 - i];
        }
        boolean odd = (bigEndian[0] & 0x80) != 0;
        bigEndian[0] &= 0x7f;
        EdECPoint point = new EdECPoint(odd, new BigInteger(1, bigEndian));
        Signature signature = Signature.getInstance("Ed25519");
        signature.initVerify(
                KeyFactory.getInstance("Ed25519")
                        .generatePublic(new EdECPublicKeySpec(NamedParameterSpec.ED25519, point)));
        signature.update(jwt.getSigningInput());
        return signature.verify(jwt.getSignature().decode());
    }

    private boolean claimsFit(JWTClaimsSet claims, TokenConfig wanted) {
        Instant now = ledger.now();
        Date expires = claims.getExpirationTime();
        return wanted.issuer().equals(claims.getIssuer())
                && claims.getAudience().contains(wanted.audience())
                && expires != null
                && now.isBefore(expires.toInstant().plus(SKEW))
                && !future(claims.getNotBeforeTime(), now)
                && !future(claims.getIssueTime(), now)
                && claims.getSubject() != null
                && !claims.getSubject().isEmpty();
    }

    private static boolean future(@Nullable Date time, Instant now) {
        return time != null && time.toInstant().isAfter(now.plus(SKEW));
    }

    private Caller caller(JWTClaimsSet claims, TokenConfig wanted) {
        String name =
                values(claims, wanted.tenantClaim()).stream()
                        .filter(wanted.tenants()::containsKey)
                        .map(wanted.tenants()::get)
                        .findFirst()
                        .orElseThrow(Credentials::refused);
        Role role =
                values(claims, wanted.roleClaim()).stream()
                        .flatMap(value -> Optional.ofNullable(wanted.roles().get(value)).stream())
                        .min(Role::compareTo)
                        .orElseThrow(Credentials::refused);
        Row tenant =
                ledger.read(tx -> tx.named(Kind.TENANT, Directory.ALL, name))
                        .orElseThrow(Credentials::refused);
        directory.requireActive(tenant.id());
        // One name for one person, whichever token was presented.
        String id = Credentials.sha256(wanted.issuer() + "\n" + claims.getSubject());
        return new Caller(
                tenant.id(),
                PREFIX + id.substring(0, 20),
                subject(claims, wanted),
                role,
                Set.of(),
                null,
                false,
                Map.of(),
                null,
                new Proof("", claims.getExpirationTime().toInstant().plus(SKEW)));
    }

    private static String subject(JWTClaimsSet claims, TokenConfig wanted) {
        List<String> values = values(claims, wanted.subjectClaim());
        return Asking.shown(values.isEmpty() ? claims.getSubject() : values.getFirst());
    }

    private static List<String> values(JWTClaimsSet claims, String claim) {
        Object value = claims.getClaim(claim);
        return switch (value) {
            case String text -> List.of(text);
            case List<?> list ->
                    list.stream().filter(String.class::isInstance).map(String.class::cast).toList();
            case null, default -> List.of();
        };
    }
}
