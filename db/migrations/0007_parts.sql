CREATE TABLE `parts` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`message_id` text NOT NULL,
	`media_type` text NOT NULL,
	`encoding` text NOT NULL,
	`content` text NOT NULL,
	`bytes` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `parts_message` ON `parts` (`account_id`,`message_id`);