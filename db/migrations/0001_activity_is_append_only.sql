CREATE TRIGGER activity_is_not_changed BEFORE UPDATE ON activity
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER activity_is_not_deleted BEFORE DELETE ON activity
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER activity_is_not_replaced BEFORE INSERT ON activity
WHEN EXISTS (SELECT 1 FROM activity WHERE account_id = NEW.account_id AND n = NEW.n)
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
