package dev.caisson.api;

/**
 * Who runs a command inside a sandbox.
 *
 * @param uid inside, 1 to 65,532; uid 0 needs a policy that allows it
 * @param gid inside, 0 to 65,532
 */
public record User(int uid, int gid) {
    /** The user {@code sandbox} of every template, uid and gid 1000. */
    public static final User SANDBOX = new User(1000, 1000);

    private static final int MAX = 65_532;

    /**
     * Refuses ids out of bounds with {@link ErrorCode#INVALID}, uid 0 with {@link
     * ErrorCode#POLICY_DENIED}.
     */
    public User {
        if (uid == 0) {
            throw CaissonException.of(
                            ErrorCode.POLICY_DENIED,
                            "The policy does not allow root inside a sandbox.")
                    .withRemedy("Run the command as the user sandbox.");
        }
        if (uid < 0 || uid > MAX || gid < 0 || gid > MAX) {
            throw CaissonException.invalid("user", "User ids inside are 1 to " + MAX + ".");
        }
    }
}
