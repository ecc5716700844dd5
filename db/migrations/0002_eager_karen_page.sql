CREATE TABLE `attempts` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `attempts_subject` ON `attempts` (`kind`,`subject`,`created_at`);--> statement-breakpoint
CREATE INDEX `attempts_created` ON `attempts` (`created_at`);