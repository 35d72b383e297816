package dev.caisson.api;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;

/**
 * The files of a sandbox. Paths are absolute inside, or relative to /work. They are escaped in
 * answers and in calls alike, so that what a listing says can be read: {@code %XX} with two
 * upper-case hexadecimal digits stands for that byte; see {@link #escape}, and {@link ResultFile}
 * for what is escaped. Links are never followed by the last part of a path. New files and folders
 * belong to the user {@code sandbox}.
 *
 * <p>Every method throws {@link CaissonException}: {@link ErrorCode#NOT_FOUND}, {@link
 * ErrorCode#NOT_REGULAR}, {@link ErrorCode#LIMIT_REACHED} when the disk inside is full, {@link
 * ErrorCode#SANDBOX_ENDED} …
 */
public interface SandboxFiles {
    /** Most bytes that {@link #read} gives: 64 MiB. */
    long READ_LIMIT = 64L << 20;

    /**
     * Writes a file of mode 0644 whole, with the folders above it; readers see the old or the new
     * one.
     */
    void write(String path, byte[] content);

    /** Writes text as UTF-8. */
    default void write(String path, String content) {
        write(path, content.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Writes a file whole from a stream, which is read to its end and not closed.
     *
     * @param mode permission bits, for example {@code 0644}
     * @return bytes written
     */
    long write(String path, InputStream content, int mode);

    /**
     * Copies a regular file or a folder of the host to that path; modes are kept without set-id
     * bits. A path that ends with a slash means into that folder. Links below a folder of the host
     * are left out.
     *
     * @return bytes copied
     */
    default long put(Path host, String inside) {
        return put(host, inside, bytes -> {});
    }

    /**
     * The same with progress.
     *
     * @param progress told the bytes copied so far, now and then
     */
    long put(Path host, String inside, LongConsumer progress);

    /** Reads a regular file of at most {@link #READ_LIMIT}; larger: {@link ErrorCode#TOO_LARGE}. */
    byte[] read(String path);

    /** Reads a regular file of at most {@link #READ_LIMIT} as UTF-8. */
    default String readText(String path) {
        return new String(read(path), StandardCharsets.UTF_8);
    }

    /**
     * Copies a regular file to a stream, which is not closed.
     *
     * @return bytes copied
     */
    default long read(String path, OutputStream target) {
        return read(path, 0, -1, target);
    }

    /**
     * Copies a part of a regular file to a stream, which is not closed.
     *
     * @param offset of the first byte
     * @param length at most that many bytes; negative: to the end
     * @return bytes copied
     */
    long read(String path, long offset, long length, OutputStream target);

    /**
     * Copies a regular file to a new or replaced file of the host. Links at the target are not
     * followed; the file appears whole, with mode 0644.
     *
     * @return bytes copied
     */
    long get(String path, Path host);

    /** What is in a folder, in no order, names relative to it; at most 100,000 entries. */
    List<FileInfo> list(String path);

    /** What is in a folder and below it, at most 100,000 entries and 256 levels. */
    List<FileInfo> listTree(String path);

    /** One file or folder, links not followed; empty when it is not there. */
    Optional<FileInfo> stat(String path);

    /** Makes a folder and those above it; nothing happens when it is there. */
    void makeDirectory(String path);

    /** Removes a file or an empty folder. */
    void remove(String path);

    /** Removes a file or a folder with all that is in it. */
    void removeTree(String path);

    /** Renames, replacing a file at the target. */
    void move(String from, String to);

    /**
     * Changes the permission bits of a file or folder.
     *
     * @param mode for example {@code 0644}; set-id and sticky bits are left out
     */
    void setMode(String path, int mode);

    /**
     * Tells what happens in a folder until the watch is closed or the sandbox ends. Returns when it
     * watches. Where events cannot all be told the listener hears of an overflow.
     *
     * @param recursive folders below as well, also those made later
     */
    Watch watch(String path, boolean recursive, WatchListener listener);

    /** Remembers /work as it is now: {@link #collect} and {@link #changes} compare with it. */
    void mark();

    /** New and changed files below /work since {@link #mark}, or all of them; nothing is read. */
    List<ResultFile> changes();

    /**
     * Brings new and changed files below /work to a folder of the host, which is made when missing.
     *
     * <p>The tree is hostile: only regular files and folders are made, never through a link, never
     * outside the folder, without set-id bits. Links, devices, pipes and sockets are listed with a
     * note. Existing files are replaced whole.
     *
     * @param limit bytes of all files together; what is beyond is listed with a note
     * @return everything new or changed, collected or not
     */
    List<ResultFile> collect(Path target, ByteSize limit);

    /**
     * The form in which a path of any characters is given to the methods here: percent signs and
     * control characters as {@code %XX}.
     */
    static String escape(String literal) {
        StringBuilder text = new StringBuilder(literal.length());
        for (int i = 0; i < literal.length(); i++) {
            char c = literal.charAt(i);
            if (c != '%' && !Character.isISOControl(c)) {
                text.append(c);
                continue;
            }
            for (byte b : Character.toString(c).getBytes(StandardCharsets.UTF_8)) {
                text.append('%').append(HexFormat.of().withUpperCase().toHexDigits(b));
            }
        }
        return text.toString();
    }
}
