package dev.caisson.testkit;

import com.google.protobuf.ByteString;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.FileChange;
import dev.caisson.wire.agent.FileCredit;
import dev.caisson.wire.agent.FileData;
import dev.caisson.wire.agent.FileDone;
import dev.caisson.wire.agent.FileEntries;
import dev.caisson.wire.agent.FileEntry;
import dev.caisson.wire.agent.FileList;
import dev.caisson.wire.agent.FileType;
import java.io.ByteArrayOutputStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Files in memory by absolute path; a listing may be anything that a test wants. Called under the
 * agent's lock.
 */
public final class FakeFiles {
    private static final int CHUNK = 64 << 10;
    private static final long WINDOW = 1 << 20;

    record Node(FileType type, ByteString content, int mode, long stamp, long inode, long told) {}

    private record Incoming(ByteString path, int mode, ByteArrayOutputStream bytes) {}

    private static final class Outgoing {
        private final ByteString content;
        private int at;
        private long credit;

        Outgoing(ByteString content, long credit) {
            this.content = content;
            this.credit = credit;
        }
    }

    private final FakeAgent agent;
    final Map<ByteString, Node> nodes;
    private final Map<Long, Incoming> incoming = new HashMap<>();
    private final Map<Long, Outgoing> outgoing = new HashMap<>();
    private final AtomicLong clock = new AtomicLong(1_000_000);
    private volatile @Nullable FileEntries listing;

    FakeFiles(FakeAgent agent, Map<ByteString, Node> nodes) {
        this.nodes = nodes;
        this.agent = agent;
    }

    /** Adds a file of that name, which may be any bytes. */
    public void add(ByteString path, FileType type, byte[] content, int mode) {
        long now = clock.incrementAndGet();
        nodes.put(
                path, new Node(type, ByteString.copyFrom(content), mode, now, now, content.length));
    }

    /** Adds a regular file. */
    public void add(String path, String content) {
        add(
                ByteString.copyFromUtf8(path),
                FileType.FILE_TYPE_REGULAR,
                ByteString.copyFromUtf8(content).toByteArray(),
                0644);
    }

    /** Adds a regular file whose listing tells another size than it has. */
    public void addLying(String path, byte[] content, long told) {
        long now = clock.incrementAndGet();
        nodes.put(
                ByteString.copyFromUtf8(path),
                new Node(
                        FileType.FILE_TYPE_REGULAR,
                        ByteString.copyFrom(content),
                        0644,
                        now,
                        now,
                        told));
    }

    /** The content of a file, or null. */
    public byte @Nullable [] content(String path) {
        Node node = nodes.get(ByteString.copyFromUtf8(path));
        return node == null ? null : node.content().toByteArray();
    }

    /** The permission bits of a file or folder, -1 when it is not there. */
    public int mode(String path) {
        Node node = nodes.get(ByteString.copyFromUtf8(path));
        return node == null ? -1 : node.mode();
    }

    /** Answers every listing from now on. */
    public void answerListings(FileEntries entries) {
        listing = entries;
    }

    void handle(ClientFrame frame) {
        long stream = frame.getStream();
        switch (frame.getBodyCase()) {
            case FILE_PUT ->
                    incoming.put(
                            stream,
                            new Incoming(
                                    frame.getFilePut().getPath(),
                                    frame.getFilePut().getMode(),
                                    new ByteArrayOutputStream()));
            case FILE_DATA -> data(stream, frame.getFileData());
            case FILE_GET -> get(stream, frame);
            case FILE_LIST -> list(stream, frame.getFileList());
            case FILE_STAT -> stat(stream, frame.getFileStat().getPath());
            case FILE_CHANGE -> change(stream, frame.getFileChange());
            default -> {
                incoming.remove(stream);
                outgoing.remove(stream);
            }
        }
    }

    private void data(long stream, FileData data) {
        Incoming to = incoming.get(stream);
        if (to == null) {
            return;
        }
        to.bytes().writeBytes(data.getData().toByteArray());
        if (data.getLast()) {
            incoming.remove(stream);
            add(to.path(), FileType.FILE_TYPE_REGULAR, to.bytes().toByteArray(), to.mode());
            done(stream, to.bytes().size());
        } else {
            agent.send(
                    AgentFrame.newBuilder()
                            .setStream(stream)
                            .setFileCredit(
                                    FileCredit.newBuilder().setLimit(to.bytes().size() + WINDOW))
                            .build());
        }
    }

    private void done(long stream, long bytes) {
        agent.send(
                AgentFrame.newBuilder()
                        .setStream(stream)
                        .setFileDone(FileDone.newBuilder().setBytes(bytes))
                        .build());
    }

