CREATE TRIGGER activity_is_not_changed BEFORE UPDATE ON activity
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER activity_is_not_deleted BEFORE DELETE ON activity
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
