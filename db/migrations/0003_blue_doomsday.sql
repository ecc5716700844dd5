CREATE INDEX `activity_tool` ON `activity` (`account_id`,`tool`,`n`);--> statement-breakpoint
CREATE INDEX `activity_user` ON `activity` (`account_id`,`user_id`,`n`) WHERE user_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `activity_credential` ON `activity` (`account_id`,`credential_id`,`n`) WHERE credential_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `activity_refused` ON `activity` (`account_id`,`n`) WHERE outcome <> 'ok';--> statement-breakpoint
CREATE INDEX `activity_time` ON `activity` (`account_id`,`created_at`,`n`);--> statement-breakpoint
CREATE INDEX `messages_sent` ON `messages` (`account_id`,`created_at`);