/** What must not be lost: SQLite for one server, PostgreSQL for several. */
module dev.caisson.store {
    requires transitive dev.caisson.control;
    requires com.zaxxer.hikari;
    requires flyway.core;
    requires java.sql;
    requires org.postgresql.jdbc;
    requires org.slf4j;
    requires org.xerial.sqlitejdbc;
    requires static transitive org.jspecify;

    exports dev.caisson.store;
}
