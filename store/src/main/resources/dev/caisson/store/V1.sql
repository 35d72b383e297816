-- ${text} and ${small} differ between the databases: text that is compared byte by byte, and a table
-- of short rows that is kept in the order of its key.

CREATE TABLE node (
    name ${text} NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    seen BIGINT NOT NULL
) ${small};

CREATE TABLE meta (
    name ${text} NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) ${small};

-- Locked by every write, exclusively by one that met a conflict. Has no rows.
CREATE TABLE gate (unused BIGINT);

CREATE TABLE item (
    kind ${text} NOT NULL,
    id ${text} NOT NULL,
    tenant ${text} NOT NULL,
    parent ${text},
    name ${text},
    state ${text} NOT NULL,
    node ${text},
    created BIGINT NOT NULL,
    due BIGINT,
    labels TEXT NOT NULL,
    version BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);

CREATE UNIQUE INDEX item_name ON item (kind, tenant, name) WHERE name IS NOT NULL;

CREATE INDEX item_all ON item (kind, created, id);

CREATE INDEX item_tenant ON item (kind, tenant, created, id);

CREATE INDEX item_state ON item (kind, tenant, state, created, id);

CREATE INDEX item_parent ON item (kind, parent, created, id) WHERE parent IS NOT NULL;

CREATE INDEX item_node ON item (kind, node, state) WHERE node IS NOT NULL;

CREATE INDEX item_due ON item (kind, due) WHERE due IS NOT NULL;

CREATE TABLE label (
    kind ${text} NOT NULL,
    id ${text} NOT NULL,
    name ${text} NOT NULL,
    value ${text} NOT NULL,
    PRIMARY KEY (kind, id, name),
    FOREIGN KEY (kind, id) REFERENCES item (kind, id) ON DELETE CASCADE
) ${small};

CREATE INDEX label_value ON label (kind, name, value, id);

CREATE TABLE tenant_seq (
    tenant ${text} NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL
) ${small};

CREATE TABLE event (
    tenant ${text} NOT NULL,
    seq BIGINT NOT NULL,
    time BIGINT NOT NULL,
    type ${text} NOT NULL,
    sandbox ${text},
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, seq)
);

CREATE INDEX event_sandbox ON event (tenant, sandbox, seq) WHERE sandbox IS NOT NULL;

-- What is absent is '', since NULL is not equal to itself.
CREATE TABLE usage (
    hour BIGINT NOT NULL,
    tenant ${text} NOT NULL,
    sandbox ${text} NOT NULL,
    session ${text} NOT NULL,
    exec ${text} NOT NULL,
    cpu_millis BIGINT NOT NULL,
    memory_byte_seconds BIGINT NOT NULL,
    disk_byte_seconds BIGINT NOT NULL,
    egress_bytes BIGINT NOT NULL,
    output_bytes BIGINT NOT NULL,
    sandbox_millis BIGINT NOT NULL,
    execs BIGINT NOT NULL,
    PRIMARY KEY (tenant, hour, sandbox, session, exec)
) ${small};

CREATE INDEX usage_hour ON usage (hour);

CREATE INDEX usage_sandbox ON usage (sandbox, hour);
