CREATE INDEX `accounts_unclaimed` ON `accounts` (`created_at`) WHERE state = 'provisional';--> statement-breakpoint
CREATE INDEX `sessions_ended` ON `sessions` (`ended_at`) WHERE ended_at IS NOT NULL;