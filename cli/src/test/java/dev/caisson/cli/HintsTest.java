package dev.caisson.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HintsTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "ModuleNotFoundError: No module named 'numpy.linalg'|Python module numpy.linalg",
                "Error: Cannot find module '@scope/left-pad'|Node module @scope/left-pad",
                "[ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /work/a.mjs|Node"
                        + " module zod",
                "Can't locate JSON/XS.pm in @INC (you may need to install it)|Perl module"
                        + " JSON/XS.pm",
                "Hello.java:1: error: package com.google.common does not exist|Java package"
                        + " com.google.common",
                "cannot load such file -- rails (LoadError)|Ruby library rails",
            })
    void namesTheModule(String line, String expected) {
        assertThat(Hints.missingModule("Traceback\n" + line + "\n"))
                .hasValueSatisfying(
                        hint -> assertThat(hint).startsWith("the " + expected + " is not in"));
    }

    @Test
    void repeatsNoControlCharacters() {
        assertThat(Hints.missingModule("No module named '\033[2Jx'")).isEmpty();
        assertThat(Hints.missingModule("ModuleNotFoundError: No module named '\033[2Jx'"))
                .isEmpty();
    }
}
