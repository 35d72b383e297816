package dev.caisson.server;

import dev.caisson.api.CaissonException;
import dev.caisson.api.ErrorCode;
import dev.caisson.control.Control;
import dev.caisson.v1.SecretBinding;
import dev.caisson.v1.SecretJson;
import dev.caisson.v1.SecretRequest;
import dev.caisson.v1.SecretRotateRequest;
import dev.caisson.v1.SecretSlot;
import dev.caisson.v1.SecretSource;
import dev.caisson.v1.SecretSpec;
import dev.caisson.v1.SecretTestJson;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Secrets: values come in here and never go out again. */
final class SecretRoutes {
    private static final Set<String> FIELDS =
            Stream.of(
                            SecretRequest.class,
                            SecretRotateRequest.class,
                            SecretSource.class,
                            SecretSpec.class,
                            SecretBinding.class,
                            SecretSlot.class)
                    .flatMap(form -> Arrays.stream(form.getRecordComponents()))
                    .map(RecordComponent::getName)
                    .collect(Collectors.toUnmodifiableSet());

    private final Control control;

    SecretRoutes(Deps deps) {
        this.control = deps.control();
    }

    List<Route> routes() {
        List<Route> routes = new ArrayList<>();
        Collections.addAll(
                routes,
                Route.get("/v1/secrets")
                        .scope("secrets:read")
                        .gives(200, Route.Kind.PAGE, SecretJson.class)
                        .query("name", "Of exactly that name.")
                        .pages()
                        .doc("Secrets without their values, newest first.")
                        .does(x ->
                                Answer.ok(control.secrets().list(x.caller(), x.query.listing()))),
                Route.post("/v1/secrets")
                        .scope("secrets:write")
                        .takes(SecretRequest.class)
                        .gives(201, SecretJson.class)
                        .creates()
                        .doc("Makes a secret; its value is never told again.")
                        .does(x -> Answer.of(201, create(x))),
                Route.get("/v1/secrets/{secret}")
                        .scope("secrets:read")
                        .gives(200, SecretJson.class)
                        .doc("A secret without its value, by id or name.")
                        .does(x -> Answer.ok(control.secrets().find(x.caller(), secret(x)))));
        routes.addAll(changes());
        return routes;
    }

    private List<Route> changes() {
        return List.of(
                Route.post("/v1/secrets/{secret}/rotate")
                        .scope("secrets:write")
                        .mayTake(SecretRotateRequest.class)
                        .gives(200, SecretJson.class)
                        .creates()
                        .doc("Another value, in force within a second.")
                        .does(x -> Answer.ok(rotate(x))),
                Route.post("/v1/secrets/{secret}/test")
                        .scope("secrets:write")
                        .gives(200, SecretTestJson.class)
                        .doc("Reads its source, and says whether that gives a value that fits.")
                        .does(x -> Answer.ok(control.secrets().test(x.caller(), secret(x)))),
                Route.delete("/v1/secrets/{secret}")
                        .scope("secrets:write")
                        .gives(204, Route.Kind.NONE, null)
                        .doc("Deletes a secret: no request gets it any more within a second.")
                        .does(x -> {
                            control.secrets().delete(x.caller(), secret(x));
                            return Answer.none();
                        }));
    }

    private SecretJson create(Exchange x) throws IOException {
        return control.secrets().create(x.caller(), form(x, SecretRequest.class));
    }

    private SecretJson rotate(Exchange x) throws IOException {
        SecretRotateRequest request = form(x, SecretRotateRequest.class);
        return control.secrets().rotate(x.caller(), secret(x), request);
    }

    /** What is wrong with a form is told without its text, which may be the value. */
    private static <T> T form(Exchange x, Class<T> type) throws IOException {
        try {
            return x.json(type);
        } catch (Refusal e) {
            throw e;
        } catch (CaissonException e) {
            if (e.code() != ErrorCode.INVALID) {
                throw e;
            }
            String field = known(e.details().get("field"));
            throw CaissonException.invalid(
                            field,
                            field.isEmpty()
                                    ? "The body is not JSON of the form that is asked for."
                                    : "The field '" + field + "' is wrong, or there is none.")
                    .withRemedy("Look up the form in /v1/openapi.json.");
        }
    }

    /** A field of the forms; empty where it is none: that could be a value in the wrong place. */
    private static String known(@Nullable String field) {
        if (field == null) {
            return "";
        }
        boolean ours =
                Arrays.stream(field.split("[.\\[\\]0-9]+", -1))
                        .allMatch(name -> name.isEmpty() || FIELDS.contains(name));
        return ours ? field : "";
    }

    private static String secret(Exchange x) {
        return x.parameter("secret");
    }
}
