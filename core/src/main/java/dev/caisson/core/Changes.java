package dev.caisson.core;

import com.google.protobuf.ByteString;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.FileType;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.HashSet;

/**
 * What a listing of /work looked like, and what is new or changed since. The listing comes from the sandbox: nothing in it
 * is believed but that it names something.
 */
final class Changes {
    static final Changes NONE = new Changes(Map.of());

    private static final int MAX_PATH = 4096;
    private static final int MAX_NAME = 255;

    /** What tells a changed file; a program inside can set mtime, but not ctime. */
    private record Stamp(FileType type, long size, long mtime, long ctime, long inode) {
        static Stamp of(FileEntry entry) {
            return new Stamp(
                    entry.getType(),
                    entry.getSize(),
                    entry.getMtimeNanos(),
                    entry.getCtimeNanos(),
                    entry.getInode());
        }
    }

    private final Map<ByteString, Stamp> before;

    private Changes(Map<ByteString, Stamp> before) {
        this.before = before;
    }

    /** A listing to compare with. */
    static Changes baseline(List<FileEntry> entries) {
        Map<ByteString, Stamp> stamps = new HashMap<>();
        for (FileEntry entry : entries) {
            stamps.put(copy(entry.getPath()), Stamp.of(entry));
        }
        return new Changes(stamps);
    }

    /** The bytes without the frame that they are a part of. */
    private static ByteString copy(ByteString aliased) {
        return ByteString.copyFrom(aliased.toByteArray());
    }

    /**
     * New and changed entries, parents before children, each path once. A folder that only got new children is not changed.
     *
     * @throws ProtocolException when a path is none that the agent may tell
     */
    List<FileEntry> since(List<FileEntry> now) throws ProtocolException {
        List<FileEntry> changed = new ArrayList<>();
        Set<ByteString> seen = new HashSet<>();
        for (FileEntry entry : now) {
            check(entry.getPath());
            if (!seen.add(entry.getPath())) {
                throw new ProtocolException("A listing names a path twice.");
            }
            Stamp stamp = before.get(entry.getPath());
            boolean same = stamp != null
                    && (entry.getType() == FileType.FILE_TYPE_DIRECTORY
                            ? stamp.type() == FileType.FILE_TYPE_DIRECTORY && stamp.inode() == entry.getInode()
                            : stamp.equals(Stamp.of(entry)));
            if (!same) {
                changed.add(entry);
            }
        }
        changed.sort(Comparator.comparing(FileEntry::getPath, Changes::comparePaths));
        return changed;
    }

    /** Orders paths so that a folder comes right before what is in it. */
    private static int comparePaths(ByteString a, ByteString b) {
        int common = Math.min(a.size(), b.size());
        for (int i = 0; i < common; i++) {
            int x = a.byteAt(i) == '/' ? -1 : a.byteAt(i) & 0xFF;
            int y = b.byteAt(i) == '/' ? -1 : b.byteAt(i) & 0xFF;
            if (x != y) {
                return Integer.compare(x, y);
            }
        }
        return Integer.compare(a.size(), b.size());
    }

    /** Refuses what is not a relative path of plain names. */
    static void check(ByteString path) throws ProtocolException {
        if (path.isEmpty() || path.size() > MAX_PATH) {
            throw new ProtocolException("A listing holds a path of " + path.size() + " bytes.");
        }
        int start = 0;
        for (int i = 0; i <= path.size(); i++) {
            if (i == path.size() || path.byteAt(i) == '/') {
                checkName(path, start, i);
                start = i + 1;
            } else if (path.byteAt(i) == 0) {
                throw new ProtocolException("A listing holds a NUL.");
            }
        }
    }

    private static void checkName(ByteString path, int start, int end) throws ProtocolException {
        int length = end - start;
        boolean dots = length == 1 && path.byteAt(start) == '.'
                || length == 2 && path.byteAt(start) == '.' && path.byteAt(start + 1) == '.';
        if (length == 0 || length > MAX_NAME || dots) {
            throw new ProtocolException("A listing holds a path that leaves its folder or has an impossible name.");
        }
    }
}
