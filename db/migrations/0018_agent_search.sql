CREATE TABLE `agent_numbers` (
	`n` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_numbers_agent` ON `agent_numbers` (`account_id`,`agent_id`);--> statement-breakpoint
CREATE VIRTUAL TABLE agent_search USING fts5(trigrams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
--> statement-breakpoint
CREATE TRIGGER agent_is_numbered AFTER INSERT ON agents
BEGIN INSERT INTO agent_numbers (account_id, agent_id) VALUES (NEW.account_id, NEW.id); END;
--> statement-breakpoint
CREATE TRIGGER agent_is_searchable AFTER INSERT ON agent_numbers
BEGIN
  INSERT INTO agent_search (rowid, trigrams)
    SELECT NEW.n, group_concat(DISTINCT hex(NEW.account_id) || 'x' || hex(substr(lower(texts.text), place.key + 1, 3)))
    FROM (
      SELECT alias AS text FROM agents WHERE account_id = NEW.account_id AND id = NEW.agent_id
      UNION ALL SELECT description FROM agents WHERE account_id = NEW.account_id AND id = NEW.agent_id
    ) AS texts
    JOIN json_each('[' || replace(hex(zeroblob(length(texts.text))), '00', '0,') || '0]') AS place
    WHERE place.key <= length(texts.text) - 3;
END;
--> statement-breakpoint
CREATE TRIGGER agent_is_not_searchable AFTER DELETE ON agent_numbers
BEGIN DELETE FROM agent_search WHERE rowid = OLD.n; END;
--> statement-breakpoint
CREATE TRIGGER agent_is_described AFTER UPDATE OF alias, description ON agents
WHEN NEW.alias <> OLD.alias OR NEW.description <> OLD.description
BEGIN
  DELETE FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id;
  INSERT INTO agent_numbers (account_id, agent_id) VALUES (NEW.account_id, NEW.id);
END;
--> statement-breakpoint
INSERT INTO agent_numbers (account_id, agent_id) SELECT account_id, id FROM agents ORDER BY account_id, id;
