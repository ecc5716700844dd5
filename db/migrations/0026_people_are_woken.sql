CREATE TRIGGER session_is_ended AFTER UPDATE OF ended_at ON sessions
WHEN NEW.ended_at IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.user_id); END;
--> statement-breakpoint
CREATE TRIGGER session_is_removed AFTER DELETE ON sessions
WHEN OLD.ended_at IS NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.user_id); END;
--> statement-breakpoint
CREATE TRIGGER role_is_changed AFTER UPDATE OF role ON memberships
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.user_id); END;
--> statement-breakpoint
CREATE TRIGGER membership_is_removed AFTER DELETE ON memberships
BEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.user_id); END;
