ALTER TABLE `credentials` ADD `grant_id` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `issued_by` text REFERENCES users(id);--> statement-breakpoint
CREATE INDEX `credentials_grant` ON `credentials` (`account_id`,`grant_id`) WHERE grant_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `credentials_issued` ON `credentials` (`account_id`,`issued_by`) WHERE issued_by IS NOT NULL AND revoked_at IS NULL;--> statement-breakpoint
UPDATE `credentials` SET `grant_id` = (
  SELECT oauth_grants.id FROM activity
    JOIN oauth_grants ON oauth_grants.account_id = activity.account_id AND oauth_grants.id = activity.credential_id
    WHERE activity.account_id = credentials.account_id AND activity.tool = 'fetch_agent_key' AND activity.outcome = 'ok'
      AND activity.created_at >= credentials.created_at
      AND oauth_grants.agent_id = credentials.agent_id AND oauth_grants.user_id = credentials.user_id
    ORDER BY activity.n LIMIT 1
) WHERE `kind` = 'agent_key' AND `user_id` IS NOT NULL AND `revoked_at` IS NULL;
--> statement-breakpoint
UPDATE `credentials` SET `name` = (
  SELECT client_name FROM oauth_grants
    WHERE oauth_grants.account_id = credentials.account_id AND oauth_grants.id = credentials.grant_id
) WHERE `grant_id` IS NOT NULL;
--> statement-breakpoint
UPDATE `credentials` SET `revoked_at` = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE `kind` = 'agent_key' AND `user_id` IS NOT NULL AND `grant_id` IS NULL AND `revoked_at` IS NULL;
