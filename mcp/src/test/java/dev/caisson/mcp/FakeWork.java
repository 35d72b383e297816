package dev.caisson.mcp;

import dev.caisson.v1.ErrorJson;
import dev.caisson.v1.OutputJson;
import dev.caisson.v1.ResultFileJson;
import dev.caisson.v1.ResultJson;
import dev.caisson.v1.UsageJson;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A command whose text says what it does: {@code echo X}, {@code exit N}, {@code hang} … */
final class FakeWork implements Work {
    static final byte[] PNG =
            Base64.getDecoder()
                    .decode(
                            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
                                    + "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==");

    private final String id;
    private final String sandbox;
    private final CompletableFuture<Status> end = new CompletableFuture<>();
    private final StringBuilder out = new StringBuilder();
    private final StringBuilder err = new StringBuilder();
    private int exitCode;
    private List<ResultFileJson> files = List.of();
    private volatile @Nullable String approval;
    volatile boolean killed;

    FakeWork(String id, String sandbox, String script, @Nullable String input) {
        this.id = id;
        this.sandbox = sandbox;
        boolean ends = true;
        for (String line : script.split("\n", -1)) {
            ends &= step(line, input == null ? "" : input);
        }
        if (ends) {
            end("exited");
        }
    }

    /** Whether it goes on to its end. */
    private boolean step(String line, String input) {
        String[] words = line.split(" ", 2);
        String rest = words.length > 1 ? words[1] : "";
        switch (words[0]) {
            case "echo" -> out.append(rest).append('\n');
            case "warn" -> err.append(rest).append('\n');
            case "cat" -> out.append(input);
            case "exit" -> exitCode = Integer.parseInt(rest);
            case "big" -> out.append("x".repeat(Integer.parseInt(rest)));
            case "image" -> files = List.of(file("plot.png", PNG), file("a.txt", new byte[] {65}));
            case "missing" ->
                    end.complete(
                            new Status(
                                    "failed",
                                    sandbox,
                                    null,
                                    new ErrorJson(
                                            "command_not_found",
                                            "There is no command.",
                                            "Use one that is there.",
                                            null,
                                            false,
                                            Map.of()),
                                    null));
            case "sleep" ->
                    CompletableFuture.delayedExecutor(Long.parseLong(rest), TimeUnit.MILLISECONDS)
                            .execute(() -> end("exited"));
            case "ask" -> approval = rest;
            default -> {}
        }
        return !List.of("sleep", "hang", "ask", "missing").contains(words[0]);
    }

    private static ResultFileJson file(String path, byte[] content) {
        String data = Base64.getEncoder().encodeToString(content);
        return new ResultFileJson(path, "regular", content.length, null, 0644, data, null);
    }

    void decided(boolean approve) {
        approval = null;
        out.append(approve ? "approved\n" : "denied\n");
        end("exited");
    }

    void end(String reason) {
        ResultJson result =
                new ResultJson(
                        reason.equals("exited") ? exitCode : null,
                        null,
                        reason,
                        List.of(),
                        output(out),
                        output(err),
                        List.of(),
                        files,
                        List.of(),
                        new UsageJson(12, 3, 0, 1000, 1, 1, 0),
                        List.of(),
                        null);
        end.complete(new Status("ended", sandbox, result, null, null));
    }

    private static OutputJson output(StringBuilder text) {
        return new OutputJson("text", text.toString(), text.length(), false, 0);
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public Status status() {
        String state = approval == null ? "running" : "waiting_approval";
        return end.getNow(new Status(state, sandbox, null, null, approval));
    }

    @Override
    public Status await(Duration longest) {
        try {
            return end.get(longest.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return status();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw dev.caisson.api.CaissonException.of(
                    dev.caisson.api.ErrorCode.CANCELLED, "interrupted");
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public Piece output(boolean stderr, long offset, int length) {
        byte[] all = (stderr ? err : out).toString().getBytes(StandardCharsets.UTF_8);
        int from = (int) Math.min(offset, all.length);
        int to = (int) Math.min((long) from + length, all.length);
        return new Piece(Arrays.copyOfRange(all, from, to), from);
    }

    @Override
    public void kill() {
        killed = true;
        end("killed");
    }
}
