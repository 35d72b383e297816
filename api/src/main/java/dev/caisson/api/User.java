package dev.caisson.api;

import java.util.Optional;

/**
 * Who runs a command inside a sandbox: by number, or by a name that the sandbox knows.
 *
 * @param uid inside, 0 to 65,532; 0 only where {@link SandboxSpec#root()} allows it; -1 with a name
 * @param gid inside, 0 to 65,532; -1 with a name
 * @param name of /etc/passwd inside, {@code [a-z_][a-z0-9_-]{0,31}}; empty for a user by number
 */
public record User(int uid, int gid, Optional<String> name) {
    /** The user {@code sandbox} of every template, uid and gid 1000. */
    public static final User SANDBOX = new User(1000, 1000);

    /** Uid and gid 0, for a sandbox whose {@link SandboxSpec#root()} allows it. */
    public static final User ROOT = new User(0, 0);

    private static final int MAX = 65_532;
    private static final int NAMED = -1;

    /** A user by number. */
    public User(int uid, int gid) {
        this(uid, gid, Optional.empty());
    }

    /**
     * A user by name; its groups and home are looked up inside, and a name that is not there fails
     * the command.
     */
    public static User named(String name) {
        return new User(NAMED, NAMED, Optional.of(name));
    }

    /** Refuses ids and names out of bounds with {@link ErrorCode#INVALID}. */
    public User {
        name.ifPresent(User::checkName);
        boolean numbers = uid >= 0 && uid <= MAX && gid >= 0 && gid <= MAX;
        if (name.isPresent() ? uid != NAMED || gid != NAMED : !numbers) {
            throw CaissonException.invalid("user", "User ids inside are 0 to " + MAX + ".");
        }
    }

    /** Refuses what is no name of a user with {@link ErrorCode#INVALID}. */
    static void checkName(String name) {
        if (!name.matches("[a-z_][a-z0-9_-]{0,31}")) {
            throw CaissonException.invalid(
                    "user", "'" + name + "' is not the name of a user: [a-z_][a-z0-9_-]{0,31}.");
        }
    }

    /** Whether it is uid 0, as far as that can be told here: a name may stand for it too. */
    public boolean isRoot() {
        return uid == 0 || name.filter("root"::equals).isPresent();
    }

    /** The name, or the uid as text. */
    public String label() {
        return name.orElseGet(() -> Integer.toString(uid));
    }
}
