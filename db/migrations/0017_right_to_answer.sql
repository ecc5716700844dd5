ALTER TABLE `deliveries` ADD `stranger_id` text;--> statement-breakpoint
UPDATE `deliveries` SET `stranger_id` = (
  SELECT `from_agent_id` FROM `messages`
    WHERE `messages`.`account_id` = `deliveries`.`sender_account_id` AND `messages`.`id` = `deliveries`.`message_id`
) WHERE `sender_account_id` <> `account_id`;
--> statement-breakpoint
CREATE INDEX `deliveries_stranger` ON `deliveries` (`account_id`,`agent_id`,`stranger_id`) WHERE stranger_id IS NOT NULL;
