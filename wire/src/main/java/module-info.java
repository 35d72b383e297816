/** The messages between client, launcher and agent, generated from {@code native/wire/proto}. */
module dev.caisson.wire {
    requires transitive com.google.protobuf;

    exports dev.caisson.wire.agent;
    exports dev.caisson.wire.egress;
    exports dev.caisson.wire.launcher;
}
