BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "schema_history" (
    "installed_rank" INT NOT NULL PRIMARY KEY,
    "version" VARCHAR(50),
    "description" VARCHAR(200) NOT NULL,
    "type" VARCHAR(20) NOT NULL,
    "script" VARCHAR(1000) NOT NULL,
    "checksum" INT,
    "installed_by" VARCHAR(100) NOT NULL,
    "installed_on" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f','now')),
    "execution_time" INT NOT NULL,
    "success" BOOLEAN NOT NULL
);
INSERT INTO schema_history VALUES(1,'1','schema 1','JDBC','dev.caisson.store.Migrations$Step',1036706594,'','2026-11-30 20:52:06.476',9,1);
INSERT INTO schema_history VALUES(2,'2','schema 2','JDBC','dev.caisson.store.Migrations$Step',-2112771522,'','2026-11-30 20:52:06.489',2,1);
CREATE TABLE node (
    name TEXT NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL,
    batch BIGINT NOT NULL,
    seen BIGINT NOT NULL
) WITHOUT ROWID;
INSERT INTO node VALUES('n1',1,0,1796071926507);
CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE gate (unused BIGINT);
CREATE TABLE item (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    parent TEXT,
    name TEXT,
    state TEXT NOT NULL,
    node TEXT,
    created BIGINT NOT NULL,
    due BIGINT,
    labels TEXT NOT NULL,
    version BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);
INSERT INTO item VALUES('sandbox','sb1','t1',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"yes"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb2','t2',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"no"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb3','t0',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"yes"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb4','t1',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"no"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb5','t2',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"yes"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb6','t0',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"no"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb7','t1',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"yes"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb8','t2',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"no"}',1,'{}');
INSERT INTO item VALUES('sandbox','sb9','t0',NULL,NULL,'running',NULL,1772366400000,NULL,'{"odd":"yes"}',1,'{}');
CREATE TABLE label (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, id, name),
    FOREIGN KEY (kind, id) REFERENCES item (kind, id) ON DELETE CASCADE
) WITHOUT ROWID;
INSERT INTO label VALUES('sandbox','sb2','odd','no');
INSERT INTO label VALUES('sandbox','sb4','odd','no');
INSERT INTO label VALUES('sandbox','sb6','odd','no');
INSERT INTO label VALUES('sandbox','sb8','odd','no');
INSERT INTO label VALUES('sandbox','sb1','odd','yes');
INSERT INTO label VALUES('sandbox','sb3','odd','yes');
INSERT INTO label VALUES('sandbox','sb5','odd','yes');
INSERT INTO label VALUES('sandbox','sb7','odd','yes');
INSERT INTO label VALUES('sandbox','sb9','odd','yes');
CREATE TABLE tenant_seq (
    tenant TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL
) WITHOUT ROWID;
INSERT INTO tenant_seq VALUES('t0',3);
INSERT INTO tenant_seq VALUES('t1',3);
INSERT INTO tenant_seq VALUES('t2',3);
CREATE TABLE event (
    tenant TEXT NOT NULL,
    seq BIGINT NOT NULL,
    time BIGINT NOT NULL,
    type TEXT NOT NULL,
    sandbox TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, seq)
);
INSERT INTO event VALUES('t1',1,1772366400000,'sandbox.created','sb1','{"id":"evadcc9de9","seq":1,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t1","sandbox":"sb1","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t2',1,1772366400000,'sandbox.created','sb2','{"id":"ev220bd648","seq":1,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t2","sandbox":"sb2","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t0',1,1772366400000,'sandbox.created','sb3','{"id":"ev398d658a","seq":1,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t0","sandbox":"sb3","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t1',2,1772366400000,'sandbox.created','sb4','{"id":"evadcc9de9","seq":2,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t1","sandbox":"sb4","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t2',2,1772366400000,'sandbox.created','sb5','{"id":"ev220bd648","seq":2,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t2","sandbox":"sb5","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t0',2,1772366400000,'sandbox.created','sb6','{"id":"ev398d658a","seq":2,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t0","sandbox":"sb6","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t1',3,1772366400000,'sandbox.created','sb7','{"id":"evadcc9de9","seq":3,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t1","sandbox":"sb7","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t2',3,1772366400000,'sandbox.created','sb8','{"id":"ev220bd648","seq":3,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t2","sandbox":"sb8","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO event VALUES('t0',3,1772366400000,'sandbox.created','sb9','{"id":"ev398d658a","seq":3,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t0","sandbox":"sb9","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
CREATE TABLE usage (
    hour BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    sandbox TEXT NOT NULL,
    session TEXT NOT NULL,
    exec TEXT NOT NULL,
    cpu_millis BIGINT NOT NULL,
    memory_byte_seconds BIGINT NOT NULL,
    disk_byte_seconds BIGINT NOT NULL,
    egress_bytes BIGINT NOT NULL,
    output_bytes BIGINT NOT NULL,
    sandbox_millis BIGINT NOT NULL,
    execs BIGINT NOT NULL,
    PRIMARY KEY (tenant, hour, sandbox, session, exec)
) WITHOUT ROWID;
INSERT INTO usage VALUES(1772366400000,'t0','sb2','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t0','sb3','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t0','sb6','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t1','sb0','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t1','sb1','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t1','sb4','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t2','sb1','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t2','sb2','se1','',1,2,3,4,5,6,7);
INSERT INTO usage VALUES(1772366400000,'t2','sb5','se1','',1,2,3,4,5,6,7);
CREATE INDEX "schema_history_s_idx" ON "schema_history" ("success");
CREATE UNIQUE INDEX item_name ON item (kind, tenant, name) WHERE name IS NOT NULL;
CREATE INDEX item_tenant ON item (kind, tenant, created, id);
CREATE INDEX item_parent ON item (kind, parent, created, id) WHERE parent IS NOT NULL;
CREATE INDEX item_node ON item (kind, node, state) WHERE node IS NOT NULL;
CREATE INDEX item_due ON item (kind, due) WHERE due IS NOT NULL;
CREATE INDEX label_value ON label (kind, name, value, id);
CREATE INDEX event_sandbox ON event (tenant, sandbox, seq) WHERE sandbox IS NOT NULL;
CREATE INDEX item_all ON item (kind, created, id) WHERE kind <> 'exec';
CREATE INDEX item_state ON item (kind, tenant, state, created, id) WHERE kind <> 'exec';
CREATE INDEX usage_hour ON usage (hour, tenant) WHERE exec = '';
CREATE INDEX usage_sandbox ON usage (sandbox, hour) WHERE exec = '';
COMMIT;
