CREATE TABLE `conversation_pauses` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`key` text NOT NULL,
	`agents` text NOT NULL,
	`reason` text NOT NULL,
	`turns` integer NOT NULL,
	`hops` integer NOT NULL,
	`paused_at` integer NOT NULL,
	`told_at` integer,
	`resumed_at` integer,
	`changed_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `conversation_pauses_key` ON `conversation_pauses` (`account_id`,`key`);--> statement-breakpoint
CREATE INDEX `conversation_pauses_untold` ON `conversation_pauses` (`paused_at`) WHERE told_at IS NULL;--> statement-breakpoint
CREATE INDEX `conversation_pauses_resumed` ON `conversation_pauses` (`resumed_at`) WHERE resumed_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `conversation_pauses_changed` ON `conversation_pauses` (`changed_at`);--> statement-breakpoint
CREATE TABLE `conversation_turns` (
	`account_id` text NOT NULL,
	`key` text NOT NULL,
	`counter_id` text NOT NULL,
	`agents` text NOT NULL,
	`turns` integer NOT NULL,
	`reset_at` integer NOT NULL,
	`steps` text NOT NULL,
	`turned_at` integer NOT NULL,
	`changed_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `key`, `counter_id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `conversation_turns_turned` ON `conversation_turns` (`turned_at`);--> statement-breakpoint
CREATE INDEX `conversation_turns_changed` ON `conversation_turns` (`changed_at`);--> statement-breakpoint
CREATE TABLE `recent_reads` (
	`account_id` text NOT NULL,
	`reader` text NOT NULL,
	`source` text NOT NULL,
	`counter_id` text NOT NULL,
	`reads` integer NOT NULL,
	`answered` integer NOT NULL,
	`read_at` integer NOT NULL,
	`changed_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `reader`, `source`, `counter_id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `recent_reads_read` ON `recent_reads` (`read_at`);--> statement-breakpoint
CREATE INDEX `recent_reads_changed` ON `recent_reads` (`changed_at`);--> statement-breakpoint
ALTER TABLE `accounts` ADD `turn_limits` text;--> statement-breakpoint
CREATE INDEX `accounts_turn_limits` ON `accounts` (`id`) WHERE turn_limits IS NOT NULL;--> statement-breakpoint
ALTER TABLE `agents` ADD `automated` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `agents_automated` ON `agents` (`alias`) WHERE automated = 1;--> statement-breakpoint
ALTER TABLE `messages` ADD `hops` integer DEFAULT 0 NOT NULL;