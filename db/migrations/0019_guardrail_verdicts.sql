CREATE TABLE `blocked_sends` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`error` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `key`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `blocked_sends_created` ON `blocked_sends` (`created_at`);--> statement-breakpoint
CREATE TABLE `guardrail_counts` (
	`account_id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`hour` integer NOT NULL,
	`action` text NOT NULL,
	`n` integer NOT NULL,
	PRIMARY KEY(`account_id`, `guardrail_id`, `hour`, `action`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `guardrail_counts_hour` ON `guardrail_counts` (`hour`);--> statement-breakpoint
CREATE TABLE `guardrail_exceptions` (
	`account_id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`text_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `guardrail_id`, `text_hash`),
	FOREIGN KEY (`account_id`,`guardrail_id`) REFERENCES `guardrails`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `verdicts` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`guardrail_name` text NOT NULL,
	`direction` text NOT NULL,
	`action` text NOT NULL,
	`kinds` text NOT NULL,
	`agent_ids` text NOT NULL,
	`sender_alias` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`recipient` text NOT NULL,
	`message_id` text,
	`text_hash` text NOT NULL,
	`content` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `verdicts_guardrail` ON `verdicts` (`account_id`,`guardrail_id`,`id`);--> statement-breakpoint
CREATE INDEX `verdicts_message` ON `verdicts` (`sender_account_id`,`message_id`) WHERE message_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `verdicts_created` ON `verdicts` (`created_at`);--> statement-breakpoint
CREATE INDEX `verdicts_content` ON `verdicts` (`created_at`) WHERE content IS NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `people_see_contents` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `body` text;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `a2a` text;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `flagged` integer DEFAULT false NOT NULL;