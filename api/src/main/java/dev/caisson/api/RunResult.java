package dev.caisson.api;

import java.util.List;

/**
 * The result of a whole run.
 *
 * @param run id of the run
 * @param sandbox id of its sandbox, which is gone
 * @param session id of the sandbox's only life
 * @param tier that it ran on
 * @param engine that gave the tier
 * @param result of the command
 * @param argv the command as it was run inside
 * @param hint what to do about a failure that was recognised, such as a missing module; empty otherwise
 */
public record RunResult(
        String run,
        String sandbox,
        String session,
        Tier tier,
        String engine,
        ExecResult result,
        List<String> argv,
        String hint) {

    /** Copies the list. */
    public RunResult {
        argv = List.copyOf(argv);
    }
}