    private void get(long stream, ClientFrame frame) {
        Node node = nodes.get(frame.getFileGet().getPath());
        if (node == null) {
            agent.send(FakeAgent.error(stream, ErrorKind.ERROR_NOT_FOUND, "no such file"));
        } else if (node.type() != FileType.FILE_TYPE_REGULAR) {
            agent.send(FakeAgent.error(stream, ErrorKind.ERROR_NOT_REGULAR, "not a regular file"));
        } else {
            long length = frame.getFileGet().getLength();
            ByteString content =
                    length == 0 || length > node.content().size()
                            ? node.content()
                            : node.content().substring(0, (int) length);
            Outgoing out = new Outgoing(content, frame.getFileGet().getCreditBytes());
            outgoing.put(stream, out);
            pump(stream, out);
        }
    }

    boolean ack(ClientFrame frame) {
        Outgoing out = outgoing.get(frame.getStream());
        if (out == null) {
            return false;
        }
        out.credit += frame.getAck().getCreditBytes();
        pump(frame.getStream(), out);
        return true;
    }

    private void pump(long stream, Outgoing out) {
        while (out.credit > 0 && out.at < out.content.size()) {
            int size = (int) Math.min(Math.min(CHUNK, out.credit), out.content.size() - out.at);
            out.credit -= size;
            send(stream, out.content.substring(out.at, out.at + size), false);
            out.at += size;
        }
        if (out.at == out.content.size()) {
            outgoing.remove(stream);
            send(stream, ByteString.EMPTY, true);
        }
    }

    private void send(long stream, ByteString data, boolean last) {
        agent.send(
                AgentFrame.newBuilder()
                        .setStream(stream)
                        .setFileData(FileData.newBuilder().setData(data).setLast(last))
                        .build());
    }

    private void list(long stream, FileList request) {
        FileEntries canned = listing;
        FileEntries.Builder entries = FileEntries.newBuilder().setLast(true);
        ByteString prefix = request.getPath().concat(ByteString.copyFromUtf8("/"));
        nodes.forEach((path, node) -> {
            if (path.startsWith(prefix)) {
                ByteString relative = path.substring(prefix.size());
                boolean below = relative.toByteArray().length > 0 && contains(relative, (byte) '/');
                if (request.getRecursive() || !below) {
                    entries.addEntries(entry(relative, node));
                }
            }
        });
        agent.send(
                AgentFrame.newBuilder()
                        .setStream(stream)
                        .setFileEntries(canned == null ? entries.build() : canned)
                        .build());
    }

    private void stat(long stream, ByteString path) {
        Node node = nodes.get(path);
        if (node == null) {
            agent.send(FakeAgent.error(stream, ErrorKind.ERROR_NOT_FOUND, "no such file"));
            return;
        }
        agent.send(
                AgentFrame.newBuilder()
                        .setStream(stream)
                        .setFileEntries(
                                FileEntries.newBuilder()
                                        .addEntries(entry(ByteString.EMPTY, node))
                                        .setLast(true))
                        .build());
    }

    private static boolean contains(ByteString bytes, byte wanted) {
        for (int i = 0; i < bytes.size(); i++) {
            if (bytes.byteAt(i) == wanted) {
                return true;
            }
        }
        return false;
    }

    private static FileEntry entry(ByteString path, Node node) {
        return FileEntry.newBuilder()
                .setPath(path)
                .setType(node.type())
                .setSize(node.told())
                .setMode(node.mode())
                .setMtimeNanos(node.stamp())
                .setCtimeNanos(node.stamp())
                .setInode(node.inode())
                .setLinks(1)
                .setTarget(
                        node.type() == FileType.FILE_TYPE_SYMLINK
                                ? node.content()
                                : ByteString.EMPTY)
                .build();
    }

    private void change(long stream, FileChange change) {
        switch (change.getChangeCase()) {
            case MAKE_DIRECTORY ->
                    add(
                            change.getMakeDirectory().getPath(),
                            FileType.FILE_TYPE_DIRECTORY,
                            new byte[0],
                            change.getMakeDirectory().getMode());
            case REMOVE -> nodes.remove(change.getRemove().getPath());
            case MOVE -> {
                Node node = nodes.remove(change.getMove().getFrom());
                if (node == null) {
                    agent.send(FakeAgent.error(stream, ErrorKind.ERROR_NOT_FOUND, "no such file"));
                    return;
                }
                nodes.put(change.getMove().getTo(), node);
            }
            case SET_ATTRIBUTES -> {
                Node node = nodes.get(change.getSetAttributes().getPath());
                if (node == null) {
                    agent.send(FakeAgent.error(stream, ErrorKind.ERROR_NOT_FOUND, "no such file"));
                    return;
                }
                nodes.put(
                        change.getSetAttributes().getPath(),
                        new Node(
                                node.type(),
                                node.content(),
                                change.getSetAttributes().getMode(),
                                node.stamp(),
                                node.inode(),
                                node.told()));
            }
            case CHANGE_NOT_SET -> {}
        }
        done(stream, 0);
    }
}
