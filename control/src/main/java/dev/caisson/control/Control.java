package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.v1.InfoJson;
import org.jspecify.annotations.Nullable;

/**
 * The service: who asks is authenticated once per request, then acts through the parts. Safe for
 * use by several threads; calls block, so give each request a virtual thread.
 */
public interface Control extends AutoCloseable {
    /**
     * Who presents this key ({@code caisson_…}, {@code e2b_…} or 40 hex digits).
     *
     * @throws CaissonException {@link ErrorCode#UNAUTHENTICATED}, the same for every cause
     */
    Caller authenticate(String key);

    /**
     * Who presents this OIDC bearer token, where that is configured.
     *
     * @throws CaissonException {@link ErrorCode#UNAUTHENTICATED}
     */
    Caller authenticateToken(String token);

    /**
     * Refuses a caller who was authenticated earlier, for instance when a link was made, and whose
     * key has been revoked or has expired since, or whose tenant takes no keys now.
     *
     * @throws CaissonException {@link ErrorCode#UNAUTHENTICATED}, {@link ErrorCode#POLICY_DENIED}
     */
    void requireStill(Caller caller);

    /** An operator or admin who acts for another tenant; an event of that tenant. */
    Caller actFor(Caller caller, String tenant);

    /**
     * Whether this caller may do this at all; the parts ask it themselves.
     *
     * @param scope {@code noun:read} or {@code noun:write}
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED}
     */
    void require(Caller caller, String scope);

    /**
     * Refuses a caller who does not run the service.
     *
     * @throws CaissonException {@link ErrorCode#POLICY_DENIED}
     */
    void requireService(Caller caller);

    /** About this server, for a caller. */
    InfoJson info(Caller caller);

    /** Whether it takes requests; the reason when not. */
    @Nullable String unready();

    SandboxService sandboxes();

    ExecService execs();

    RunService runs();

    FileService files();

    PortService ports();

    SnapshotService snapshots();

    VolumeService volumes();

    /** What is in volumes; their paths begin at the volume's own root. */
    ContentService volumeFiles();

    PoolService pools();

    ApprovalService approvals();

    TenantService tenants();

    KeyService keys();

    PolicyService policies();

    UsageService usage();

    EventService events();

    WebhookService webhooks();

    SecretService secrets();

    LogService logs();

    Idempotency idempotency();

    /** Takes no new work, and waits for what runs within requests; sandboxes live on. */
    void drain(java.time.Duration longest);

    /** Leaves; sandboxes live on under their leases. */
    @Override
    void close();
}
