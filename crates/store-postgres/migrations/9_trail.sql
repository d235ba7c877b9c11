-- The trail says with what scope somebody acted, by which request, and what was changed from what to what.
ALTER TABLE redrive.audit ADD COLUMN scope text CHECK (scope IN ('read', 'act', 'admin'));
ALTER TABLE redrive.audit ADD COLUMN request_id text;
ALTER TABLE redrive.audit ADD COLUMN before text;
ALTER TABLE redrive.audit ADD COLUMN after text;

-- It only grows: a line is written, gets its end once, and stays.
CREATE FUNCTION redrive.audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail only grows';
END
$$;

CREATE TRIGGER audit_stays BEFORE DELETE OR TRUNCATE ON redrive.audit
FOR EACH STATEMENT EXECUTE FUNCTION redrive.audit_only_grows();

CREATE TRIGGER audit_ends_once BEFORE UPDATE ON redrive.audit FOR EACH ROW
WHEN (OLD.outcome IS NOT NULL OR NEW.outcome IS NULL
    OR (OLD.number, OLD.at, OLD.actor, OLD.action, OLD.subject) IS DISTINCT FROM (NEW.number, NEW.at, NEW.actor, NEW.action, NEW.subject)
    OR (OLD.reason, OLD.scope, OLD.request_id) IS DISTINCT FROM (NEW.reason, NEW.scope, NEW.request_id))
EXECUTE FUNCTION redrive.audit_only_grows();
