package dev.caisson.store;

/** What a failure of the database means for the transaction that met it. */
enum Trouble {
    /** Another one was in the way; nothing was done, and it may be repeated. */
    CONFLICT,
    /** The connection is gone; a commit under way may have been done. */
    LOST,
    /** The disk failed beneath it; a commit under way may have been done. */
    BROKEN,
    /** It cannot be done; nothing was. */
    REFUSED
}
