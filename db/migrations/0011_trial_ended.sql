ALTER TABLE `trials` ADD `ended_at` integer;--> statement-breakpoint
CREATE INDEX `trials_to_end` ON `trials` (`expires_at`) WHERE "trials"."ended_at" IS NULL;