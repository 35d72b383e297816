package dev.caisson.egress;

import dev.caisson.policy.Verdict;
import java.io.IOException;

/** What the gateway itself says no to. */
final class Refusals {
    private Refusals() {}

    static Verdict sni(String name) {
        return no(
                "sni",
                "The server name in TLS is not the name that was looked up ("
                        + name
                        + "). Connect to the name that the certificate is for.");
    }

    static Verdict noSni() {
        return no(
                "sni missing",
                "Use a client that sends the server name in TLS, or ask for noSni in the rule.");
    }

    static Verdict ech() {
        return no(
                "ech",
                "Switch encrypted ClientHello off in the client, or ask for terminate or ech:"
                        + " outer-sni in the rule.");
    }

    static Verdict unreachable(IOException why) {
        String message = why.getMessage();
        return no(
                "unreachable",
                (message == null ? "The connection failed" : message)
                        + ". The policy allows it: check the name and the port, and whether that"
                        + " server runs.");
    }

    static Verdict scheme(String allowed) {
        return no(
                "scheme",
                "This is not what may be spoken there (" + allowed + "). Ask for another scheme.");
    }

    static Verdict secretMissing(String id) {
        return no(
                "secret missing",
                "The gateway was restarted and waits for the secret "
                        + id
                        + " from the server. Try again in a moment.");
    }

    static Verdict synthetic() {
        return no("address", "Look the name up again: this address stands for none.");
    }

    static Verdict terminate() {
        return no(
                "terminate",
                "TLS to an address cannot be terminated. Ask for a rule with the host's name.");
    }

    static Verdict proxy(String why) {
        return no("proxy", why);
    }

    static Verdict limit(String what) {
        return no(
                "limits." + what,
                "A limit of the way out is reached. Use less of it, or ask for a policy whose"
                        + " limits."
                        + what
                        + " is higher.");
    }

    static Verdict crowded() {
        return no(
                "connections at once",
                "Too many connections are looked into at the moment. Close those that are idle, or"
                        + " try again.");
    }

    static Verdict full() {
        return no(
                "requests at once",
                "Too many requests wait for their answers. Take the answers, then ask for more.");
    }

    static Verdict changed() {
        return no("policy changed", "Connect again: other rules hold for it now.");
    }

    static Verdict notAName() {
        return no("name", "Ask for a valid name: letters, digits and hyphens.");
    }

    static Verdict asked() {
        return no("ask", "Nobody allowed it in time. Ask for an approval, or for a rule.");
    }

    private static Verdict no(String rule, String remedy) {
        return new Verdict(Verdict.Answer.DENY, rule, remedy);
    }
}
