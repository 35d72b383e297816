package dev.caisson.control;

import dev.caisson.v1.FileJson;
import dev.caisson.v1.MoveRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Files in what has files, by its id or name: sandboxes, volumes. Percent signs in paths are
 * escaped as {@code %25}.
 */
public interface ContentService {
    /** One, links not followed. */
    FileJson stat(Caller caller, String of, String path);

    /** What is in a folder. */
    List<FileJson> list(Caller caller, String of, String path, boolean recursive);

    /**
     * Copies a regular file.
     *
     * @param length at most that many bytes; negative: to the end
     */
    void read(Caller caller, String of, String path, long offset, long length, OutputStream target)
            throws IOException;

    /**
     * Whether what is read is as long as {@link #stat} says; not where secrets are taken out of
     * files.
     */
    default boolean sized(Caller caller, String of) {
        return true;
    }

    /** Writes a file whole; it appears under its name at the end only. */
    FileJson write(
            Caller caller, String of, String path, InputStream content, @Nullable Integer mode)
            throws IOException;

    /** Makes a folder and those above. */
    FileJson makeDirectory(Caller caller, String of, String path);

    /** Removes a file, or a folder with all in it. */
    void delete(Caller caller, String of, String path, boolean recursive);

    /** Renames. */
    FileJson move(Caller caller, String of, MoveRequest request);

    /** A folder as a tar archive. */
    void archive(Caller caller, String of, String path, OutputStream target) throws IOException;

    /** Unpacks a tar archive, gzip or not, below a folder; nothing escapes it. How many entries. */
    long unpack(Caller caller, String of, String path, InputStream archive) throws IOException;
}
