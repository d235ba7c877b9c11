-- The trail says with what scope somebody acted, by which request, and what was changed from what to what.
ALTER TABLE audit ADD COLUMN scope TEXT CHECK (scope IN ('read', 'act', 'admin'));
ALTER TABLE audit ADD COLUMN request_id TEXT;
ALTER TABLE audit ADD COLUMN before TEXT;
ALTER TABLE audit ADD COLUMN after TEXT;

-- It only grows: a line is written, gets its end once, and stays.
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit trail only grows');
END;

CREATE TRIGGER audit_ends_once BEFORE UPDATE ON audit
WHEN OLD.outcome IS NOT NULL OR NEW.outcome IS NULL
    OR (OLD.number, OLD.at, OLD.actor, OLD.action, OLD.subject) IS NOT (NEW.number, NEW.at, NEW.actor, NEW.action, NEW.subject)
    OR (OLD.reason, OLD.scope, OLD.request_id) IS NOT (NEW.reason, NEW.scope, NEW.request_id)
BEGIN
    SELECT RAISE(ABORT, 'the audit trail only grows');
END;
