package dev.caisson.control;

import java.net.URI;
import java.util.Map;

/**
 * Whose OIDC bearer tokens are taken, and what their holders may do.
 *
 * @param issuer exactly as in the tokens
 * @param audience that the tokens must be for
 * @param keys JWKS of the issuer: {@code https:}, {@code http:} or {@code file:}
 * @param tenantClaim claim (text or list of texts) that chooses the tenant
 * @param tenants names of tenants by values of that claim
 * @param roleClaim claim that chooses the role
 * @param roles roles by values of that claim; of several the first in the order admin, operator,
 *     agent, auditor
 * @param subjectClaim who it is, for people; {@code sub} by default
 */
public record TokenConfig(
        String issuer,
        String audience,
        URI keys,
        String tenantClaim,
        Map<String, String> tenants,
        String roleClaim,
        Map<String, Role> roles,
        String subjectClaim) {

    /** Copies the maps. */
    public TokenConfig {
        tenants = Map.copyOf(tenants);
        roles = Map.copyOf(roles);
    }
}
