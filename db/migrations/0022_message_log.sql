CREATE TABLE `projections` (
	`name` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `seats` (
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	PRIMARY KEY(`account_id`, `user_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `seats_agent` ON `seats` (`account_id`,`agent_id`);--> statement-breakpoint
CREATE TABLE `snoozes` (
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`until` integer NOT NULL,
	`level` integer NOT NULL,
	PRIMARY KEY(`account_id`, `user_id`, `kind`, `subject`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `snoozes_until` ON `snoozes` (`until`);--> statement-breakpoint
CREATE TABLE `thread_agents` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`thread_id` integer NOT NULL,
	`delivery_seq` integer NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `thread_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`thread_id`) REFERENCES `threads`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `thread_agents_thread` ON `thread_agents` (`account_id`,`thread_id`);--> statement-breakpoint
CREATE TABLE `thread_messages` (
	`account_id` text NOT NULL,
	`thread_id` integer NOT NULL,
	`seq` integer NOT NULL,
	`root_seq` integer NOT NULL,
	PRIMARY KEY(`account_id`, `thread_id`, `seq`),
	FOREIGN KEY (`account_id`,`thread_id`) REFERENCES `threads`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `thread_messages_seq` ON `thread_messages` (`account_id`,`seq`);--> statement-breakpoint
CREATE INDEX `thread_messages_root` ON `thread_messages` (`account_id`,`root_seq`) WHERE root_seq <> seq;--> statement-breakpoint
CREATE TABLE `thread_seen` (
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`thread_id` integer NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`account_id`, `user_id`, `thread_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`thread_id`) REFERENCES `threads`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `thread_seen_thread` ON `thread_seen` (`account_id`,`thread_id`);--> statement-breakpoint
CREATE TABLE `threads` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`kind` text NOT NULL,
	`key` text NOT NULL,
	`last_seq` integer NOT NULL,
	`last_at` integer NOT NULL,
	`messages` integer NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `threads_id` ON `threads` (`account_id`,`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `threads_key` ON `threads` (`account_id`,`kind`,`key`);--> statement-breakpoint
CREATE INDEX `threads_newest` ON `threads` (`account_id`,`last_seq`);--> statement-breakpoint
CREATE UNIQUE INDEX `agent_numbers_inbox` ON `agent_numbers` (`account_id`,`agent_id`,`n`);
--> statement-breakpoint
INSERT INTO `agent_numbers` (`account_id`, `agent_id`)
  SELECT `account_id`, `id` FROM `agents` WHERE NOT EXISTS
    (SELECT 1 FROM `agent_numbers` WHERE `account_id` = `agents`.`account_id` AND `agent_id` = `agents`.`id`)
  ORDER BY `account_id`, `id`;
--> statement-breakpoint
DROP TRIGGER agent_is_described;
--> statement-breakpoint
CREATE TRIGGER agent_is_described AFTER UPDATE OF alias, description ON agents
WHEN NEW.alias <> OLD.alias OR NEW.description <> OLD.description
BEGIN
  DELETE FROM agent_search
    WHERE rowid = (SELECT n FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id);
  INSERT INTO agent_search (rowid, trigrams)
    SELECT (SELECT n FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id),
    group_concat(DISTINCT hex(NEW.account_id) || 'x' || hex(substr(lower(texts.text), place.key + 1, 3)))
    FROM (SELECT NEW.alias AS text UNION ALL SELECT NEW.description) AS texts
    JOIN json_each('[' || replace(hex(zeroblob(length(texts.text))), '00', '0,') || '0]') AS place
    WHERE place.key <= length(texts.text) - 3;
END;
--> statement-breakpoint
DROP TRIGGER lease_is_released;
--> statement-breakpoint
CREATE TABLE `__new_deliveries` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`message_id` text NOT NULL,
	`state` text NOT NULL,
	`chars` integer NOT NULL,
	`created_at` integer NOT NULL,
	`read_at` integer,
	`lease_id` text,
	`release_count` integer DEFAULT 0 NOT NULL,
	`woken_at` integer,
	`stranger_id` text,
	`body` text,
	`a2a` text,
	`flagged` integer DEFAULT false NOT NULL,
	`inbox` integer NOT NULL,
	FOREIGN KEY (`account_id`,`agent_id`,`inbox`) REFERENCES `agent_numbers`(`account_id`,`agent_id`,`n`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`sender_account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
INSERT INTO `__new_deliveries`("seq", "account_id", "agent_id", "sender_account_id", "message_id", "state", "chars", "created_at", "read_at", "lease_id", "release_count", "woken_at", "stranger_id", "body", "a2a", "flagged", "inbox")
  SELECT "seq", "account_id", "agent_id", "sender_account_id", "message_id", "state", "chars", "created_at", "read_at", "lease_id", "release_count", "woken_at", "stranger_id", "body", "a2a", "flagged",
    (SELECT n FROM agent_numbers WHERE account_id = deliveries.account_id AND agent_id = deliveries.agent_id)
  FROM `deliveries` ORDER BY "seq";
--> statement-breakpoint
DELETE FROM sqlite_sequence WHERE name = '__new_deliveries';
--> statement-breakpoint
INSERT INTO sqlite_sequence (name, seq) SELECT '__new_deliveries', seq FROM sqlite_sequence WHERE name = 'deliveries';
--> statement-breakpoint
DROP TABLE `deliveries`;--> statement-breakpoint
ALTER TABLE `__new_deliveries` RENAME TO `deliveries`;--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_message` ON `deliveries` (`message_id`,`sender_account_id`,`account_id`,`agent_id`);--> statement-breakpoint
CREATE INDEX `deliveries_unread` ON `deliveries` (`inbox`,`seq`,`chars`) WHERE state = 'unread';--> statement-breakpoint
CREATE INDEX `deliveries_read` ON `deliveries` (`inbox`,`seq`) WHERE state = 'read';--> statement-breakpoint
CREATE INDEX `deliveries_redelivered` ON `deliveries` (`inbox`,`seq`) WHERE state = 'read' AND release_count > 0;--> statement-breakpoint
CREATE INDEX `deliveries_lease` ON `deliveries` (`account_id`,`lease_id`) WHERE lease_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_stranger` ON `deliveries` (`account_id`,`agent_id`,`stranger_id`) WHERE stranger_id IS NOT NULL;--> statement-breakpoint
CREATE TRIGGER lease_is_released AFTER UPDATE OF release_count ON deliveries
WHEN NEW.state = 'unread' AND NOT EXISTS
  (SELECT 1 FROM deliveries WHERE account_id = OLD.account_id AND lease_id = OLD.lease_id)
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TABLE `__new_messages` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`from_agent_id` text NOT NULL,
	`from_alias` text NOT NULL,
	`type` text NOT NULL,
	`recipient` text NOT NULL,
	`channel_id` text,
	`reply_to_message_id` text,
	`conversation_id` text,
	`flagged` integer DEFAULT false NOT NULL,
	`created_at` integer NOT NULL,
	`trial_number` integer,
	`sanitized` integer DEFAULT false NOT NULL,
	`hops` integer DEFAULT 0 NOT NULL,
	`body` text NOT NULL,
	`a2a` text,
	FOREIGN KEY (`account_id`,`from_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`channel_id`) REFERENCES `channels`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `__message_order` (`seq` integer PRIMARY KEY NOT NULL, `message` integer NOT NULL);
--> statement-breakpoint
INSERT INTO `__message_order` (`message`)
  SELECT message FROM (
    SELECT message, created_at, id,
      coalesce(first_delivery, max(first_delivery) OVER (PARTITION BY delivered_before), 0) AS place
    FROM (
      SELECT message, first_delivery, created_at, id,
        count(first_delivery) OVER (ORDER BY created_at, id ROWS UNBOUNDED PRECEDING) AS delivered_before
      FROM (
        SELECT rowid AS message, created_at, id, (
          SELECT min(seq) FROM deliveries WHERE message_id = messages.id AND sender_account_id = messages.account_id
        ) AS first_delivery FROM messages
      )
    )
  ) ORDER BY place, created_at, id;
--> statement-breakpoint
INSERT INTO `__new_messages`("seq", "account_id", "id", "from_agent_id", "from_alias", "type", "recipient", "channel_id", "reply_to_message_id", "conversation_id", "flagged", "created_at", "trial_number", "sanitized", "hops", "body", "a2a")
  SELECT `__message_order`.`seq`, "account_id", "id", "from_agent_id", "from_alias", "type", "recipient", "channel_id", "reply_to_message_id", "conversation_id", "flagged", "created_at", "trial_number", "sanitized", "hops", "body", "a2a"
  FROM `__message_order` CROSS JOIN `messages` ON `messages`.rowid = `__message_order`.`message`
  ORDER BY `__message_order`.`seq`;
--> statement-breakpoint
DROP TABLE `__message_order`;
--> statement-breakpoint
DROP TABLE `messages`;--> statement-breakpoint
ALTER TABLE `__new_messages` RENAME TO `messages`;--> statement-breakpoint
CREATE UNIQUE INDEX `messages_id` ON `messages` (`account_id`,`id`);--> statement-breakpoint
CREATE INDEX `messages_reply` ON `messages` (`reply_to_message_id`) WHERE reply_to_message_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `messages_sent` ON `messages` (`account_id`,`created_at`);--> statement-breakpoint
ALTER TABLE `accounts` ADD `people_read_since` integer;
--> statement-breakpoint
UPDATE `accounts` SET `people_read_since` = 0
  WHERE `state` = 'claimed' AND NOT EXISTS (SELECT 1 FROM `signups` WHERE `account_id` = `accounts`.`id`);
--> statement-breakpoint
INSERT INTO `projections` (`name`, `seq`) VALUES ('threads', 0);
--> statement-breakpoint
DROP INDEX `channel_members_agent`;
--> statement-breakpoint
CREATE INDEX `channel_members_agent` ON `channel_members` (`account_id`,`agent_id`,`channel_id`);
