package dev.caisson.bench;

import java.io.PrintStream;
import java.io.StringWriter;
import java.util.OptionalDouble;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** Rows as one JSON object each, one per line. */
final class JsonReport implements Report {
    private final JsonFactory factory = new JsonFactory();
    private final PrintStream out;

    JsonReport(PrintStream out) {
        this.out = out;
    }

    @Override
    public void row(Row row) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = factory.createGenerator(ObjectWriteContext.empty(), text)) {
            json.writeStartObject();
            json.writeStringProperty("name", row.name());
            number(json, "value", row.value());
            json.writeStringProperty("unit", row.unit());
            string(json, "peer", row.peer());
            number(json, "peerValue", row.peerValue());
            number(json, "ratio", row.ratio());
            string(json, "target", row.target().map(Target::toString).orElse(""));
            json.writeName("met");
            if (row.met().isPresent()) {
                json.writeBoolean(row.met().get());
            } else {
                json.writeNull();
            }
            if (!row.skipped().isEmpty()) {
                json.writeStringProperty("skipped", row.skipped());
            }
            if (!row.note().isEmpty()) {
                json.writeStringProperty("note", row.note());
            }
            json.writeEndObject();
        }
        out.println(text);
        out.flush();
    }

    private static void string(JsonGenerator json, String name, String value) {
        json.writeName(name);
        if (value.isEmpty()) {
            json.writeNull();
        } else {
            json.writeString(value);
        }
    }

    private static void number(JsonGenerator json, String name, OptionalDouble value) {
        json.writeName(name);
        if (value.isPresent()) {
            json.writeNumber(Math.round(value.getAsDouble() * 1e4) / 1e4);
        } else {
            json.writeNull();
        }
    }
}
