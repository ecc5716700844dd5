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
ALTER TABLE `deliveries` ADD `woken_at` integer;--> statement-breakpoint
ALTER TABLE `idempotency_keys` ADD `answer` text;--> statement-breakpoint
CREATE INDEX `messages_reply` ON `messages` (`reply_to_message_id`) WHERE reply_to_message_id IS NOT NULL;