package dev.caisson.server;

import java.io.IOException;
import java.io.OutputStream;

/** Writes to the client; a failure is told apart from failures of what is sent. */
final class ClientOutput extends OutputStream {
    private final OutputStream target;
    private long bytes;

    ClientOutput(OutputStream target) {
        this.target = target;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
        try {
            target.write(source, offset, length);
            bytes += length;
        } catch (IOException | RuntimeException e) {
            throw new ClientGone(e);
        }
    }

    @Override
    public void flush() throws IOException {
        try {
            target.flush();
        } catch (IOException | RuntimeException e) {
            throw new ClientGone(e);
        }
    }

    /** How many were written. */
    long bytes() {
        return bytes;
    }

    @Override
    public void close() throws IOException {
        try {
            target.close();
        } catch (IOException | RuntimeException e) {
            throw new ClientGone(e);
        }
    }
}
