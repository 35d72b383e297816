package dev.caisson.egress;

import dev.caisson.wire.egress.Question;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Questions of the mode {@code ask} that wait for somebody's word. Safe for use by several threads.
 */
final class Questions {
    private final AtomicLong last = new AtomicLong();
    private final ConcurrentHashMap<Long, Waiting> waiting = new ConcurrentHashMap<>();
    private final Asker asker;

    /** Asks the clients. */
    @FunctionalInterface
    interface Asker {
        /** Tells every connection of a client; false: there is none, so nobody will answer. */
        boolean ask(int owner, Question question);
    }

    /** The answer. */
    record Word(boolean allow, boolean remember) {
        static final Word NO = new Word(false, false);
    }

    private record Waiting(int owner, Question question, CompletableFuture<Word> word) {}

    Questions(Asker asker) {
        this.asker = asker;
    }

    /** Waits for an answer; without one in time it is no. */
    Word ask(SandboxKey sandbox, String target, String rule, long millis)
            throws InterruptedException {
        long number = last.incrementAndGet();
        Question question =
                Question.newBuilder()
                        .setNumber(number)
                        .setSandbox(sandbox.id())
                        .setTarget(target)
                        .setRule(rule)
                        .build();
        Waiting asked = new Waiting(sandbox.owner(), question, new CompletableFuture<>());
        waiting.put(number, asked);
        try {
            // Without a client now there may be one in a moment: it gets the open questions.
            asker.ask(sandbox.owner(), question);
            return asked.word().get(millis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return Word.NO;
        } catch (ExecutionException e) {
            throw new IllegalStateException("Nobody completes it with a failure", e);
        } finally {
            waiting.remove(number);
        }
    }

    /** Takes an answer; of another client's question nothing is taken. */
    boolean decide(int owner, long number, Word word) {
        Waiting asked = waiting.get(number);
        return asked != null && asked.owner() == owner && asked.word().complete(word);
    }

    /** The open questions of a client. */
    java.util.List<Question> open(int owner) {
        return waiting.values().stream()
                .filter(asked -> asked.owner() == owner)
                .map(Waiting::question)
                .toList();
    }
}
