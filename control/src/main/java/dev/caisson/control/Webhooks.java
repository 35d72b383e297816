package dev.caisson.control;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.api.EventType;
import dev.caisson.core.Ids;
import dev.caisson.v1.EventJson;
import dev.caisson.v1.Json;
import dev.caisson.v1.Page;
import dev.caisson.v1.WebhookJson;
import dev.caisson.v1.WebhookRequest;
import java.net.InetAddress;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Webhooks of tenants; {@link Deliveries} delivers. Thread-safe. */
final class Webhooks implements WebhookService {
    static final String ACTIVE = "active";
    static final String FAILING = "failing";
    static final String DISABLED = "disabled";

    private static final String NOUN = "webhooks";
    private static final int MAX_PER_TENANT = 20;
    private static final int MAX_URL = 2048;
    private static final int MAX_TYPES = 100;
    private static final Pattern TYPE = Pattern.compile("[a-z]{1,40}(?:\\.[a-z]{1,40})?");
    private static final Pattern SECRET = Pattern.compile("[!-~]{16,256}");

    private final Ledger ledger;
    private final Cursors cursors;
    private final Vault vault;
    private final WebhookConfig config;

    Webhooks(Ledger ledger, Cursors cursors, Vault vault, WebhookConfig config) {
        this.ledger = ledger;
        this.cursors = cursors;
        this.vault = vault;
        this.config = config;
    }

    /** What the secret of a webhook is sealed for. */
    static String purpose(String id) {
        return "webhook\n" + id;
    }

    static WebhookDoc doc(Row row) {
        return Json.read(row.body(), WebhookDoc.class);
    }

    @Override
    public WebhookJson create(Caller caller, WebhookRequest request) {
        Access.require(caller, "webhooks:write");
        checkUrl(request.url());
        for (String type : request.types()) {
            if (!TYPE.matcher(type).matches() || request.types().size() > MAX_TYPES) {
                throw CaissonException.invalid("types", "'" + type + "' is no type of events.")
                        .withRemedy("Write a type (exec.ended) or the noun of several (exec).");
            }
        }
        String given = request.secret();
        if (given != null && !SECRET.matcher(given).matches()) {
            throw CaissonException.invalid(
                    "secret", "A secret has 16 to 256 visible ASCII characters.");
        }
        String secret =
                given == null
                        ? "whsec_" + Credentials.newSecret() + Credentials.newSecret()
                        : given;
        String id = Ids.next(Ids.Kind.WEBHOOK);
        String sealed = vault.seal(purpose(id), secret);
        Row row = ledger.write(tx -> insert(tx, caller, request, id, sealed));
        return doc(row).form(row, secret);
    }

    private Row insert(
            Store.Tx tx, Caller caller, WebhookRequest request, String id, String sealed) {
        if (tx.count(Kind.WEBHOOK, Query.of(caller.tenant())) >= MAX_PER_TENANT) {
            throw CaissonException.of(
                            ErrorCode.QUOTA_EXCEEDED,
                            "A tenant has at most " + MAX_PER_TENANT + " webhooks.")
                    .withRemedy("Delete one.")
                    .withDetail("limit", "webhooks")
                    .withDetail("allowed", Integer.toString(MAX_PER_TENANT));
        }
        event(tx, caller, EventType.WEBHOOK_CREATED, id);
        WebhookDoc doc =
                new WebhookDoc(
                        request.url(),
                        request.types(),
                        sealed,
                        tx.lastSeq(caller.tenant()),
                        0,
                        null,
                        null,
                        List.of());
        Row row = Rows.fresh(id, caller.tenant(), null, ACTIVE, ledger.now(), doc);
        tx.insert(Kind.WEBHOOK, row);
        return row;
    }

    private void event(Store.Tx tx, Caller caller, EventType type, String id) {
        Ledger.Subject about = Ledger.Subject.tenant(caller.tenant());
        ledger.event(tx, caller, type, about, "requested", Map.of("webhook", id));
    }

    private void checkUrl(@Nullable String text) {
        URI url;
        try {
            url = URI.create(String.valueOf(text));
        } catch (IllegalArgumentException e) {
            throw badUrl("It is not a URL.");
        }
        String scheme = String.valueOf(url.getScheme()).toLowerCase(Locale.ROOT);
        String host = url.getHost();
        if (host == null || !(scheme.equals("http") || scheme.equals("https"))) {
            throw badUrl("It must be an absolute http or https URL.");
        }
        if (url.getRawUserInfo() != null
                || url.getRawFragment() != null
                || url.toString().length() > MAX_URL
                || !url.toString().equals(url.toASCIIString())) {
            throw badUrl("It must be ASCII without user and fragment, at most 2048 characters.");
        }
        if (!config.privateAddresses() && isPrivateLiteral(host)) {
            throw badUrl("Its address is not public.");
        }
    }

    /** Names are looked up when they are called; this only tells of a mistake early. */
    private static boolean isPrivateLiteral(String host) {
        if (host.equalsIgnoreCase("localhost")) {
            return true;
        }
        try {
            return !Reach.isPublic(InetAddress.ofLiteral(host));
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static CaissonException badUrl(String why) {
        return CaissonException.invalid("url", "This URL cannot be called: " + why)
                .withRemedy("Give one like https://example.com/hook.");
    }

    @Override
    public WebhookJson find(Caller caller, String id) {
        Access.require(caller, "webhooks:read");
        Row row = ledger.read(tx -> Rows.require(tx, Kind.WEBHOOK, caller.tenant(), id));
        return doc(row).form(row, null);
    }

    @Override
    public Page<WebhookJson> list(Caller caller, Listing listing) {
        Access.require(caller, "webhooks:read");
        Query query = cursors.page(Query.of(caller.tenant()), listing, NOUN);
        List<Row> rows = ledger.read(tx -> tx.list(Kind.WEBHOOK, query));
        return cursors.answer(rows, query, listing, NOUN, row -> doc(row).form(row, null));
    }

    @Override
    public void delete(Caller caller, String id) {
        Access.require(caller, "webhooks:write");
        ledger.write(tx -> {
            Row row = Rows.require(tx, Kind.WEBHOOK, caller.tenant(), id);
            event(tx, caller, EventType.WEBHOOK_DELETED, row.id());
            return tx.delete(Kind.WEBHOOK, row.id());
        });
    }

    @Override
    public List<EventJson> deadLetters(Caller caller, String id) {
        Access.require(caller, "webhooks:read");
        return ledger.read(tx -> {
            Row row = Rows.require(tx, Kind.WEBHOOK, caller.tenant(), id);
            return doc(row).dead().stream()
                    .flatMap(seq ->
                            tx.events(row.tenant(), seq - 1, 1, null, null).stream()
                                    .filter(event -> event.seq() == seq))
                    .toList();
        });
    }

    @Override
    public WebhookJson replay(Caller caller, String id, long afterSeq) {
        Access.require(caller, "webhooks:write");
        if (afterSeq < 0) {
            throw CaissonException.invalid("afterSeq", "A seq is 0 or more.");
        }
        Row row =
                ledger.write(tx -> {
                    Row before = Rows.require(tx, Kind.WEBHOOK, caller.tenant(), id);
                    long from = Math.min(afterSeq, tx.lastSeq(caller.tenant()));
                    WebhookDoc next = doc(before).from(from);
                    return tx.update(Kind.WEBHOOK, Rows.with(before, ACTIVE, null, next));
                });
        return doc(row).form(row, null);
    }
}
