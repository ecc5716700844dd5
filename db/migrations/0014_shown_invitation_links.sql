ALTER TABLE `invitations` ADD `is_link_shown` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `registered_by_shown_link` integer DEFAULT false NOT NULL;