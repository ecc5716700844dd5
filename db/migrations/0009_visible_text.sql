ALTER TABLE `messages` ADD `sanitized` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `agent_access_alias` ON `agent_access` (`alias`);