package dev.caisson.v1;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A whole life in one call.
 *
 * @param code source text; or {@code command} or {@code argv}
 * @param language of the code
 * @param argv program and arguments
 * @param command a line for {@code /bin/sh -c}
 * @param arguments of the code
 * @param files put in before
 * @param input standard input
 * @param env environment
 * @param tier tier
 * @param template root file system
 * @param snapshot to start from
 * @param policy narrower policy
 * @param limits what it may use
 * @param timeoutMillis wall time
 * @param collect whether new and changed files of /work are kept; default true
 * @param inlineFiles files up to 64 KiB come in the answer
 * @param keepMillis how long result and files are kept; default one hour
 * @param labels own words
 * @param root {@code denied} or {@code allowed}
 * @param allowDegraded accept a host that cannot do all
 * @param egress narrows the way out that the policy gives; absent: all that the policy gives
 * @param secrets names of secrets that its requests get, each listed in the policy's egress
 */
public record RunRequest(
        @Nullable String code,
        @Nullable String language,
        List<String> argv,
        @Nullable String command,
        List<String> arguments,
        List<InputFileJson> files,
        @Nullable String input,
        Map<String, String> env,
        @Nullable String tier,
        @Nullable String template,
        @Nullable String snapshot,
        @Nullable String policy,
        @Nullable LimitsJson limits,
        @Nullable Long timeoutMillis,
        @Nullable Boolean collect,
        @Nullable Boolean inlineFiles,
        @Nullable Long keepMillis,
        Map<String, String> labels,
        @Nullable String root,
        @Nullable Boolean allowDegraded,
        @Nullable EgressJson egress,
        List<String> secrets) {
    /** Copies the collections; absent ones are empty. */
    public RunRequest {
        argv = List.copyOf(Absent.list(argv));
        arguments = List.copyOf(Absent.list(arguments));
        files = List.copyOf(Absent.list(files));
        env = Map.copyOf(Absent.map(env));
        labels = Map.copyOf(Absent.map(labels));
        secrets = List.copyOf(Absent.list(secrets));
    }

    /** The same with that way out, as far as the policy gives it. */
    public RunRequest withEgress(@Nullable EgressJson narrower) {
        return new RunRequest(
                code,
                language,
                argv,
                command,
                arguments,
                files,
                input,
                env,
                tier,
                template,
                snapshot,
                policy,
                limits,
                timeoutMillis,
                collect,
                inlineFiles,
                keepMillis,
                labels,
                root,
                allowDegraded,
                narrower,
                secrets);
    }
}
