-- Execs and what each used are by far the most rows. They are found by their sandbox, by their tenant and by when they are
-- due; the other ways to look for a row are for the other kinds, and for sums.

DROP INDEX item_all;

DROP INDEX item_state;

DROP INDEX usage_hour;

DROP INDEX usage_sandbox;

CREATE INDEX item_all ON item (kind, created, id) WHERE kind <> 'exec';

CREATE INDEX item_state ON item (kind, tenant, state, created, id) WHERE kind <> 'exec';

CREATE INDEX usage_hour ON usage (hour, tenant) WHERE exec = '';

CREATE INDEX usage_sandbox ON usage (sandbox, hour) WHERE exec = '';
