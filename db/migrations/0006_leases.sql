DROP TRIGGER wake_calls_are_few;
--> statement-breakpoint
DROP TRIGGER key_ends_or_moves;
--> statement-breakpoint
DROP TRIGGER key_goes;
--> statement-breakpoint
DROP TRIGGER agent_ends;
--> statement-breakpoint
DROP TRIGGER grant_ends;
--> statement-breakpoint
DROP TRIGGER access_token_ends;
--> statement-breakpoint
DROP TRIGGER batch_is_given_back;
--> statement-breakpoint
DROP INDEX `deliveries_returned`;
--> statement-breakpoint
DROP INDEX `deliveries_batch`;
--> statement-breakpoint
ALTER TABLE `open_reads` RENAME TO `leases`;
--> statement-breakpoint
ALTER TABLE `leases` RENAME COLUMN `batch_id` TO `id`;
--> statement-breakpoint
ALTER TABLE `leases` RENAME COLUMN `instance_id` TO `holder`;
--> statement-breakpoint
ALTER TABLE `leases` ADD `expires_at` integer;
--> statement-breakpoint
ALTER TABLE `given_back` RENAME TO `lease_releases`;
--> statement-breakpoint
ALTER TABLE `lease_releases` RENAME COLUMN `read_at` TO `leased_at`;
--> statement-breakpoint
ALTER TABLE `lease_releases` RENAME COLUMN `returned_at` TO `released_at`;
--> statement-breakpoint
ALTER TABLE `deliveries` RENAME COLUMN `batch_id` TO `lease_id`;
--> statement-breakpoint
ALTER TABLE `deliveries` RENAME COLUMN `returned` TO `release_count`;
--> statement-breakpoint
ALTER TABLE `messages` ADD `trial_number` integer;
--> statement-breakpoint
ALTER TABLE `instances` RENAME COLUMN `beats` TO `heartbeats`;
--> statement-breakpoint
ALTER TABLE `idempotency_keys` RENAME COLUMN `answer` TO `receipt`;
--> statement-breakpoint
ALTER TABLE `wake_calls` RENAME TO `wake_signals`;
--> statement-breakpoint
CREATE INDEX `deliveries_redelivered` ON `deliveries` (`account_id`,`agent_id`,`seq`) WHERE state = 'read' AND release_count > 0;
--> statement-breakpoint
CREATE INDEX `deliveries_lease` ON `deliveries` (`account_id`,`lease_id`) WHERE lease_id IS NOT NULL;
--> statement-breakpoint
CREATE TRIGGER wake_signals_are_few AFTER INSERT ON wake_signals
BEGIN DELETE FROM wake_signals WHERE seq <= NEW.seq - 1000; END;
--> statement-breakpoint
CREATE TRIGGER key_is_revoked_or_moved AFTER UPDATE OF revoked_at, account_id ON credentials
WHEN NEW.agent_id IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER key_is_removed AFTER DELETE ON credentials
WHEN OLD.agent_id IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER agent_is_deleted AFTER UPDATE OF deleted_at ON agents
WHEN NEW.deleted_at IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.id); END;
--> statement-breakpoint
CREATE TRIGGER grant_is_revoked AFTER UPDATE OF revoked_at ON oauth_grants
WHEN NEW.revoked_at IS NOT NULL AND NEW.agent_id IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER access_token_is_revoked AFTER UPDATE OF revoked_at ON oauth_tokens
WHEN NEW.revoked_at IS NOT NULL AND NEW.kind = 'access'
BEGIN
  INSERT INTO wake_signals (agent_id) SELECT agent_id FROM oauth_grants
    WHERE account_id = NEW.account_id AND id = NEW.grant_id AND agent_id IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER lease_is_released AFTER UPDATE OF release_count ON deliveries
WHEN NEW.state = 'unread' AND NOT EXISTS
  (SELECT 1 FROM deliveries WHERE account_id = OLD.account_id AND lease_id = OLD.lease_id)
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;
