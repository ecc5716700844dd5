CREATE TABLE `usage` (
	`account_id` text NOT NULL,
	`day` integer NOT NULL,
	`subject` text NOT NULL,
	`counter_id` text NOT NULL,
	`messages` integer NOT NULL,
	`bytes` integer NOT NULL,
	PRIMARY KEY(`account_id`, `day`, `subject`, `counter_id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `usage_day` ON `usage` (`day`,`account_id`);
