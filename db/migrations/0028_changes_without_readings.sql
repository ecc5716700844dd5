DROP INDEX `activity_changes`;--> statement-breakpoint
CREATE INDEX `activity_changes` ON `activity` (`account_id`,`n`) WHERE substr(tool, 1, 11) <> 'admin_list_' AND substr(tool, 1, 5) <> 'read_';