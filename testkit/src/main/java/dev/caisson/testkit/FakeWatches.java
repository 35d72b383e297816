package dev.caisson.testkit;

import com.google.protobuf.ByteString;
import dev.caisson.wire.agent.AgentFrame;
import dev.caisson.wire.agent.ClientFrame;
import dev.caisson.wire.agent.ErrorKind;
import dev.caisson.wire.agent.UserInfo;
import dev.caisson.wire.agent.Watch;
import dev.caisson.wire.agent.WatchEvents;
import java.util.Map;
import java.util.TreeMap;

/** Watched folders, of which a test tells what it wants, and users. Under the agent's lock. */
public final class FakeWatches {
    private static final int FIRST_USER = 2000;

    private final FakeAgent agent;
    private final Map<Long, Watch> watches = new TreeMap<>();
    private final Map<String, UserInfo> users = new TreeMap<>();

    FakeWatches(FakeAgent agent) {
        this.agent = agent;
    }

    void cancel(long stream) {
        watches.remove(stream);
    }

    void cancelAll() {
        watches.clear();
    }

    /** How many folders are watched. */
    public int count() {
        return agent.locked(watches::size);
    }

    /** Tells all who watch. */
    public void tell(WatchEvents events) {
        agent.locked(() -> {
            watches.keySet()
                    .forEach(stream ->
                            agent.send(
                                    AgentFrame.newBuilder()
                                            .setStream(stream)
                                            .setWatchEvents(events)
                                            .build()));
            return true;
        });
    }

    /** Ends all watches with an error. */
    public void fail() {
        agent.locked(() -> {
            watches.keySet()
                    .forEach(stream ->
                            agent.send(FakeAgent.error(stream, ErrorKind.ERROR_IO, "gone")));
            watches.clear();
            return true;
        });
    }

    void watch(ClientFrame frame) {
        long stream = frame.getStream();
        if (frame.getWatch().getPath().toStringUtf8().equals("/missing")) {
            agent.send(FakeAgent.error(stream, ErrorKind.ERROR_NOT_FOUND, "no such folder"));
            return;
        }
        watches.put(stream, frame.getWatch());
        agent.send(
                AgentFrame.newBuilder()
                        .setStream(stream)
                        .setWatchEvents(WatchEvents.getDefaultInstance())
                        .build());
    }

    void addUser(ClientFrame frame) {
        String name = frame.getUserAdd().getName().toStringUtf8();
        UserInfo user =
                users.computeIfAbsent(
                        name,
                        made ->
                                UserInfo.newBuilder()
                                        .setName(ByteString.copyFromUtf8(made))
                                        .setUid(FIRST_USER + users.size())
                                        .setGid(FIRST_USER + users.size())
                                        .setHome(ByteString.copyFromUtf8("/home/" + made))
                                        .setShell(ByteString.copyFromUtf8("/bin/sh"))
                                        .build());
        agent.send(AgentFrame.newBuilder().setStream(frame.getStream()).setUserInfo(user).build());
    }
}
