package dev.caisson.server;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.Set;

/** HTTP only: no SQL, no engine; little is public. */
@AnalyzeClasses(
        packages = "dev.caisson.server",
        importOptions = ImportOption.DoNotIncludeTests.class)
class ServerRulesTest {
    private static final Set<String> PUBLIC =
            Set.of(
                    "HttpApi",
                    "ServerSettings",
                    "ServerLimits",
                    "ServerTls",
                    "PortsSettings",
                    "Census",
                    "Additions",
                    "Mount",
                    "RequestListener",
                    "SocketEndpoint");

    @ArchTest
    static final ArchRule NO_SQL_AND_NO_ENGINE =
            noClasses()
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(
                            "java.sql..", "dev.caisson.store..", "dev.caisson.engine..");

    @ArchTest
    static final ArchRule NO_STORE =
            noClasses()
                    .should()
                    .dependOnClassesThat()
                    .haveFullyQualifiedName("dev.caisson.control.Store");

    @ArchTest
    static final ArchRule LITTLE_IS_PUBLIC =
            classes()
                    .that()
                    .arePublic()
                    .and()
                    .areTopLevelClasses()
                    .should()
                    .haveNameMatching(
                            "dev\\.caisson\\.server\\.(" + String.join("|", PUBLIC) + ")");
}
