package dev.caisson.doctor;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Looks at this machine, without changing anything. Works without root as far as it can. */
public final class Doctor {
    private Doctor() {}

    /** Everything that matters, what is most basic first. */
    public static List<Finding> examine(Asked asked) {
        return examine(new RealHost(), asked, Instant.now());
    }

    static List<Finding> examine(Host host, Asked asked, Instant now) {
        Kernel kernel = new Kernel(host);
        List<Finding> findings = new ArrayList<>();
        findings.addAll(new Machine(host, asked).look());
        findings.addAll(kernel.look());
        findings.addAll(new Cgroups(host, kernel.version()).look());
        findings.addAll(new Programs(host, now).look());
        return List.copyOf(findings);
    }
}
