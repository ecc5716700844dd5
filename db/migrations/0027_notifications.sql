CREATE TABLE `mail_digests` (
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`period` text NOT NULL,
	`next_at` integer NOT NULL,
	`told_seq` integer DEFAULT 0 NOT NULL,
	`token` text NOT NULL,
	PRIMARY KEY(`account_id`, `user_id`),
	FOREIGN KEY (`account_id`,`user_id`) REFERENCES `seats`(`account_id`,`user_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mail_digests_token` ON `mail_digests` (`token`);--> statement-breakpoint
CREATE INDEX `mail_digests_next` ON `mail_digests` (`next_at`);--> statement-breakpoint
CREATE TABLE `push_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`public_key` text NOT NULL,
	`encrypted_token` text NOT NULL,
	`token_iv` text NOT NULL,
	`token_auth_tag` text NOT NULL,
	`token_key_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `push_notices` (
	`account_id` text NOT NULL,
	`subscription_id` text NOT NULL,
	`thread_id` integer NOT NULL,
	`first_seq` integer NOT NULL,
	`last_seq` integer NOT NULL,
	`due_at` integer,
	`tries` integer DEFAULT 0 NOT NULL,
	`pushed_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`account_id`, `subscription_id`, `thread_id`),
	FOREIGN KEY (`account_id`,`subscription_id`) REFERENCES `push_subscriptions`(`account_id`,`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `push_notices_due` ON `push_notices` (`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `push_notices_told` ON `push_notices` (`pushed_at`) WHERE due_at IS NULL;--> statement-breakpoint
CREATE TABLE `push_subscriptions` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`session_id` text NOT NULL,
	`endpoint` text NOT NULL,
	`p256dh` text NOT NULL,
	`auth` text NOT NULL,
	`user_agent` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_success_at` integer,
	`failures` integer DEFAULT 0 NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`user_id`) REFERENCES `seats`(`account_id`,`user_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `push_subscriptions_endpoint` ON `push_subscriptions` (`endpoint`,`account_id`);--> statement-breakpoint
CREATE INDEX `push_subscriptions_user` ON `push_subscriptions` (`account_id`,`user_id`);--> statement-breakpoint
CREATE INDEX `push_subscriptions_session` ON `push_subscriptions` (`session_id`);--> statement-breakpoint
CREATE TRIGGER session_end_stops_push AFTER UPDATE OF ended_at ON sessions
WHEN NEW.ended_at IS NOT NULL
BEGIN DELETE FROM push_subscriptions WHERE session_id = NEW.id; END;
--> statement-breakpoint
CREATE TRIGGER session_removal_stops_push AFTER DELETE ON sessions
BEGIN DELETE FROM push_subscriptions WHERE session_id = OLD.id; END;
