CREATE INDEX `credentials_live` ON `credentials` (`account_id`,`last_used_at`,`created_at`) WHERE revoked_at IS NULL;--> statement-breakpoint
CREATE INDEX `deliveries_returned` ON `deliveries` (`account_id`,`inbox`) WHERE state = 'unread' AND release_count > 2;--> statement-breakpoint
CREATE INDEX `deliveries_parked` ON `deliveries` (`account_id`,`read_at`) WHERE state = 'parked';