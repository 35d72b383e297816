package dev.caisson.cli;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Ends the process when its work is done. {@link System#exit} waits 300 ms for threads that are in
 * native code, and the JVM's own poller of sockets always is (VM_Exit in HotSpot's
 * vmOperations.cpp); {@code _exit(2)} does not. Everything is closed and written by then.
 */
final class QuickExit {
    /** Set while a class cache is made, which the JVM writes at an orderly exit. */
    private static final boolean TRAINING = Boolean.getBoolean("caisson.training");

    private QuickExit() {}

    @SuppressWarnings("restricted") // the module that starts the program is given native access
    static void exit(int status) {
        try {
            Linker linker = Linker.nativeLinker();
            MethodHandle exit =
                    linker.downcallHandle(
                            linker.defaultLookup().findOrThrow("_exit"),
                            FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
            if (!TRAINING) {
                exit.invokeExact(status);
            }
        } catch (Throwable ignored) {
            // Slower, and as good.
        }
        System.exit(status);
    }
}
