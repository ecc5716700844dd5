CREATE TABLE `oauth_clients` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`auth_method` text NOT NULL,
	`secret_hash` text,
	`address` text,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`fresh_until` integer,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_clients_address` ON `oauth_clients` (`address`,`created_at`);--> statement-breakpoint
CREATE INDEX `oauth_clients_unused` ON `oauth_clients` (`kind`,`created_at`) WHERE last_used_at IS NULL;--> statement-breakpoint
CREATE INDEX `oauth_clients_expires` ON `oauth_clients` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_grants` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`client_name` text NOT NULL,
	`agent_id` text,
	`scope` text NOT NULL,
	`resource` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_hash` text NOT NULL,
	`code_challenge` text NOT NULL,
	`code_expires_at` integer NOT NULL,
	`code_used_at` integer,
	`code_taken_by` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`last_used_at` integer,
	`revoked_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_grants_code` ON `oauth_grants` (`code_hash`);--> statement-breakpoint
CREATE INDEX `oauth_grants_agent` ON `oauth_grants` (`account_id`,`agent_id`);--> statement-breakpoint
CREATE INDEX `oauth_grants_user` ON `oauth_grants` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `oauth_grants_expires` ON `oauth_grants` (`expires_at`);--> statement-breakpoint
CREATE INDEX `oauth_grants_revoked` ON `oauth_grants` (`revoked_at`) WHERE revoked_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `oauth_grants_uncollected` ON `oauth_grants` (`code_expires_at`) WHERE code_used_at IS NULL;--> statement-breakpoint
CREATE TABLE `oauth_requests` (
	`handle_hash` text PRIMARY KEY NOT NULL,
	`cookie_hash` text NOT NULL,
	`session_id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`client_name` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`state` text,
	`code_challenge` text NOT NULL,
	`resource` text NOT NULL,
	`choices` text NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	`grant_id` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `oauth_requests_user` ON `oauth_requests` (`user_id`,`expires_at`);--> statement-breakpoint
CREATE INDEX `oauth_requests_expires` ON `oauth_requests` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_tokens` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`grant_id` text NOT NULL,
	`kind` text NOT NULL,
	`hash` text NOT NULL,
	`parent_id` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	`successor_id` text,
	`revoked_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`grant_id`) REFERENCES `oauth_grants`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_tokens_hash` ON `oauth_tokens` (`hash`);--> statement-breakpoint
CREATE INDEX `oauth_tokens_grant` ON `oauth_tokens` (`account_id`,`grant_id`);--> statement-breakpoint
CREATE INDEX `oauth_tokens_parent` ON `oauth_tokens` (`account_id`,`parent_id`) WHERE parent_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `oauth_tokens_expires` ON `oauth_tokens` (`expires_at`);