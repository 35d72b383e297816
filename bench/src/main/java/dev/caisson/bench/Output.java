package dev.caisson.bench;

import dev.caisson.api.Caisson;
import dev.caisson.api.Exec;
import dev.caisson.api.ExecListener;
import dev.caisson.api.ExecSpec;
import dev.caisson.api.OutputFd;
import dev.caisson.api.Sandbox;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/** What a command writes, all the way to a consumer in Java. */
final class Output implements Measure {
    private static final double MIB_PER_SECOND = 500;

    @Override
    public String name() {
        return "output";
    }

    @Override
    public void run(Setting setting, Report report) {
        long bytes = (long) setting.times(1024, 128) << 20;
        Samples listened = new Samples();
        Samples piped = new Samples();
        CpuMeter.Usage used;
        try (Caisson caisson = Caisson.open();
                Sandbox sandbox = caisson.create()) {
            ExecSpec writer =
                    ExecSpec.of("head", "-c", Long.toString(bytes), "/dev/zero").withCapture(false);
            listen(sandbox, writer, bytes);
            pipe(sandbox, writer, bytes);
            int rounds = setting.times(7, 2);
            CpuMeter cpu = new CpuMeter();
            for (int i = 0; i < rounds; i++) {
                listened.add(listen(sandbox, writer, bytes));
            }
            used = cpu.used();
            for (int i = 0; i < rounds; i++) {
                piped.add(pipe(sandbox, writer, bytes));
            }
        }
        String each = (bytes >> 20) + " MiB; " + used.perCycle(listened.count());
        report.row(
                Row.of(name(), mibPerSecond(bytes, listened), "MiB/s")
                        .withTarget(Target.valueAtLeast(MIB_PER_SECOND))
                        .withNote("to a listener, " + each));
        report.row(
                Row.of(name() + ".stream", mibPerSecond(bytes, piped), "MiB/s")
                        .withNote("the same to an InputStream"));
    }

    private static double mibPerSecond(long bytes, Samples samples) {
        return bytes / 1048576.0 / (samples.medianMillis() / 1e3);
    }

    private static long listen(Sandbox sandbox, ExecSpec writer, long bytes) {
        AtomicLong came = new AtomicLong();
        long start = System.nanoTime();
        sandbox.start(
                        writer,
                        new ExecListener() {
                            @Override
                            public void output(OutputFd fd, ByteBuffer data) {
                                came.addAndGet(data.remaining());
                            }
                        })
                .await();
        return took(start, came.get(), bytes);
    }

    private static long pipe(Sandbox sandbox, ExecSpec writer, long bytes) {
        long start = System.nanoTime();
        Exec exec = sandbox.pipe(writer);
        long came = 0;
        byte[] buffer = new byte[64 << 10];
        try (InputStream in = exec.stdout()) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                came += read;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        exec.await();
        return took(start, came, bytes);
    }

    private static long took(long start, long came, long bytes) {
        long end = System.nanoTime();
        if (came != bytes) {
            throw new IllegalStateException("Of " + bytes + " bytes " + came + " came.");
        }
        return end - start;
    }
}
