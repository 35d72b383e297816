package dev.caisson.api;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ApiRulesTest {
    private static final JavaClasses API =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("dev.caisson.api");

    @Test
    void usesOnlyTypesOfTheJdkAndItsOwn() {
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("dev.caisson.api", "java..", "org.jspecify.annotations")
                .check(API);
    }

    @Test
    void namesOfClosedListsAreUniqueAndFoundAgain() {
        assertThat(Arrays.stream(ErrorCode.values()).map(ErrorCode::value)).doesNotHaveDuplicates();
        for (ErrorCode code : ErrorCode.values()) {
            assertThat(ErrorCode.of(code.value())).isEqualTo(code);
            assertThat(code.httpStatus()).isBetween(400, 599);
        }
        assertThat(ExecReason.of("newer")).isEqualTo(ExecReason.UNKNOWN);
        assertThat(EventType.of("exec.ended")).isEqualTo(EventType.EXEC_ENDED);
    }

    @Test
    void usersHaveANumberOrAName() {
        assertThat(User.ROOT.isRoot()).isTrue();
        assertThat(User.named("root").isRoot()).isTrue();
        assertThat(User.named("a-b").label()).isEqualTo("a-b");
        assertThatThrownBy(() -> User.named("0")).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> new User(-1, -1)).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> new User(65_533, 0)).isInstanceOf(CaissonException.class);
    }

    @Test
    void refusesArgumentsThatNoSystemAccepts() {
        assertThatThrownBy(() -> ExecSpec.of(List.of())).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> ExecSpec.of("a", "b\0c")).isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> ExecSpec.of("a").withEnv(Map.of("A=B", "c")))
                .isInstanceOf(CaissonException.class);
        assertThatThrownBy(() -> ExecSpec.of("a").withCwd("work"))
                .isInstanceOf(CaissonException.class);
    }
}
