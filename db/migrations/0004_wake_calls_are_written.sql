CREATE TRIGGER wake_calls_are_few AFTER INSERT ON wake_calls
BEGIN DELETE FROM wake_calls WHERE seq <= NEW.seq - 1000; END;
--> statement-breakpoint
CREATE TRIGGER key_ends_or_moves AFTER UPDATE OF revoked_at, account_id ON credentials
WHEN NEW.agent_id IS NOT NULL
BEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER key_goes AFTER DELETE ON credentials
WHEN OLD.agent_id IS NOT NULL
BEGIN INSERT INTO wake_calls (agent_id) VALUES (OLD.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER agent_ends AFTER UPDATE OF deleted_at ON agents
WHEN NEW.deleted_at IS NOT NULL
BEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.id); END;
--> statement-breakpoint
CREATE TRIGGER grant_ends AFTER UPDATE OF revoked_at ON oauth_grants
WHEN NEW.revoked_at IS NOT NULL AND NEW.agent_id IS NOT NULL
BEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER access_token_ends AFTER UPDATE OF revoked_at ON oauth_tokens
WHEN NEW.revoked_at IS NOT NULL AND NEW.kind = 'access'
BEGIN
  INSERT INTO wake_calls (agent_id) SELECT agent_id FROM oauth_grants
    WHERE account_id = NEW.account_id AND id = NEW.grant_id AND agent_id IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER batch_is_given_back AFTER UPDATE OF returned ON deliveries
WHEN NEW.state = 'unread' AND NOT EXISTS
  (SELECT 1 FROM deliveries WHERE account_id = OLD.account_id AND batch_id = OLD.batch_id)
BEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.agent_id); END;
