package dev.caisson.serve;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.util.List;

/**
 * How a server logs: time, level, logger, message and key-value pairs, a line each, on standard
 * error. In code, since reading a file of it takes a tenth of a second of each start; a file that
 * the property {@code logback.configurationFile} names counts instead.
 */
public final class LogSetting extends ContextAwareBase implements Configurator {
    private static final String PATTERN =
            "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX,UTC} %-5level %logger{0} %msg %kvp%n%ex{full}";
    private static final List<String> TALKATIVE =
            List.of("org.eclipse.jetty", "org.flywaydb", "com.zaxxer.hikari");

    /** For the service loader. */
    public LogSetting() {}

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        if (System.getProperty("logback.configurationFile") != null) {
            return ExecutionStatus.INVOKE_NEXT_IF_ANY;
        }
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern(PATTERN);
        encoder.start();
        ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
        console.setContext(context);
        console.setName("STDERR");
        console.setTarget("System.err");
        console.setEncoder(encoder);
        console.start();
        TALKATIVE.forEach(name -> context.getLogger(name).setLevel(Level.WARN));
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.toLevel(System.getenv("CAISSON_LOG"), Level.INFO));
        root.addAppender(console);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
