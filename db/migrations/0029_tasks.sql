CREATE TABLE `artifacts` (
	`account_id` text NOT NULL,
	`task_id` text NOT NULL,
	`n` integer NOT NULL,
	`artifact_id` text NOT NULL,
	`append` integer NOT NULL,
	`last_chunk` integer NOT NULL,
	`name` text,
	`parts` text,
	PRIMARY KEY(`account_id`, `task_id`, `n`),
	FOREIGN KEY (`account_id`,`task_id`) REFERENCES `tasks`(`account_id`,`id`) ON UPDATE cascade ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `artifacts_id` ON `artifacts` (`account_id`,`task_id`,`artifact_id`);--> statement-breakpoint
CREATE TABLE `contexts` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`context_id` text NOT NULL,
	`recipient_agent_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`used_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `context_id`, `recipient_agent_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `contexts_used` ON `contexts` (`used_at`);--> statement-breakpoint
CREATE TABLE `task_events` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`task_id` text NOT NULL,
	`n` integer NOT NULL,
	`id` text NOT NULL,
	`at` integer NOT NULL,
	`state` text,
	`sender_account_id` text,
	`message_id` text,
	`reason` text,
	FOREIGN KEY (`account_id`,`task_id`) REFERENCES `tasks`(`account_id`,`id`) ON UPDATE cascade ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `task_events_n` ON `task_events` (`account_id`,`task_id`,`n`);--> statement-breakpoint
CREATE UNIQUE INDEX `task_events_id` ON `task_events` (`account_id`,`task_id`,`id`);--> statement-breakpoint
CREATE INDEX `task_events_message` ON `task_events` (`sender_account_id`,`message_id`) WHERE message_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `task_messages` (
	`account_id` text NOT NULL,
	`task_id` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`message_id` text NOT NULL,
	`role` text NOT NULL,
	PRIMARY KEY(`account_id`, `task_id`, `message_id`),
	FOREIGN KEY (`account_id`,`task_id`) REFERENCES `tasks`(`account_id`,`id`) ON UPDATE cascade ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `task_messages_message` ON `task_messages` (`sender_account_id`,`message_id`);--> statement-breakpoint
CREATE TABLE `tasks` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`client_agent_id` text NOT NULL,
	`recipient_account_id` text NOT NULL,
	`recipient_agent_id` text NOT NULL,
	`recipient_alias` text NOT NULL,
	`message_id` text NOT NULL,
	`conversation_id` text NOT NULL,
	`context_id` text NOT NULL,
	`mode` text NOT NULL,
	`state` text NOT NULL,
	`status_at` integer NOT NULL,
	`generation` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`client_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`recipient_account_id`,`recipient_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `tasks_of_client` ON `tasks` (`account_id`,`client_agent_id`,`status_at`,`id`);--> statement-breakpoint
CREATE INDEX `tasks_of_recipient` ON `tasks` (`recipient_account_id`,`recipient_agent_id`,`id`);--> statement-breakpoint
CREATE INDEX `tasks_message` ON `tasks` (`account_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `tasks_open` ON `tasks` (`recipient_account_id`,`recipient_agent_id`,`account_id`,`client_agent_id`,`id`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `tasks_expire` ON `tasks` (`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `tasks_ended` ON `tasks` (`status_at`) WHERE expires_at IS NULL;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `task_id` text;--> statement-breakpoint
CREATE TRIGGER message_of_task_is_read AFTER UPDATE OF state ON deliveries
WHEN NEW.task_id IS NOT NULL AND OLD.state = 'unread' AND NEW.state = 'read'
BEGIN
  INSERT INTO task_events (account_id, task_id, n, id, at, state)
    SELECT account_id, id, generation + 1, 'read', NEW.read_at, 'working' FROM tasks
    WHERE account_id = NEW.sender_account_id AND id = NEW.task_id AND recipient_agent_id = NEW.agent_id
      AND state = 'submitted';
  UPDATE tasks SET state = 'working', status_at = NEW.read_at, generation = generation + 1
    WHERE account_id = NEW.sender_account_id AND id = NEW.task_id AND recipient_agent_id = NEW.agent_id
      AND state = 'submitted';
END;
--> statement-breakpoint
CREATE TRIGGER recipient_of_task_is_deleted AFTER UPDATE OF deleted_at ON agents
WHEN NEW.deleted_at IS NOT NULL
BEGIN
  UPDATE tasks SET expires_at = 0
    WHERE recipient_account_id = NEW.account_id AND recipient_agent_id = NEW.id AND expires_at IS NOT NULL;
END;
