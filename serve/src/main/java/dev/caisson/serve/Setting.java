package dev.caisson.serve;

import java.util.Locale;
import java.util.Optional;

/** Everything that can be configured; the name in the file, the default and what it is for. */
public enum Setting {
    LISTEN("listen", "127.0.0.1:3900", "address and port of the API"),
    HOSTS(
            "hosts",
            "",
            "names besides those of loopback under which the API is reached, comma-separated"),
    ORIGINS("origins", "", "web origins that browsers may come from, comma-separated"),
    DATA("data", "/var/lib/caisson/server", "folder of everything that is kept"),
    NODE("node", "main", "name of this server among those of one store"),
    ADDRESS(
            "address",
            "",
            "URL of this server for the others, told with 421; default: http://LISTEN"),
    STORE_URL(
            "store.url",
            "",
            "sqlite:PATH or postgresql://USER@HOST/DATABASE, without a password; default: SQLite in"
                    + " the data folder"),
    STORE_PASSWORD_FILE("store.passwordFile", "", "file that holds the database password"),
    LAUNCHER_SOCKET("launcher.socket", "/run/caisson/launcher.sock", "socket of the launcher"),
    TLS_CERTIFICATE("tls.certificate", "", "PEM file of the certificate chain"),
    TLS_KEY("tls.key", "", "PEM file of its private key"),
    PORTS_LISTEN(
            "ports.listen",
            "",
            "address and port on which ports of sandboxes are served; empty: they are not"),
    PORTS_DOMAIN("ports.domain", "localhost", "domain of those: PORT-ID.DOMAIN"),
    METRICS_SOCKET("metrics.socket", "", "Unix socket on which /metrics needs no key"),
    SANDBOX_LEASE("sandboxes.lease", "2m", "how long sandboxes outlive a server that is gone"),
    SANDBOX_TIMEOUT("sandboxes.timeout", "30m", "life of a sandbox that asked for none"),
    SANDBOX_ENDED_KEPT(
            "sandboxes.endedKept", "24h", "how long ended sandboxes and execs are listed"),
    EXECS_MAX("execs.max", "4096", "commands at once on this server"),
    OUTPUT_KEPT("output.kept", "4m", "output kept of each exec beyond what its result captures"),
    OUTPUT_RATE(
            "output.rate",
            "16m",
            "bytes a second that the commands of a tenant may write, after a burst of four seconds'"
                    + " worth; 0: any number"),
    OUTPUT_KEPT_FOR("output.keptFor", "1h", "how long output is kept after the end of its sandbox"),
    RUNS_KEPT(
            "runs.kept",
            "1h",
            "how long results and files of runs are kept unless asked otherwise"),
    EVENTS_KEPT("events.kept", "30d", "how long events are kept"),
    WEBHOOKS_PRIVATE(
            "webhooks.private",
            "false",
            "whether webhooks may reach private and loopback addresses"),
    WEBHOOKS_BACKOFF(
            "webhooks.backoff",
            "5s,30s,2m,10m,1h,6h,12h",
            "waits between the attempts to deliver an event, comma-separated; then it is a dead"
                    + " letter"),
    SECRETS_FOLDERS(
            "secrets.folders", "", "folders below which secrets may be read, comma-separated"),
    SECRETS_ENV(
            "secrets.env",
            "",
            "variables of the server's environment that may be secrets, comma-separated"),
    SECRETS_COMMANDS(
            "secrets.commands",
            "",
            "commands that print a secret: NAME=/PATH/OF/PROGRAM ARGUMENTS, comma-separated,"
                    + " arguments parted by blanks, no shell"),
    PACKAGES_PYPI("packages.pypi", "", "address of the Python registry; default: what pip reports"),
    PACKAGES_NPM("packages.npm", "", "address of the npm registry; default: what npm reports"),
    PACKAGES_MAVEN(
            "packages.maven",
            "",
            "address of the Maven repository; default: Maven's own, or its mirror in settings.xml"),
    PACKAGES_DEBIAN(
            "packages.debian", "", "address of the Debian archive; default: apt's first one"),
    MCP_APPROVER_KEY_FILE(
            "mcp.approverKeyFile",
            "",
            "file with a key by which users of MCP sessions of its tenant decide approvals"),
    OIDC_ISSUER("oidc.issuer", "", "issuer of bearer tokens; empty: none are taken"),
    OIDC_AUDIENCE("oidc.audience", "", "audience that they must name"),
    OIDC_KEYS("oidc.keys", "", "URL or file of the issuer's JWKS"),
    OIDC_TENANT_CLAIM("oidc.tenantClaim", "tenant", "claim that names the tenant"),
    OIDC_ROLE_CLAIM("oidc.roleClaim", "role", "claim that names the role"),
    OIDC_SUBJECT_CLAIM("oidc.subjectClaim", "sub", "claim that names the person, for people"),
    OIDC_TENANTS(
            "oidc.tenants", "", "tenants by values of the claim: VALUE=TENANT, comma-separated"),
    OIDC_ROLES(
            "oidc.roles",
            "admin=admin,operator=operator,agent=agent,auditor=auditor",
            "roles by values of the claim: VALUE=ROLE, comma-separated"),
    OTLP_ENDPOINT(
            "otlp.endpoint",
            "",
            "URL of an OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318;"
                    + " empty: no traces");

    private final String key;
    private final String usual;
    private final String what;

    Setting(String key, String usual, String what) {
        this.key = key;
        this.usual = usual;
        this.what = what;
    }

    /** The dotted name in {@code caisson.yaml}. */
    public String key() {
        return key;
    }

    /** The value when nothing is given. */
    public String usual() {
        return usual;
    }

    /** One line for people. */
    public String what() {
        return what;
    }

    /** The environment variable that overrides the file. */
    public String variable() {
        StringBuilder name = new StringBuilder("CAISSON_");
        for (int i = 0; i < key.length(); i++) {
            char c = key.charAt(i);
            if (c == '.') {
                name.append('_');
            } else {
                if (Character.isUpperCase(c)) {
                    name.append('_');
                }
                name.append(c);
            }
        }
        return name.toString().toUpperCase(Locale.ROOT);
    }

    /** The setting of that name. */
    public static Optional<Setting> of(String key) {
        for (Setting setting : values()) {
            if (setting.key.equals(key)) {
                return Optional.of(setting);
            }
        }
        return Optional.empty();
    }
}
