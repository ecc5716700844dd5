CREATE TABLE `attempts` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `attempts_subject` ON `attempts` (`kind`,`subject`,`created_at`);--> statement-breakpoint
CREATE INDEX `attempts_created` ON `attempts` (`created_at`);--> statement-breakpoint
CREATE TABLE `given_back` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`message_id` text NOT NULL,
	`n` integer NOT NULL,
	`read_at` integer NOT NULL,
	`returned_at` integer NOT NULL,
	PRIMARY KEY(`message_id`, `sender_account_id`, `account_id`, `agent_id`, `n`),
	FOREIGN KEY (`message_id`,`sender_account_id`,`account_id`,`agent_id`) REFERENCES `deliveries`(`message_id`,`sender_account_id`,`account_id`,`agent_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `instances` (
	`id` text PRIMARY KEY NOT NULL,
	`beats` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `invitations` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`token_hash` text NOT NULL,
	`invited_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	`ended_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`invited_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_token` ON `invitations` (`token_hash`);--> statement-breakpoint
CREATE INDEX `invitations_expire` ON `invitations` (`expires_at`);--> statement-breakpoint
CREATE TABLE `links` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`token_hash` text NOT NULL,
	`user_id` text,
	`email` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `links_token` ON `links` (`token_hash`);--> statement-breakpoint
CREATE INDEX `links_user` ON `links` (`user_id`,`kind`);--> statement-breakpoint
CREATE INDEX `links_expire` ON `links` (`expires_at`);--> statement-breakpoint
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
CREATE INDEX `oauth_tokens_expires` ON `oauth_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `open_reads` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`batch_id` text NOT NULL,
	`instance_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `batch_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	`user_agent` text DEFAULT '' NOT NULL,
	`address` text DEFAULT '' NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_token` ON `sessions` (`token_hash`);--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`);--> statement-breakpoint
CREATE INDEX `sessions_expire` ON `sessions` (`expires_at`);--> statement-breakpoint
CREATE INDEX `sessions_ended` ON `sessions` (`ended_at`) WHERE ended_at IS NOT NULL;--> statement-breakpoint
DROP INDEX `agent_guardrails_guardrail`;--> statement-breakpoint
CREATE INDEX `agent_guardrails_guardrail` ON `agent_guardrails` (`account_id`,`guardrail_id`,`agent_id`);--> statement-breakpoint
DROP INDEX `agent_skills_skill`;--> statement-breakpoint
CREATE INDEX `agent_skills_skill` ON `agent_skills` (`account_id`,`skill_id`,`agent_id`);--> statement-breakpoint
ALTER TABLE `deliveries` ADD `woken_at` integer;--> statement-breakpoint
ALTER TABLE `idempotency_keys` ADD `answer` text;--> statement-breakpoint
CREATE INDEX `accounts_unclaimed` ON `accounts` (`created_at`) WHERE state = 'provisional';--> statement-breakpoint
CREATE INDEX `activity_tool` ON `activity` (`account_id`,`tool`,`n`);--> statement-breakpoint
CREATE INDEX `activity_user` ON `activity` (`account_id`,`user_id`,`n`) WHERE user_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `activity_credential` ON `activity` (`account_id`,`credential_id`,`n`) WHERE credential_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `activity_refused` ON `activity` (`account_id`,`n`) WHERE outcome <> 'ok';--> statement-breakpoint
CREATE INDEX `activity_time` ON `activity` (`account_id`,`created_at`,`n`);--> statement-breakpoint
CREATE INDEX `messages_reply` ON `messages` (`reply_to_message_id`) WHERE reply_to_message_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `messages_sent` ON `messages` (`account_id`,`created_at`);