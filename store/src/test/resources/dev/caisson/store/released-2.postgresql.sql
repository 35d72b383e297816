SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.event (
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    "time" bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    sandbox text COLLATE pg_catalog."C",
    body text NOT NULL
);
CREATE TABLE public.gate (
    unused bigint
);
CREATE TABLE public.item (
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    parent text COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    node text COLLATE pg_catalog."C",
    created bigint NOT NULL,
    due bigint,
    labels text NOT NULL,
    version bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE public.label (
    kind text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.meta (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL
);
CREATE TABLE public.node (
    name text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    batch bigint NOT NULL,
    seen bigint NOT NULL
);
CREATE TABLE public.schema_history (
    installed_rank integer NOT NULL,
    version character varying(50),
    description character varying(200) NOT NULL,
    type character varying(20) NOT NULL,
    script character varying(1000) NOT NULL,
    checksum integer,
    installed_by character varying(100) NOT NULL,
    installed_on timestamp without time zone DEFAULT now() NOT NULL,
    execution_time integer NOT NULL,
    success boolean NOT NULL
);
CREATE TABLE public.tenant_seq (
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL
);
CREATE TABLE public.usage (
    hour bigint NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    sandbox text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    exec text NOT NULL COLLATE pg_catalog."C",
    cpu_millis bigint NOT NULL,
    memory_byte_seconds bigint NOT NULL,
    disk_byte_seconds bigint NOT NULL,
    egress_bytes bigint NOT NULL,
    output_bytes bigint NOT NULL,
    sandbox_millis bigint NOT NULL,
    execs bigint NOT NULL
);
INSERT INTO public.event VALUES ('t1', 1, 1772366400000, 'sandbox.created', 'sb1', '{"id":"evadcc9de9","seq":1,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t1","sandbox":"sb1","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t2', 1, 1772366400000, 'sandbox.created', 'sb2', '{"id":"ev220bd648","seq":1,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t2","sandbox":"sb2","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t0', 1, 1772366400000, 'sandbox.created', 'sb3', '{"id":"ev398d658a","seq":1,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t0","sandbox":"sb3","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t1', 2, 1772366400000, 'sandbox.created', 'sb4', '{"id":"evadcc9de9","seq":2,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t1","sandbox":"sb4","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t2', 2, 1772366400000, 'sandbox.created', 'sb5', '{"id":"ev220bd648","seq":2,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t2","sandbox":"sb5","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t0', 2, 1772366400000, 'sandbox.created', 'sb6', '{"id":"ev398d658a","seq":2,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t0","sandbox":"sb6","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t1', 3, 1772366400000, 'sandbox.created', 'sb7', '{"id":"evadcc9de9","seq":3,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t1","sandbox":"sb7","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t2', 3, 1772366400000, 'sandbox.created', 'sb8', '{"id":"ev220bd648","seq":3,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t2","sandbox":"sb8","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.event VALUES ('t0', 3, 1772366400000, 'sandbox.created', 'sb9', '{"id":"ev398d658a","seq":3,"time":"2026-03-01T12:00:00Z","type":"sandbox.created","tenant":"t0","sandbox":"sb9","actor":{"subject":"tester","claimed":{}},"reason":"","data":{"why":"a test"}}');
INSERT INTO public.item VALUES ('sandbox', 'sb1', 't1', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"yes"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb2', 't2', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"no"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb3', 't0', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"yes"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb4', 't1', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"no"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb5', 't2', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"yes"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb6', 't0', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"no"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb7', 't1', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"yes"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb8', 't2', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"no"}', 1, '{}');
INSERT INTO public.item VALUES ('sandbox', 'sb9', 't0', NULL, NULL, 'running', NULL, 1772366400000, NULL, '{"odd":"yes"}', 1, '{}');
INSERT INTO public.label VALUES ('sandbox', 'sb1', 'odd', 'yes');
INSERT INTO public.label VALUES ('sandbox', 'sb2', 'odd', 'no');
INSERT INTO public.label VALUES ('sandbox', 'sb3', 'odd', 'yes');
INSERT INTO public.label VALUES ('sandbox', 'sb4', 'odd', 'no');
INSERT INTO public.label VALUES ('sandbox', 'sb5', 'odd', 'yes');
INSERT INTO public.label VALUES ('sandbox', 'sb6', 'odd', 'no');
INSERT INTO public.label VALUES ('sandbox', 'sb7', 'odd', 'yes');
INSERT INTO public.label VALUES ('sandbox', 'sb8', 'odd', 'no');
INSERT INTO public.label VALUES ('sandbox', 'sb9', 'odd', 'yes');
INSERT INTO public.node VALUES ('n1', 1, 10, 1796071929952);
INSERT INTO public.schema_history VALUES (1, '1', 'schema 1', 'JDBC', 'dev.caisson.store.Migrations$Step', 1036706594, 'caisson', '2026-11-30 20:52:09.771489', 67, true);
INSERT INTO public.schema_history VALUES (2, '2', 'schema 2', 'JDBC', 'dev.caisson.store.Migrations$Step', -2112771522, 'caisson', '2026-11-30 20:52:09.871827', 16, true);
INSERT INTO public.tenant_seq VALUES ('t1', 3);
INSERT INTO public.tenant_seq VALUES ('t2', 3);
INSERT INTO public.tenant_seq VALUES ('t0', 3);
INSERT INTO public.usage VALUES (1772366400000, 't1', 'sb1', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't2', 'sb2', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't0', 'sb3', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't1', 'sb4', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't2', 'sb5', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't0', 'sb6', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't1', 'sb0', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't2', 'sb1', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
INSERT INTO public.usage VALUES (1772366400000, 't0', 'sb2', 'se1', '', 1, 2, 3, 4, 5, 6, 7);
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (tenant, seq);
ALTER TABLE ONLY public.item
    ADD CONSTRAINT item_pkey PRIMARY KEY (kind, id);
ALTER TABLE ONLY public.label
    ADD CONSTRAINT label_pkey PRIMARY KEY (kind, id, name);
ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.schema_history
    ADD CONSTRAINT schema_history_pk PRIMARY KEY (installed_rank);
ALTER TABLE ONLY public.tenant_seq
    ADD CONSTRAINT tenant_seq_pkey PRIMARY KEY (tenant);
ALTER TABLE ONLY public.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (tenant, hour, sandbox, session, exec);
CREATE INDEX event_sandbox ON public.event USING btree (tenant, sandbox, seq) WHERE (sandbox IS NOT NULL);
CREATE INDEX item_all ON public.item USING btree (kind, created, id) WHERE (kind <> 'exec'::text);
CREATE INDEX item_due ON public.item USING btree (kind, due) WHERE (due IS NOT NULL);
CREATE UNIQUE INDEX item_name ON public.item USING btree (kind, tenant, name) WHERE (name IS NOT NULL);
CREATE INDEX item_node ON public.item USING btree (kind, node, state) WHERE (node IS NOT NULL);
CREATE INDEX item_parent ON public.item USING btree (kind, parent, created, id) WHERE (parent IS NOT NULL);
CREATE INDEX item_state ON public.item USING btree (kind, tenant, state, created, id) WHERE (kind <> 'exec'::text);
CREATE INDEX item_tenant ON public.item USING btree (kind, tenant, created, id);
CREATE INDEX label_value ON public.label USING btree (kind, name, value, id);
CREATE INDEX schema_history_s_idx ON public.schema_history USING btree (success);
CREATE INDEX usage_hour ON public.usage USING btree (hour, tenant) WHERE (exec = ''::text);
CREATE INDEX usage_sandbox ON public.usage USING btree (sandbox, hour) WHERE (exec = ''::text);
ALTER TABLE ONLY public.label
    ADD CONSTRAINT label_kind_id_fkey FOREIGN KEY (kind, id) REFERENCES public.item(kind, id) ON DELETE CASCADE;
