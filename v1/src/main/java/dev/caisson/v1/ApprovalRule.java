package dev.caisson.v1;

import java.util.List;

/**
 * What needs an approval.
 *
 * @param kind {@code exec, port, destination}
 * @param commands prefixes of the command line; empty: any
 * @param users inside; empty: any
 * @param paths the program or folder lies below; empty: any
 */
public record ApprovalRule(
        String kind, List<String> commands, List<String> users, List<String> paths) {
    /** Copies the collections; absent ones are empty. */
    public ApprovalRule {
        commands = List.copyOf(Absent.list(commands));
        users = List.copyOf(Absent.list(users));
        paths = List.copyOf(Absent.list(paths));
    }
}
