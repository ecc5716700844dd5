CREATE TABLE `presence` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`holder` text NOT NULL,
	`attended` text,
	`runner` text,
	`is_waiting` integer NOT NULL,
	`leased_until` integer NOT NULL,
	`changed_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `holder`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `presence_changed` ON `presence` (`changed_at`);--> statement-breakpoint
CREATE INDEX `presence_holder` ON `presence` (`holder`) WHERE (attended IS NOT NULL OR runner IS NOT NULL OR is_waiting = 1 OR leased_until > 0);