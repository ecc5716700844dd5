CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`state` text NOT NULL,
	`join_email` text,
	`created_at` integer NOT NULL,
	`claimed_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_join_email` ON `accounts` (`join_email`);--> statement-breakpoint
CREATE TABLE `activity` (
	`account_id` text NOT NULL,
	`n` integer NOT NULL,
	`id` text NOT NULL,
	`created_at` integer NOT NULL,
	`actor_type` text NOT NULL,
	`user_id` text,
	`credential_id` text,
	`credential_kind` text,
	`tool` text NOT NULL,
	`arguments` text NOT NULL,
	`outcome` text NOT NULL,
	`request_id` text,
	`previous_hash` text NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`account_id`, `n`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `agent_access` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`alias` text NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `alias`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `agent_guardrails` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`direction` text NOT NULL,
	`action` text,
	PRIMARY KEY(`account_id`, `agent_id`, `guardrail_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`guardrail_id`) REFERENCES `guardrails`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `agent_guardrails_guardrail` ON `agent_guardrails` (`account_id`,`guardrail_id`);--> statement-breakpoint
CREATE TABLE `agent_skills` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`skill_id` text NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `skill_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`skill_id`) REFERENCES `skills`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `agent_skills_skill` ON `agent_skills` (`account_id`,`skill_id`);--> statement-breakpoint
CREATE TABLE `agents` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`alias` text NOT NULL,
	`type` text NOT NULL,
	`visibility` text NOT NULL,
	`access_policy` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`remote_url` text,
	`encrypted_token` text,
	`token_iv` text,
	`token_auth_tag` text,
	`token_key_id` text,
	`signup_id` text,
	`created_at` integer NOT NULL,
	`deleted_at` integer,
	`last_seen_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`signup_id`) REFERENCES `signups`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agents_live_alias` ON `agents` (`alias`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE INDEX `agents_alias` ON `agents` (`alias`);--> statement-breakpoint
CREATE INDEX `agents_of_account` ON `agents` (`account_id`,`alias`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE INDEX `agents_public` ON `agents` (`alias`) WHERE visibility = 'public' AND deleted_at IS NULL;--> statement-breakpoint
CREATE TABLE `channel_members` (
	`account_id` text NOT NULL,
	`channel_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`joined_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `channel_id`, `agent_id`),
	FOREIGN KEY (`account_id`,`channel_id`) REFERENCES `channels`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `channel_members_agent` ON `channel_members` (`account_id`,`agent_id`);--> statement-breakpoint
CREATE TABLE `channels` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`external_integration_type` text,
	`external_channel_name` text,
	`created_at` integer NOT NULL,
	`deleted_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `channels_live_name` ON `channels` (`account_id`,`name`) WHERE deleted_at IS NULL;--> statement-breakpoint
CREATE TABLE `credentials` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`agent_id` text,
	`user_id` text,
	`name` text DEFAULT '' NOT NULL,
	`hash` text NOT NULL,
	`last4` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`revoked_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_hash` ON `credentials` (`hash`);--> statement-breakpoint
CREATE INDEX `credentials_agent` ON `credentials` (`account_id`,`agent_id`);--> statement-breakpoint
CREATE TABLE `deliveries` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`message_id` text NOT NULL,
	`state` text NOT NULL,
	`chars` integer NOT NULL,
	`created_at` integer NOT NULL,
	`read_at` integer,
	`batch_id` text,
	`returned` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`sender_account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_message` ON `deliveries` (`message_id`,`sender_account_id`,`account_id`,`agent_id`);--> statement-breakpoint
CREATE INDEX `deliveries_unread` ON `deliveries` (`account_id`,`agent_id`,`seq`,`chars`) WHERE state = 'unread';--> statement-breakpoint
CREATE INDEX `deliveries_read` ON `deliveries` (`account_id`,`agent_id`,`seq`) WHERE state = 'read';--> statement-breakpoint
CREATE INDEX `deliveries_batch` ON `deliveries` (`account_id`,`batch_id`) WHERE batch_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `guardrails` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`provider` text NOT NULL,
	`config` text NOT NULL,
	`action` text NOT NULL,
	`on_failure` text NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`encrypted_token` text,
	`token_iv` text,
	`token_auth_tag` text,
	`token_key_id` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `guardrails_name` ON `guardrails` (`account_id`,`name`);--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`message_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `key`),
	FOREIGN KEY (`account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_message` ON `idempotency_keys` (`account_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `memberships` (
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `user_id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `memberships_user` ON `memberships` (`user_id`);--> statement-breakpoint
CREATE TABLE `messages` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`from_agent_id` text NOT NULL,
	`from_alias` text NOT NULL,
	`type` text NOT NULL,
	`recipient` text NOT NULL,
	`channel_id` text,
	`body` text NOT NULL,
	`reply_to_message_id` text,
	`conversation_id` text,
	`a2a` text,
	`flagged` integer DEFAULT false NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`from_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`channel_id`) REFERENCES `channels`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `signups` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`owner_email` text NOT NULL,
	`address` text NOT NULL,
	`claim_token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `signups_claim_token` ON `signups` (`claim_token_hash`);--> statement-breakpoint
CREATE INDEX `signups_address` ON `signups` (`address`,`created_at`);--> statement-breakpoint
CREATE TABLE `skills` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `skills_name` ON `skills` (`account_id`,`name`);--> statement-breakpoint
CREATE TABLE `store_facts` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `trials` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`used` integer DEFAULT 0 NOT NULL,
	`max` integer NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`name` text DEFAULT '' NOT NULL,
	`password_hash` text,
	`email_verified_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email` ON `users` (`email`);