// Generated from db/migrations by scripts/migrations.ts. Do not edit.
export const migrations: { name: string; hash: string; createdAt: number; statements: string[] }[] = [
  {
    "name": "0000_grid",
    "hash": "142ab524654149065561ece07abaad302c659b540316b995ad7cceb1a338af63",
    "createdAt": 1795258211201,
    "statements": [
      "CREATE TABLE `accounts` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`name` text NOT NULL,\n\t`state` text NOT NULL,\n\t`join_email` text,\n\t`created_at` integer NOT NULL,\n\t`claimed_at` integer\n);",
      "CREATE UNIQUE INDEX `accounts_join_email` ON `accounts` (`join_email`);",
      "CREATE TABLE `activity` (\n\t`account_id` text NOT NULL,\n\t`n` integer NOT NULL,\n\t`id` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`actor_type` text NOT NULL,\n\t`user_id` text,\n\t`credential_id` text,\n\t`credential_kind` text,\n\t`tool` text NOT NULL,\n\t`arguments` text NOT NULL,\n\t`outcome` text NOT NULL,\n\t`request_id` text,\n\t`previous_hash` text NOT NULL,\n\t`hash` text NOT NULL,\n\tPRIMARY KEY(`account_id`, `n`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `agent_access` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`alias` text NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`, `alias`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `agent_guardrails` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`guardrail_id` text NOT NULL,\n\t`direction` text NOT NULL,\n\t`action` text,\n\tPRIMARY KEY(`account_id`, `agent_id`, `guardrail_id`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`guardrail_id`) REFERENCES `guardrails`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `agent_guardrails_guardrail` ON `agent_guardrails` (`account_id`,`guardrail_id`);",
      "CREATE TABLE `agent_skills` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`skill_id` text NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`, `skill_id`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`skill_id`) REFERENCES `skills`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `agent_skills_skill` ON `agent_skills` (`account_id`,`skill_id`);",
      "CREATE TABLE `agents` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`alias` text NOT NULL,\n\t`type` text NOT NULL,\n\t`visibility` text NOT NULL,\n\t`access_policy` text NOT NULL,\n\t`description` text DEFAULT '' NOT NULL,\n\t`remote_url` text,\n\t`encrypted_token` text,\n\t`token_iv` text,\n\t`token_auth_tag` text,\n\t`token_key_id` text,\n\t`signup_id` text,\n\t`created_at` integer NOT NULL,\n\t`deleted_at` integer,\n\t`last_seen_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`signup_id`) REFERENCES `signups`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `agents_live_alias` ON `agents` (`alias`) WHERE deleted_at IS NULL;",
      "CREATE INDEX `agents_alias` ON `agents` (`alias`);",
      "CREATE INDEX `agents_of_account` ON `agents` (`account_id`,`alias`) WHERE deleted_at IS NULL;",
      "CREATE INDEX `agents_public` ON `agents` (`alias`) WHERE visibility = 'public' AND deleted_at IS NULL;",
      "CREATE TABLE `channel_members` (\n\t`account_id` text NOT NULL,\n\t`channel_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`joined_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `channel_id`, `agent_id`),\n\tFOREIGN KEY (`account_id`,`channel_id`) REFERENCES `channels`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `channel_members_agent` ON `channel_members` (`account_id`,`agent_id`);",
      "CREATE TABLE `channels` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`name` text NOT NULL,\n\t`description` text DEFAULT '' NOT NULL,\n\t`external_integration_type` text,\n\t`external_channel_name` text,\n\t`created_at` integer NOT NULL,\n\t`deleted_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `channels_live_name` ON `channels` (`account_id`,`name`) WHERE deleted_at IS NULL;",
      "CREATE TABLE `credentials` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`kind` text NOT NULL,\n\t`agent_id` text,\n\t`user_id` text,\n\t`name` text DEFAULT '' NOT NULL,\n\t`hash` text NOT NULL,\n\t`last4` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`last_used_at` integer,\n\t`revoked_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `credentials_hash` ON `credentials` (`hash`);",
      "CREATE INDEX `credentials_agent` ON `credentials` (`account_id`,`agent_id`);",
      "CREATE TABLE `deliveries` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`sender_account_id` text NOT NULL,\n\t`message_id` text NOT NULL,\n\t`state` text NOT NULL,\n\t`chars` integer NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`read_at` integer,\n\t`batch_id` text,\n\t`returned` integer DEFAULT 0 NOT NULL,\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`sender_account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `deliveries_message` ON `deliveries` (`message_id`,`sender_account_id`,`account_id`,`agent_id`);",
      "CREATE INDEX `deliveries_unread` ON `deliveries` (`account_id`,`agent_id`,`seq`,`chars`) WHERE state = 'unread';",
      "CREATE INDEX `deliveries_read` ON `deliveries` (`account_id`,`agent_id`,`seq`) WHERE state = 'read';",
      "CREATE INDEX `deliveries_batch` ON `deliveries` (`account_id`,`batch_id`) WHERE batch_id IS NOT NULL;",
      "CREATE TABLE `guardrails` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`name` text NOT NULL,\n\t`provider` text NOT NULL,\n\t`config` text NOT NULL,\n\t`action` text NOT NULL,\n\t`on_failure` text NOT NULL,\n\t`enabled` integer DEFAULT true NOT NULL,\n\t`encrypted_token` text,\n\t`token_iv` text,\n\t`token_auth_tag` text,\n\t`token_key_id` text,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `guardrails_name` ON `guardrails` (`account_id`,`name`);",
      "CREATE TABLE `idempotency_keys` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`key` text NOT NULL,\n\t`request_hash` text NOT NULL,\n\t`message_id` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`, `key`),\n\tFOREIGN KEY (`account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `idempotency_keys_message` ON `idempotency_keys` (`account_id`,`message_id`);",
      "CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);",
      "CREATE TABLE `memberships` (\n\t`account_id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`role` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `user_id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `memberships_user` ON `memberships` (`user_id`);",
      "CREATE TABLE `messages` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`from_agent_id` text NOT NULL,\n\t`from_alias` text NOT NULL,\n\t`type` text NOT NULL,\n\t`recipient` text NOT NULL,\n\t`channel_id` text,\n\t`body` text NOT NULL,\n\t`reply_to_message_id` text,\n\t`conversation_id` text,\n\t`a2a` text,\n\t`flagged` integer DEFAULT false NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`,`from_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`channel_id`) REFERENCES `channels`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `signups` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`owner_email` text NOT NULL,\n\t`address` text NOT NULL,\n\t`claim_token_hash` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `signups_claim_token` ON `signups` (`claim_token_hash`);",
      "CREATE INDEX `signups_address` ON `signups` (`address`,`created_at`);",
      "CREATE TABLE `skills` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`name` text NOT NULL,\n\t`description` text DEFAULT '' NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `skills_name` ON `skills` (`account_id`,`name`);",
      "CREATE TABLE `store_facts` (\n\t`key` text PRIMARY KEY NOT NULL,\n\t`value` text NOT NULL\n);",
      "CREATE TABLE `trials` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`used` integer DEFAULT 0 NOT NULL,\n\t`max` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `users` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`email` text NOT NULL,\n\t`name` text DEFAULT '' NOT NULL,\n\t`password_hash` text,\n\t`email_verified_at` integer,\n\t`created_at` integer NOT NULL\n);",
      "CREATE UNIQUE INDEX `users_email` ON `users` (`email`);"
    ]
  },
  {
    "name": "0001_activity_is_append_only",
    "hash": "86e642be55a092293df775f690a8370e0f5ea43ace9d36a9359a426d57f7ad42",
    "createdAt": 1795258211970,
    "statements": [
      "CREATE TRIGGER activity_is_not_changed BEFORE UPDATE ON activity\nBEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;",
      "CREATE TRIGGER activity_is_not_deleted BEFORE DELETE ON activity\nBEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;",
      "CREATE TRIGGER activity_is_not_replaced BEFORE INSERT ON activity\nWHEN EXISTS (SELECT 1 FROM activity WHERE account_id = NEW.account_id AND n = NEW.n)\nBEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;"
    ]
  },
  {
    "name": "0002_people_delivery_oauth",
    "hash": "9f5dd93b54670c92b84356c4115aeeb0894eee42adf87b41f5e37570c245b916",
    "createdAt": 1795295635313,
    "statements": [
      "CREATE TABLE `attempts` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`kind` text NOT NULL,\n\t`subject` text NOT NULL,\n\t`created_at` integer NOT NULL\n);",
      "CREATE INDEX `attempts_subject` ON `attempts` (`kind`,`subject`,`created_at`);",
      "CREATE INDEX `attempts_created` ON `attempts` (`created_at`);",
      "CREATE TABLE `given_back` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`sender_account_id` text NOT NULL,\n\t`message_id` text NOT NULL,\n\t`n` integer NOT NULL,\n\t`read_at` integer NOT NULL,\n\t`returned_at` integer NOT NULL,\n\tPRIMARY KEY(`message_id`, `sender_account_id`, `account_id`, `agent_id`, `n`),\n\tFOREIGN KEY (`message_id`,`sender_account_id`,`account_id`,`agent_id`) REFERENCES `deliveries`(`message_id`,`sender_account_id`,`account_id`,`agent_id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `instances` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`beats` integer NOT NULL,\n\t`created_at` integer NOT NULL\n);",
      "CREATE TABLE `invitations` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`email` text NOT NULL,\n\t`role` text NOT NULL,\n\t`token_hash` text NOT NULL,\n\t`invited_by` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`accepted_at` integer,\n\t`ended_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`invited_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `invitations_token` ON `invitations` (`token_hash`);",
      "CREATE INDEX `invitations_expire` ON `invitations` (`expires_at`);",
      "CREATE TABLE `links` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`kind` text NOT NULL,\n\t`token_hash` text NOT NULL,\n\t`user_id` text,\n\t`email` text,\n\t`created_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`used_at` integer,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `links_token` ON `links` (`token_hash`);",
      "CREATE INDEX `links_user` ON `links` (`user_id`,`kind`);",
      "CREATE INDEX `links_expire` ON `links` (`expires_at`);",
      "CREATE TABLE `oauth_clients` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`kind` text NOT NULL,\n\t`name` text NOT NULL,\n\t`redirect_uris` text NOT NULL,\n\t`auth_method` text NOT NULL,\n\t`secret_hash` text,\n\t`address` text,\n\t`created_at` integer NOT NULL,\n\t`last_used_at` integer,\n\t`fresh_until` integer,\n\t`expires_at` integer NOT NULL\n);",
      "CREATE INDEX `oauth_clients_address` ON `oauth_clients` (`address`,`created_at`);",
      "CREATE INDEX `oauth_clients_unused` ON `oauth_clients` (`kind`,`created_at`) WHERE last_used_at IS NULL;",
      "CREATE INDEX `oauth_clients_expires` ON `oauth_clients` (`expires_at`);",
      "CREATE TABLE `oauth_grants` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`client_id` text NOT NULL,\n\t`client_name` text NOT NULL,\n\t`agent_id` text,\n\t`scope` text NOT NULL,\n\t`resource` text NOT NULL,\n\t`redirect_uri` text NOT NULL,\n\t`code_hash` text NOT NULL,\n\t`code_challenge` text NOT NULL,\n\t`code_expires_at` integer NOT NULL,\n\t`code_used_at` integer,\n\t`code_taken_by` text,\n\t`created_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`last_used_at` integer,\n\t`revoked_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `oauth_grants_code` ON `oauth_grants` (`code_hash`);",
      "CREATE INDEX `oauth_grants_agent` ON `oauth_grants` (`account_id`,`agent_id`);",
      "CREATE INDEX `oauth_grants_user` ON `oauth_grants` (`user_id`,`created_at`);",
      "CREATE INDEX `oauth_grants_expires` ON `oauth_grants` (`expires_at`);",
      "CREATE INDEX `oauth_grants_revoked` ON `oauth_grants` (`revoked_at`) WHERE revoked_at IS NOT NULL;",
      "CREATE INDEX `oauth_grants_uncollected` ON `oauth_grants` (`code_expires_at`) WHERE code_used_at IS NULL;",
      "CREATE TABLE `oauth_requests` (\n\t`handle_hash` text PRIMARY KEY NOT NULL,\n\t`cookie_hash` text NOT NULL,\n\t`session_id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`client_id` text NOT NULL,\n\t`client_name` text NOT NULL,\n\t`redirect_uri` text NOT NULL,\n\t`state` text,\n\t`code_challenge` text NOT NULL,\n\t`resource` text NOT NULL,\n\t`choices` text NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`used_at` integer,\n\t`grant_id` text,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `oauth_requests_user` ON `oauth_requests` (`user_id`,`expires_at`);",
      "CREATE INDEX `oauth_requests_expires` ON `oauth_requests` (`expires_at`);",
      "CREATE TABLE `oauth_tokens` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`grant_id` text NOT NULL,\n\t`kind` text NOT NULL,\n\t`hash` text NOT NULL,\n\t`parent_id` text,\n\t`created_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`used_at` integer,\n\t`successor_id` text,\n\t`revoked_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`,`grant_id`) REFERENCES `oauth_grants`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `oauth_tokens_hash` ON `oauth_tokens` (`hash`);",
      "CREATE INDEX `oauth_tokens_grant` ON `oauth_tokens` (`account_id`,`grant_id`);",
      "CREATE INDEX `oauth_tokens_parent` ON `oauth_tokens` (`account_id`,`parent_id`) WHERE parent_id IS NOT NULL;",
      "CREATE INDEX `oauth_tokens_expires` ON `oauth_tokens` (`expires_at`);",
      "CREATE TABLE `open_reads` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`batch_id` text NOT NULL,\n\t`instance_id` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `batch_id`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `sessions` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`user_id` text NOT NULL,\n\t`token_hash` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`last_seen_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`ended_at` integer,\n\t`user_agent` text DEFAULT '' NOT NULL,\n\t`address` text DEFAULT '' NOT NULL,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `sessions_token` ON `sessions` (`token_hash`);",
      "CREATE INDEX `sessions_user` ON `sessions` (`user_id`);",
      "CREATE INDEX `sessions_expire` ON `sessions` (`expires_at`);",
      "CREATE INDEX `sessions_ended` ON `sessions` (`ended_at`) WHERE ended_at IS NOT NULL;",
      "DROP INDEX `agent_guardrails_guardrail`;",
      "CREATE INDEX `agent_guardrails_guardrail` ON `agent_guardrails` (`account_id`,`guardrail_id`,`agent_id`);",
      "DROP INDEX `agent_skills_skill`;",
      "CREATE INDEX `agent_skills_skill` ON `agent_skills` (`account_id`,`skill_id`,`agent_id`);",
      "ALTER TABLE `deliveries` ADD `woken_at` integer;",
      "ALTER TABLE `idempotency_keys` ADD `answer` text;",
      "CREATE INDEX `accounts_unclaimed` ON `accounts` (`created_at`) WHERE state = 'provisional';",
      "CREATE INDEX `activity_tool` ON `activity` (`account_id`,`tool`,`n`);",
      "CREATE INDEX `activity_user` ON `activity` (`account_id`,`user_id`,`n`) WHERE user_id IS NOT NULL;",
      "CREATE INDEX `activity_credential` ON `activity` (`account_id`,`credential_id`,`n`) WHERE credential_id IS NOT NULL;",
      "CREATE INDEX `activity_refused` ON `activity` (`account_id`,`n`) WHERE outcome <> 'ok';",
      "CREATE INDEX `activity_time` ON `activity` (`account_id`,`created_at`,`n`);",
      "CREATE INDEX `messages_reply` ON `messages` (`reply_to_message_id`) WHERE reply_to_message_id IS NOT NULL;",
      "CREATE INDEX `messages_sent` ON `messages` (`account_id`,`created_at`);"
    ]
  },
  {
    "name": "0003_wake_calls",
    "hash": "1682492da8d7d4cdf0e6314ca3d20f319fbe8e865d0d1c3f256722de8865833f",
    "createdAt": 1795299992858,
    "statements": [
      "CREATE TABLE `wake_calls` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`agent_id` text NOT NULL\n);"
    ]
  },
  {
    "name": "0004_wake_calls_are_written",
    "hash": "0ce6dded6d73264bab1c28c765f97960b33ee87840d03cf819f3adbfb332ac90",
    "createdAt": 1795299998767,
    "statements": [
      "CREATE TRIGGER wake_calls_are_few AFTER INSERT ON wake_calls\nBEGIN DELETE FROM wake_calls WHERE seq <= NEW.seq - 1000; END;",
      "CREATE TRIGGER key_ends_or_moves AFTER UPDATE OF revoked_at, account_id ON credentials\nWHEN NEW.agent_id IS NOT NULL\nBEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.agent_id); END;",
      "CREATE TRIGGER key_goes AFTER DELETE ON credentials\nWHEN OLD.agent_id IS NOT NULL\nBEGIN INSERT INTO wake_calls (agent_id) VALUES (OLD.agent_id); END;",
      "CREATE TRIGGER agent_ends AFTER UPDATE OF deleted_at ON agents\nWHEN NEW.deleted_at IS NOT NULL\nBEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.id); END;",
      "CREATE TRIGGER grant_ends AFTER UPDATE OF revoked_at ON oauth_grants\nWHEN NEW.revoked_at IS NOT NULL AND NEW.agent_id IS NOT NULL\nBEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.agent_id); END;",
      "CREATE TRIGGER access_token_ends AFTER UPDATE OF revoked_at ON oauth_tokens\nWHEN NEW.revoked_at IS NOT NULL AND NEW.kind = 'access'\nBEGIN\n  INSERT INTO wake_calls (agent_id) SELECT agent_id FROM oauth_grants\n    WHERE account_id = NEW.account_id AND id = NEW.grant_id AND agent_id IS NOT NULL;\nEND;",
      "CREATE TRIGGER batch_is_given_back AFTER UPDATE OF returned ON deliveries\nWHEN NEW.state = 'unread' AND NOT EXISTS\n  (SELECT 1 FROM deliveries WHERE account_id = OLD.account_id AND batch_id = OLD.batch_id)\nBEGIN INSERT INTO wake_calls (agent_id) VALUES (NEW.agent_id); END;"
    ]
  },
  {
    "name": "0005_returned",
    "hash": "eb90c380fa5ac02d95987a02761a3cf8fafa750b63fcaee630de1b3c992b23d3",
    "createdAt": 1795314261065,
    "statements": [
      "CREATE INDEX `deliveries_returned` ON `deliveries` (`account_id`,`agent_id`,`seq`) WHERE state = 'read' AND returned > 0;"
    ]
  },
  {
    "name": "0006_leases",
    "hash": "9299baffc5d9950a8db03bf7776d4dbab05e1d6e84b7037ba4eb6e3c131a4106",
    "createdAt": 1795334400000,
    "statements": [
      "DROP TRIGGER wake_calls_are_few;",
      "DROP TRIGGER key_ends_or_moves;",
      "DROP TRIGGER key_goes;",
      "DROP TRIGGER agent_ends;",
      "DROP TRIGGER grant_ends;",
      "DROP TRIGGER access_token_ends;",
      "DROP TRIGGER batch_is_given_back;",
      "DROP INDEX `deliveries_returned`;",
      "DROP INDEX `deliveries_batch`;",
      "ALTER TABLE `open_reads` RENAME TO `leases`;",
      "ALTER TABLE `leases` RENAME COLUMN `batch_id` TO `id`;",
      "ALTER TABLE `leases` RENAME COLUMN `instance_id` TO `holder`;",
      "ALTER TABLE `leases` ADD `expires_at` integer;",
      "ALTER TABLE `given_back` RENAME TO `lease_releases`;",
      "ALTER TABLE `lease_releases` RENAME COLUMN `read_at` TO `leased_at`;",
      "ALTER TABLE `lease_releases` RENAME COLUMN `returned_at` TO `released_at`;",
      "ALTER TABLE `deliveries` RENAME COLUMN `batch_id` TO `lease_id`;",
      "ALTER TABLE `deliveries` RENAME COLUMN `returned` TO `release_count`;",
      "ALTER TABLE `messages` ADD `trial_number` integer;",
      "ALTER TABLE `instances` RENAME COLUMN `beats` TO `heartbeats`;",
      "ALTER TABLE `idempotency_keys` RENAME COLUMN `answer` TO `receipt`;",
      "ALTER TABLE `wake_calls` RENAME TO `wake_signals`;",
      "CREATE INDEX `deliveries_redelivered` ON `deliveries` (`account_id`,`agent_id`,`seq`) WHERE state = 'read' AND release_count > 0;",
      "CREATE INDEX `deliveries_lease` ON `deliveries` (`account_id`,`lease_id`) WHERE lease_id IS NOT NULL;",
      "CREATE TRIGGER wake_signals_are_few AFTER INSERT ON wake_signals\nBEGIN DELETE FROM wake_signals WHERE seq <= NEW.seq - 1000; END;",
      "CREATE TRIGGER key_is_revoked_or_moved AFTER UPDATE OF revoked_at, account_id ON credentials\nWHEN NEW.agent_id IS NOT NULL\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;",
      "CREATE TRIGGER key_is_removed AFTER DELETE ON credentials\nWHEN OLD.agent_id IS NOT NULL\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.agent_id); END;",
      "CREATE TRIGGER agent_is_deleted AFTER UPDATE OF deleted_at ON agents\nWHEN NEW.deleted_at IS NOT NULL\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.id); END;",
      "CREATE TRIGGER grant_is_revoked AFTER UPDATE OF revoked_at ON oauth_grants\nWHEN NEW.revoked_at IS NOT NULL AND NEW.agent_id IS NOT NULL\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;",
      "CREATE TRIGGER access_token_is_revoked AFTER UPDATE OF revoked_at ON oauth_tokens\nWHEN NEW.revoked_at IS NOT NULL AND NEW.kind = 'access'\nBEGIN\n  INSERT INTO wake_signals (agent_id) SELECT agent_id FROM oauth_grants\n    WHERE account_id = NEW.account_id AND id = NEW.grant_id AND agent_id IS NOT NULL;\nEND;",
      "CREATE TRIGGER lease_is_released AFTER UPDATE OF release_count ON deliveries\nWHEN NEW.state = 'unread' AND NOT EXISTS\n  (SELECT 1 FROM deliveries WHERE account_id = OLD.account_id AND lease_id = OLD.lease_id)\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;"
    ]
  },
  {
    "name": "0007_parts",
    "hash": "3e2c942ec58e92cd0d1d1089d94b61750962cb2409fb4aee997596c81b8d1dcf",
    "createdAt": 1795341661695,
    "statements": [
      "CREATE TABLE `parts` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`message_id` text NOT NULL,\n\t`media_type` text NOT NULL,\n\t`encoding` text NOT NULL,\n\t`content` text NOT NULL,\n\t`bytes` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `parts_message` ON `parts` (`account_id`,`message_id`);"
    ]
  },
  {
    "name": "0008_usage",
    "hash": "d426571a140ebefb0b5fc13cbef40d82f42c40551fc32f2ad60d34d8383ddc56",
    "createdAt": 1795341700000,
    "statements": [
      "CREATE TABLE `usage` (\n\t`account_id` text NOT NULL,\n\t`day` integer NOT NULL,\n\t`subject` text NOT NULL,\n\t`counter_id` text NOT NULL,\n\t`messages` integer NOT NULL,\n\t`bytes` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `day`, `subject`, `counter_id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `usage_day` ON `usage` (`day`,`account_id`);"
    ]
  },
  {
    "name": "0009_visible_text",
    "hash": "94bb5dc6ffabdbe15d053251749eb81e2e8f340c3b5eb37f23a602ca6610b021",
    "createdAt": 1795345623982,
    "statements": [
      "ALTER TABLE `messages` ADD `sanitized` integer DEFAULT false NOT NULL;",
      "CREATE INDEX `agent_access_alias` ON `agent_access` (`alias`);"
    ]
  },
  {
    "name": "0010_fetched_keys",
    "hash": "e3fbf98c9e977da8f9c9f6e254c2c0db89ac26677dce2c4a0cbb9ce3b25daf80",
    "createdAt": 1795345683982,
    "statements": [
      "ALTER TABLE `credentials` ADD `grant_id` text;",
      "ALTER TABLE `credentials` ADD `issued_by` text REFERENCES users(id);",
      "CREATE INDEX `credentials_grant` ON `credentials` (`account_id`,`grant_id`) WHERE grant_id IS NOT NULL;",
      "CREATE INDEX `credentials_issued` ON `credentials` (`account_id`,`issued_by`) WHERE issued_by IS NOT NULL AND revoked_at IS NULL;",
      "UPDATE `credentials` SET `grant_id` = (\n  SELECT oauth_grants.id FROM activity\n    JOIN oauth_grants ON oauth_grants.account_id = activity.account_id AND oauth_grants.id = activity.credential_id\n    WHERE activity.account_id = credentials.account_id AND activity.tool = 'fetch_agent_key' AND activity.outcome = 'ok'\n      AND activity.created_at >= credentials.created_at\n      AND oauth_grants.agent_id = credentials.agent_id AND oauth_grants.user_id = credentials.user_id\n    ORDER BY activity.n LIMIT 1\n) WHERE `kind` = 'agent_key' AND `user_id` IS NOT NULL AND `revoked_at` IS NULL;",
      "UPDATE `credentials` SET `name` = (\n  SELECT client_name FROM oauth_grants\n    WHERE oauth_grants.account_id = credentials.account_id AND oauth_grants.id = credentials.grant_id\n) WHERE `grant_id` IS NOT NULL;",
      "UPDATE `credentials` SET `revoked_at` = CAST(unixepoch('subsec') * 1000 AS INTEGER)\n  WHERE `kind` = 'agent_key' AND `user_id` IS NOT NULL AND `grant_id` IS NULL AND `revoked_at` IS NULL;"
    ]
  },
  {
    "name": "0011_trial_ended",
    "hash": "358172f059d3c32ae646b050e0e5408c02747b98eb1bf0270f0f94504bba074c",
    "createdAt": 1795345743982,
    "statements": [
      "ALTER TABLE `trials` ADD `ended_at` integer;",
      "CREATE INDEX `trials_to_end` ON `trials` (`expires_at`) WHERE \"trials\".\"ended_at\" IS NULL;"
    ]
  },
  {
    "name": "0012_second_factor",
    "hash": "29495aaa08637cf98525dee6896f2812a99927529a7979c63c101e511dc037b4",
    "createdAt": 1795345803982,
    "statements": [
      "CREATE TABLE `passkey_challenges` (\n\t`hash` text PRIMARY KEY NOT NULL,\n\t`purpose` text NOT NULL,\n\t`holder` text NOT NULL,\n\t`expires_at` integer NOT NULL\n);",
      "CREATE INDEX `passkey_challenges_expire` ON `passkey_challenges` (`expires_at`);",
      "CREATE TABLE `passkeys` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`user_id` text NOT NULL,\n\t`credential_id` text NOT NULL,\n\t`public_key` text NOT NULL,\n\t`counter` integer NOT NULL,\n\t`transports` text NOT NULL,\n\t`name` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`last_used_at` integer,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `passkeys_credential` ON `passkeys` (`credential_id`);",
      "CREATE INDEX `passkeys_user` ON `passkeys` (`user_id`);",
      "CREATE TABLE `recovery_codes` (\n\t`user_id` text NOT NULL,\n\t`hash` text NOT NULL,\n\tPRIMARY KEY(`user_id`, `hash`),\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `totps` (\n\t`user_id` text PRIMARY KEY NOT NULL,\n\t`encrypted_token` text NOT NULL,\n\t`token_iv` text NOT NULL,\n\t`token_auth_tag` text NOT NULL,\n\t`token_key_id` text NOT NULL,\n\t`last_step` integer DEFAULT 0 NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`confirmed_at` integer,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "ALTER TABLE `accounts` ADD `requires_second_factor` integer DEFAULT false NOT NULL;",
      "ALTER TABLE `sessions` ADD `awaits_second_factor` integer DEFAULT false NOT NULL;",
      "ALTER TABLE `sessions` ADD `confirmed_at` integer;"
    ]
  },
  {
    "name": "0013_second_factor_attempts",
    "hash": "5fb7dfc61fc20b46668efa7dde6dcbbbc022a7eececfd1d9d0dd5b2159feeed3",
    "createdAt": 1795350073586,
    "statements": [
      "ALTER TABLE `passkey_challenges` ADD `used_by` text;",
      "ALTER TABLE `passkeys` ADD `used_by` text;",
      "ALTER TABLE `recovery_codes` ADD `used_by` text;",
      "ALTER TABLE `totps` ADD `used_by` text;"
    ]
  },
  {
    "name": "0014_shown_invitation_links",
    "hash": "5f3db2d13e77ae715344f88ea90d062ddf32558a455a8e8b688e059d59fb8c86",
    "createdAt": 1795350133586,
    "statements": [
      "ALTER TABLE `invitations` ADD `is_link_shown` integer DEFAULT false NOT NULL;",
      "ALTER TABLE `users` ADD `registered_by_shown_link` integer DEFAULT false NOT NULL;"
    ]
  },
  {
    "name": "0015_activity_changes",
    "hash": "10fdf92913389924aaa8c300d53bcd06efaf0d5046a7386496a0bd5cdda6cdc3",
    "createdAt": 1795350193586,
    "statements": [
      "CREATE INDEX `activity_changes` ON `activity` (`account_id`,`n`) WHERE substr(tool, 1, 11) <> 'admin_list_';"
    ]
  },
  {
    "name": "0016_claim_offers",
    "hash": "ac1e16333ae54f6fe37d64d39921a3e07afb1400bb0756191424cd27ff25c28d",
    "createdAt": 1795350253586,
    "statements": [
      "CREATE INDEX `signups_owner` ON `signups` (`owner_email`);"
    ]
  },
  {
    "name": "0017_right_to_answer",
    "hash": "72e17a07f8dd7a9732b7d86ba0f54841114b7ae797092f49fd0b9bf53361010a",
    "createdAt": 1795350313586,
    "statements": [
      "ALTER TABLE `deliveries` ADD `stranger_id` text;",
      "UPDATE `deliveries` SET `stranger_id` = (\n  SELECT `from_agent_id` FROM `messages`\n    WHERE `messages`.`account_id` = `deliveries`.`sender_account_id` AND `messages`.`id` = `deliveries`.`message_id`\n) WHERE `sender_account_id` <> `account_id`;",
      "CREATE INDEX `deliveries_stranger` ON `deliveries` (`account_id`,`agent_id`,`stranger_id`) WHERE stranger_id IS NOT NULL;"
    ]
  },
  {
    "name": "0018_agent_search",
    "hash": "7313380ec3707cfab76516500f5d0b4ce31a86c5b6c34b2c399b391e26b86f52",
    "createdAt": 1795358446255,
    "statements": [
      "CREATE TABLE `agent_numbers` (\n\t`n` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `agent_numbers_agent` ON `agent_numbers` (`account_id`,`agent_id`);",
      "CREATE VIRTUAL TABLE agent_search USING fts5(trigrams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');",
      "CREATE TRIGGER agent_is_numbered AFTER INSERT ON agents\nBEGIN INSERT INTO agent_numbers (account_id, agent_id) VALUES (NEW.account_id, NEW.id); END;",
      "CREATE TRIGGER agent_is_searchable AFTER INSERT ON agent_numbers\nBEGIN\n  INSERT INTO agent_search (rowid, trigrams)\n    SELECT NEW.n, group_concat(DISTINCT hex(NEW.account_id) || 'x' || hex(substr(lower(texts.text), place.key + 1, 3)))\n    FROM (\n      SELECT alias AS text FROM agents WHERE account_id = NEW.account_id AND id = NEW.agent_id\n      UNION ALL SELECT description FROM agents WHERE account_id = NEW.account_id AND id = NEW.agent_id\n    ) AS texts\n    JOIN json_each('[' || replace(hex(zeroblob(length(texts.text))), '00', '0,') || '0]') AS place\n    WHERE place.key <= length(texts.text) - 3;\nEND;",
      "CREATE TRIGGER agent_is_not_searchable AFTER DELETE ON agent_numbers\nBEGIN DELETE FROM agent_search WHERE rowid = OLD.n; END;",
      "CREATE TRIGGER agent_is_described AFTER UPDATE OF alias, description ON agents\nWHEN NEW.alias <> OLD.alias OR NEW.description <> OLD.description\nBEGIN\n  DELETE FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id;\n  INSERT INTO agent_numbers (account_id, agent_id) VALUES (NEW.account_id, NEW.id);\nEND;",
      "INSERT INTO agent_numbers (account_id, agent_id) SELECT account_id, id FROM agents ORDER BY account_id, id;"
    ]
  },
  {
    "name": "0019_guardrail_verdicts",
    "hash": "3919110c8a62099713f3ab67f4c5e7c4d37668690a2ecfbafc75db657195421e",
    "createdAt": 1795358506255,
    "statements": [
      "CREATE TABLE `blocked_sends` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`key` text NOT NULL,\n\t`request_hash` text NOT NULL,\n\t`error` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`, `key`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `blocked_sends_created` ON `blocked_sends` (`created_at`);",
      "CREATE TABLE `guardrail_counts` (\n\t`account_id` text NOT NULL,\n\t`guardrail_id` text NOT NULL,\n\t`hour` integer NOT NULL,\n\t`action` text NOT NULL,\n\t`n` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `guardrail_id`, `hour`, `action`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `guardrail_counts_hour` ON `guardrail_counts` (`hour`);",
      "CREATE TABLE `guardrail_exceptions` (\n\t`account_id` text NOT NULL,\n\t`guardrail_id` text NOT NULL,\n\t`text_hash` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `guardrail_id`, `text_hash`),\n\tFOREIGN KEY (`account_id`,`guardrail_id`) REFERENCES `guardrails`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `verdicts` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`guardrail_id` text NOT NULL,\n\t`guardrail_name` text NOT NULL,\n\t`direction` text NOT NULL,\n\t`action` text NOT NULL,\n\t`kinds` text NOT NULL,\n\t`agent_ids` text NOT NULL,\n\t`sender_alias` text NOT NULL,\n\t`sender_account_id` text NOT NULL,\n\t`recipient` text NOT NULL,\n\t`message_id` text,\n\t`text_hash` text NOT NULL,\n\t`content` text,\n\t`created_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `verdicts_guardrail` ON `verdicts` (`account_id`,`guardrail_id`,`id`);",
      "CREATE INDEX `verdicts_message` ON `verdicts` (`sender_account_id`,`message_id`) WHERE message_id IS NOT NULL;",
      "CREATE INDEX `verdicts_created` ON `verdicts` (`created_at`);",
      "CREATE INDEX `verdicts_content` ON `verdicts` (`created_at`) WHERE content IS NOT NULL;",
      "ALTER TABLE `accounts` ADD `people_see_contents` integer DEFAULT false NOT NULL;",
      "ALTER TABLE `deliveries` ADD `body` text;",
      "ALTER TABLE `deliveries` ADD `a2a` text;",
      "ALTER TABLE `deliveries` ADD `flagged` integer DEFAULT false NOT NULL;"
    ]
  },
  {
    "name": "0020_runaway_conversations",
    "hash": "bacad6e05f4ca010d3f689abefeb3247fa9946d289e77bda76b9871b9328c305",
    "createdAt": 1795358566255,
    "statements": [
      "CREATE TABLE `conversation_pauses` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`key` text NOT NULL,\n\t`agents` text NOT NULL,\n\t`reason` text NOT NULL,\n\t`turns` integer NOT NULL,\n\t`hops` integer NOT NULL,\n\t`paused_at` integer NOT NULL,\n\t`told_at` integer,\n\t`resumed_at` integer,\n\t`changed_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `conversation_pauses_key` ON `conversation_pauses` (`account_id`,`key`);",
      "CREATE INDEX `conversation_pauses_untold` ON `conversation_pauses` (`paused_at`) WHERE told_at IS NULL;",
      "CREATE INDEX `conversation_pauses_resumed` ON `conversation_pauses` (`resumed_at`) WHERE resumed_at IS NOT NULL;",
      "CREATE INDEX `conversation_pauses_changed` ON `conversation_pauses` (`changed_at`);",
      "CREATE TABLE `conversation_turns` (\n\t`account_id` text NOT NULL,\n\t`key` text NOT NULL,\n\t`counter_id` text NOT NULL,\n\t`agents` text NOT NULL,\n\t`turns` integer NOT NULL,\n\t`reset_at` integer NOT NULL,\n\t`steps` text NOT NULL,\n\t`turned_at` integer NOT NULL,\n\t`changed_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `key`, `counter_id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `conversation_turns_turned` ON `conversation_turns` (`turned_at`);",
      "CREATE INDEX `conversation_turns_changed` ON `conversation_turns` (`changed_at`);",
      "CREATE TABLE `recent_reads` (\n\t`account_id` text NOT NULL,\n\t`reader` text NOT NULL,\n\t`source` text NOT NULL,\n\t`counter_id` text NOT NULL,\n\t`reads` integer NOT NULL,\n\t`answered` integer NOT NULL,\n\t`read_at` integer NOT NULL,\n\t`changed_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `reader`, `source`, `counter_id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `recent_reads_read` ON `recent_reads` (`read_at`);",
      "CREATE INDEX `recent_reads_changed` ON `recent_reads` (`changed_at`);",
      "ALTER TABLE `accounts` ADD `turn_limits` text;",
      "CREATE INDEX `accounts_turn_limits` ON `accounts` (`id`) WHERE turn_limits IS NOT NULL;",
      "ALTER TABLE `agents` ADD `automated` integer DEFAULT false NOT NULL;",
      "CREATE INDEX `agents_automated` ON `agents` (`alias`) WHERE automated = 1;",
      "ALTER TABLE `messages` ADD `hops` integer DEFAULT 0 NOT NULL;"
    ]
  },
  {
    "name": "0021_guardrail_counts_of_account",
    "hash": "26397657a70d9cb3d5d080f179085ddee40db645da50f65357d2656c34b8de9b",
    "createdAt": 1795367371602,
    "statements": [
      "CREATE INDEX `guardrail_counts_of_account` ON `guardrail_counts` (`account_id`,`hour`);"
    ]
  },
  {
    "name": "0022_message_log",
    "hash": "a78918d1b3db60e5fec22e83d95fc2d9aa2858d47656279cfc632efb905b5668",
    "createdAt": 1795367671602,
    "statements": [
      "CREATE TABLE `projections` (\n\t`name` text PRIMARY KEY NOT NULL,\n\t`seq` integer NOT NULL\n);",
      "CREATE TABLE `seats` (\n\t`account_id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\tPRIMARY KEY(`account_id`, `user_id`),\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `seats_agent` ON `seats` (`account_id`,`agent_id`);",
      "CREATE TABLE `snoozes` (\n\t`account_id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`kind` text NOT NULL,\n\t`subject` text NOT NULL,\n\t`until` integer NOT NULL,\n\t`level` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `user_id`, `kind`, `subject`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `snoozes_until` ON `snoozes` (`until`);",
      "CREATE TABLE `thread_agents` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`thread_id` integer NOT NULL,\n\t`delivery_seq` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`, `thread_id`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`thread_id`) REFERENCES `threads`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n) WITHOUT ROWID;",
      "CREATE INDEX `thread_agents_thread` ON `thread_agents` (`account_id`,`thread_id`);",
      "CREATE TABLE `thread_messages` (\n\t`account_id` text NOT NULL,\n\t`thread_id` integer NOT NULL,\n\t`seq` integer NOT NULL,\n\t`root_seq` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `thread_id`, `seq`),\n\tFOREIGN KEY (`account_id`,`thread_id`) REFERENCES `threads`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n) WITHOUT ROWID;",
      "CREATE UNIQUE INDEX `thread_messages_seq` ON `thread_messages` (`account_id`,`seq`);",
      "CREATE INDEX `thread_messages_root` ON `thread_messages` (`account_id`,`root_seq`) WHERE root_seq <> seq;",
      "CREATE TABLE `thread_seen` (\n\t`account_id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`thread_id` integer NOT NULL,\n\t`seq` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `user_id`, `thread_id`),\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`thread_id`) REFERENCES `threads`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `thread_seen_thread` ON `thread_seen` (`account_id`,`thread_id`);",
      "CREATE TABLE `threads` (\n\t`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`account_id` text NOT NULL,\n\t`kind` text NOT NULL,\n\t`key` text NOT NULL,\n\t`last_seq` integer NOT NULL,\n\t`last_at` integer NOT NULL,\n\t`messages` integer NOT NULL,\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `threads_id` ON `threads` (`account_id`,`id`);",
      "CREATE UNIQUE INDEX `threads_key` ON `threads` (`account_id`,`kind`,`key`);",
      "CREATE INDEX `threads_newest` ON `threads` (`account_id`,`last_seq`);",
      "CREATE UNIQUE INDEX `agent_numbers_inbox` ON `agent_numbers` (`account_id`,`agent_id`,`n`);",
      "INSERT INTO `agent_numbers` (`account_id`, `agent_id`)\n  SELECT `account_id`, `id` FROM `agents` WHERE NOT EXISTS\n    (SELECT 1 FROM `agent_numbers` WHERE `account_id` = `agents`.`account_id` AND `agent_id` = `agents`.`id`)\n  ORDER BY `account_id`, `id`;",
      "DROP TRIGGER agent_is_described;",
      "CREATE TRIGGER agent_is_described AFTER UPDATE OF alias, description ON agents\nWHEN NEW.alias <> OLD.alias OR NEW.description <> OLD.description\nBEGIN\n  DELETE FROM agent_search\n    WHERE rowid = (SELECT n FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id);\n  INSERT INTO agent_search (rowid, trigrams)\n    SELECT (SELECT n FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id),\n    group_concat(DISTINCT hex(NEW.account_id) || 'x' || hex(substr(lower(texts.text), place.key + 1, 3)))\n    FROM (SELECT NEW.alias AS text UNION ALL SELECT NEW.description) AS texts\n    JOIN json_each('[' || replace(hex(zeroblob(length(texts.text))), '00', '0,') || '0]') AS place\n    WHERE place.key <= length(texts.text) - 3;\nEND;",
      "DROP TRIGGER lease_is_released;",
      "CREATE TABLE `__new_deliveries` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`sender_account_id` text NOT NULL,\n\t`message_id` text NOT NULL,\n\t`state` text NOT NULL,\n\t`chars` integer NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`read_at` integer,\n\t`lease_id` text,\n\t`release_count` integer DEFAULT 0 NOT NULL,\n\t`woken_at` integer,\n\t`stranger_id` text,\n\t`body` text,\n\t`a2a` text,\n\t`flagged` integer DEFAULT false NOT NULL,\n\t`inbox` integer NOT NULL,\n\tFOREIGN KEY (`account_id`,`agent_id`,`inbox`) REFERENCES `agent_numbers`(`account_id`,`agent_id`,`n`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`sender_account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "INSERT INTO `__new_deliveries`(\"seq\", \"account_id\", \"agent_id\", \"sender_account_id\", \"message_id\", \"state\", \"chars\", \"created_at\", \"read_at\", \"lease_id\", \"release_count\", \"woken_at\", \"stranger_id\", \"body\", \"a2a\", \"flagged\", \"inbox\")\n  SELECT \"seq\", \"account_id\", \"agent_id\", \"sender_account_id\", \"message_id\", \"state\", \"chars\", \"created_at\", \"read_at\", \"lease_id\", \"release_count\", \"woken_at\", \"stranger_id\", \"body\", \"a2a\", \"flagged\",\n    (SELECT n FROM agent_numbers WHERE account_id = deliveries.account_id AND agent_id = deliveries.agent_id)\n  FROM `deliveries` ORDER BY \"seq\";",
      "DELETE FROM sqlite_sequence WHERE name = '__new_deliveries';",
      "INSERT INTO sqlite_sequence (name, seq) SELECT '__new_deliveries', seq FROM sqlite_sequence WHERE name = 'deliveries';",
      "DROP TABLE `deliveries`;",
      "ALTER TABLE `__new_deliveries` RENAME TO `deliveries`;",
      "CREATE UNIQUE INDEX `deliveries_message` ON `deliveries` (`message_id`,`sender_account_id`,`account_id`,`agent_id`);",
      "CREATE INDEX `deliveries_unread` ON `deliveries` (`inbox`,`seq`,`chars`) WHERE state = 'unread';",
      "CREATE INDEX `deliveries_read` ON `deliveries` (`inbox`,`seq`) WHERE state = 'read';",
      "CREATE INDEX `deliveries_redelivered` ON `deliveries` (`inbox`,`seq`) WHERE state = 'read' AND release_count > 0;",
      "CREATE INDEX `deliveries_lease` ON `deliveries` (`account_id`,`lease_id`) WHERE lease_id IS NOT NULL;",
      "CREATE INDEX `deliveries_stranger` ON `deliveries` (`account_id`,`agent_id`,`stranger_id`) WHERE stranger_id IS NOT NULL;",
      "CREATE TRIGGER lease_is_released AFTER UPDATE OF release_count ON deliveries\nWHEN NEW.state = 'unread' AND NOT EXISTS\n  (SELECT 1 FROM deliveries WHERE account_id = OLD.account_id AND lease_id = OLD.lease_id)\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;",
      "CREATE TABLE `__new_messages` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`from_agent_id` text NOT NULL,\n\t`from_alias` text NOT NULL,\n\t`type` text NOT NULL,\n\t`recipient` text NOT NULL,\n\t`channel_id` text,\n\t`reply_to_message_id` text,\n\t`conversation_id` text,\n\t`flagged` integer DEFAULT false NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`trial_number` integer,\n\t`sanitized` integer DEFAULT false NOT NULL,\n\t`hops` integer DEFAULT 0 NOT NULL,\n\t`body` text NOT NULL,\n\t`a2a` text,\n\tFOREIGN KEY (`account_id`,`from_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`account_id`,`channel_id`) REFERENCES `channels`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE TABLE `__message_order` (`seq` integer PRIMARY KEY NOT NULL, `message` integer NOT NULL);",
      "INSERT INTO `__message_order` (`message`)\n  SELECT message FROM (\n    SELECT message, created_at, id,\n      coalesce(first_delivery, max(first_delivery) OVER (PARTITION BY delivered_before), 0) AS place\n    FROM (\n      SELECT message, first_delivery, created_at, id,\n        count(first_delivery) OVER (ORDER BY created_at, id ROWS UNBOUNDED PRECEDING) AS delivered_before\n      FROM (\n        SELECT rowid AS message, created_at, id, (\n          SELECT min(seq) FROM deliveries WHERE message_id = messages.id AND sender_account_id = messages.account_id\n        ) AS first_delivery FROM messages\n      )\n    )\n  ) ORDER BY place, created_at, id;",
      "INSERT INTO `__new_messages`(\"seq\", \"account_id\", \"id\", \"from_agent_id\", \"from_alias\", \"type\", \"recipient\", \"channel_id\", \"reply_to_message_id\", \"conversation_id\", \"flagged\", \"created_at\", \"trial_number\", \"sanitized\", \"hops\", \"body\", \"a2a\")\n  SELECT `__message_order`.`seq`, \"account_id\", \"id\", \"from_agent_id\", \"from_alias\", \"type\", \"recipient\", \"channel_id\", \"reply_to_message_id\", \"conversation_id\", \"flagged\", \"created_at\", \"trial_number\", \"sanitized\", \"hops\", \"body\", \"a2a\"\n  FROM `__message_order` CROSS JOIN `messages` ON `messages`.rowid = `__message_order`.`message`\n  ORDER BY `__message_order`.`seq`;",
      "DROP TABLE `__message_order`;",
      "DROP TABLE `messages`;",
      "ALTER TABLE `__new_messages` RENAME TO `messages`;",
      "CREATE UNIQUE INDEX `messages_id` ON `messages` (`account_id`,`id`);",
      "CREATE INDEX `messages_reply` ON `messages` (`reply_to_message_id`) WHERE reply_to_message_id IS NOT NULL;",
      "CREATE INDEX `messages_sent` ON `messages` (`account_id`,`created_at`);",
      "ALTER TABLE `accounts` ADD `people_read_since` integer;",
      "UPDATE `accounts` SET `people_read_since` = 0\n  WHERE `state` = 'claimed' AND NOT EXISTS (SELECT 1 FROM `signups` WHERE `account_id` = `accounts`.`id`);",
      "INSERT INTO `projections` (`name`, `seq`) VALUES ('threads', 0);",
      "DROP INDEX `channel_members_agent`;",
      "CREATE INDEX `channel_members_agent` ON `channel_members` (`account_id`,`agent_id`,`channel_id`);"
    ]
  },
  {
    "name": "0023_people",
    "hash": "bff69943b282f1cb7f440026d9b0a627311fb7f18cf5b0c3796e9eca78b8a1e8",
    "createdAt": 1795367731602,
    "statements": [
      "-- The type was a mark that anybody could set, and their keys worked like any other. It now stands for a person, who has no key.\nUPDATE `agents` SET `type` = 'mcp' WHERE `type` = 'human';"
    ]
  },
  {
    "name": "0024_keyboard_shortcuts",
    "hash": "89c16a7a9881e6871a069d7a0cae6267e816934c0ea95603ed02c513b122c0f3",
    "createdAt": 1795371360216,
    "statements": [
      "ALTER TABLE `users` ADD `shortcuts` integer DEFAULT true NOT NULL;"
    ]
  },
  {
    "name": "0025_attention",
    "hash": "8c2381ac215665609202a8e3a6974ab34be67a387764994d78e76fc556a69a81",
    "createdAt": 1795371420216,
    "statements": [
      "CREATE INDEX `credentials_live` ON `credentials` (`account_id`,`last_used_at`,`created_at`) WHERE revoked_at IS NULL;",
      "CREATE INDEX `deliveries_returned` ON `deliveries` (`account_id`,`inbox`) WHERE state = 'unread' AND release_count > 2;",
      "CREATE INDEX `deliveries_parked` ON `deliveries` (`account_id`,`read_at`) WHERE state = 'parked';"
    ]
  },
  {
    "name": "0026_people_are_woken",
    "hash": "57a463ab214ba966690649152206573c30b24289b759aa2e72eda39acfb1313f",
    "createdAt": 1795371480216,
    "statements": [
      "CREATE TRIGGER session_is_ended AFTER UPDATE OF ended_at ON sessions\nWHEN NEW.ended_at IS NOT NULL\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.user_id); END;",
      "CREATE TRIGGER session_is_removed AFTER DELETE ON sessions\nWHEN OLD.ended_at IS NULL\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.user_id); END;",
      "CREATE TRIGGER role_is_changed AFTER UPDATE OF role ON memberships\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.user_id); END;",
      "CREATE TRIGGER membership_is_removed AFTER DELETE ON memberships\nBEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.user_id); END;"
    ]
  },
  {
    "name": "0027_notifications",
    "hash": "fb5315ee4dc87b92f84f29120702e75a82e60709e76b1d84827a5c15a23d1e86",
    "createdAt": 1795379887357,
    "statements": [
      "CREATE TABLE `mail_digests` (\n\t`account_id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`period` text NOT NULL,\n\t`next_at` integer NOT NULL,\n\t`told_seq` integer DEFAULT 0 NOT NULL,\n\t`token` text NOT NULL,\n\tPRIMARY KEY(`account_id`, `user_id`),\n\tFOREIGN KEY (`account_id`,`user_id`) REFERENCES `seats`(`account_id`,`user_id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `mail_digests_token` ON `mail_digests` (`token`);",
      "CREATE INDEX `mail_digests_next` ON `mail_digests` (`next_at`);",
      "CREATE TABLE `push_keys` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`public_key` text NOT NULL,\n\t`encrypted_token` text NOT NULL,\n\t`token_iv` text NOT NULL,\n\t`token_auth_tag` text NOT NULL,\n\t`token_key_id` text NOT NULL,\n\t`created_at` integer NOT NULL\n);",
      "CREATE TABLE `push_notices` (\n\t`account_id` text NOT NULL,\n\t`subscription_id` text NOT NULL,\n\t`thread_id` integer NOT NULL,\n\t`first_seq` integer NOT NULL,\n\t`last_seq` integer NOT NULL,\n\t`due_at` integer,\n\t`tries` integer DEFAULT 0 NOT NULL,\n\t`pushed_at` integer DEFAULT 0 NOT NULL,\n\tPRIMARY KEY(`account_id`, `subscription_id`, `thread_id`),\n\tFOREIGN KEY (`account_id`,`subscription_id`) REFERENCES `push_subscriptions`(`account_id`,`id`) ON UPDATE no action ON DELETE cascade\n);",
      "CREATE INDEX `push_notices_due` ON `push_notices` (`due_at`) WHERE due_at IS NOT NULL;",
      "CREATE INDEX `push_notices_told` ON `push_notices` (`pushed_at`) WHERE due_at IS NULL;",
      "CREATE TABLE `push_subscriptions` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`user_id` text NOT NULL,\n\t`session_id` text NOT NULL,\n\t`endpoint` text NOT NULL,\n\t`p256dh` text NOT NULL,\n\t`auth` text NOT NULL,\n\t`user_agent` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`last_success_at` integer,\n\t`failures` integer DEFAULT 0 NOT NULL,\n\t`seq` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`,`user_id`) REFERENCES `seats`(`account_id`,`user_id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `push_subscriptions_endpoint` ON `push_subscriptions` (`endpoint`,`account_id`);",
      "CREATE INDEX `push_subscriptions_user` ON `push_subscriptions` (`account_id`,`user_id`);",
      "CREATE INDEX `push_subscriptions_session` ON `push_subscriptions` (`session_id`);",
      "CREATE TRIGGER session_end_stops_push AFTER UPDATE OF ended_at ON sessions\nWHEN NEW.ended_at IS NOT NULL\nBEGIN DELETE FROM push_subscriptions WHERE session_id = NEW.id; END;",
      "CREATE TRIGGER session_removal_stops_push AFTER DELETE ON sessions\nBEGIN DELETE FROM push_subscriptions WHERE session_id = OLD.id; END;"
    ]
  },
  {
    "name": "0028_changes_without_readings",
    "hash": "5c03beaafb89d58dfbab1f5520b6ebe8f9049fb9faaac5e01c78fc1417122d7a",
    "createdAt": 1795379947357,
    "statements": [
      "DROP INDEX `activity_changes`;",
      "CREATE INDEX `activity_changes` ON `activity` (`account_id`,`n`) WHERE substr(tool, 1, 11) <> 'admin_list_' AND substr(tool, 1, 5) <> 'read_';"
    ]
  },
  {
    "name": "0029_presence",
    "hash": "c3fb8d3fc0833d5d12355ec920bb16d9311a7665411fa9b94c9f5a0798e5d9f7",
    "createdAt": 1795390007732,
    "statements": [
      "CREATE TABLE `presence` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`holder` text NOT NULL,\n\t`attended` text,\n\t`runner` text,\n\t`is_waiting` integer NOT NULL,\n\t`leased_until` integer NOT NULL,\n\t`changed_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`, `holder`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `presence_changed` ON `presence` (`changed_at`);",
      "CREATE INDEX `presence_holder` ON `presence` (`holder`) WHERE (attended IS NOT NULL OR runner IS NOT NULL OR is_waiting = 1 OR leased_until > 0);"
    ]
  },
  {
    "name": "0030_tasks",
    "hash": "f8d6d3426c311120235af0c0809c1081d66b0e809be39306ca6e1872250012d4",
    "createdAt": 1795390187732,
    "statements": [
      "CREATE TABLE `artifacts` (\n\t`account_id` text NOT NULL,\n\t`task_id` text NOT NULL,\n\t`n` integer NOT NULL,\n\t`artifact_id` text NOT NULL,\n\t`append` integer NOT NULL,\n\t`last_chunk` integer NOT NULL,\n\t`name` text,\n\t`parts` text,\n\tPRIMARY KEY(`account_id`, `task_id`, `n`),\n\tFOREIGN KEY (`account_id`,`task_id`) REFERENCES `tasks`(`account_id`,`id`) ON UPDATE cascade ON DELETE cascade\n);",
      "CREATE INDEX `artifacts_id` ON `artifacts` (`account_id`,`task_id`,`artifact_id`);",
      "CREATE TABLE `contexts` (\n\t`account_id` text NOT NULL,\n\t`agent_id` text NOT NULL,\n\t`context_id` text NOT NULL,\n\t`recipient_agent_id` text NOT NULL,\n\t`conversation_id` text NOT NULL,\n\t`used_at` integer NOT NULL,\n\tPRIMARY KEY(`account_id`, `agent_id`, `context_id`, `recipient_agent_id`),\n\tFOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `contexts_used` ON `contexts` (`used_at`);",
      "CREATE TABLE `task_events` (\n\t`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`account_id` text NOT NULL,\n\t`task_id` text NOT NULL,\n\t`n` integer NOT NULL,\n\t`id` text NOT NULL,\n\t`at` integer NOT NULL,\n\t`state` text,\n\t`sender_account_id` text,\n\t`message_id` text,\n\t`reason` text,\n\tFOREIGN KEY (`account_id`,`task_id`) REFERENCES `tasks`(`account_id`,`id`) ON UPDATE cascade ON DELETE cascade\n);",
      "CREATE UNIQUE INDEX `task_events_n` ON `task_events` (`account_id`,`task_id`,`n`);",
      "CREATE UNIQUE INDEX `task_events_id` ON `task_events` (`account_id`,`task_id`,`id`);",
      "CREATE INDEX `task_events_message` ON `task_events` (`sender_account_id`,`message_id`) WHERE message_id IS NOT NULL;",
      "CREATE TABLE `task_messages` (\n\t`account_id` text NOT NULL,\n\t`task_id` text NOT NULL,\n\t`sender_account_id` text NOT NULL,\n\t`message_id` text NOT NULL,\n\t`role` text NOT NULL,\n\tPRIMARY KEY(`account_id`, `task_id`, `message_id`),\n\tFOREIGN KEY (`account_id`,`task_id`) REFERENCES `tasks`(`account_id`,`id`) ON UPDATE cascade ON DELETE cascade\n);",
      "CREATE INDEX `task_messages_message` ON `task_messages` (`sender_account_id`,`message_id`);",
      "CREATE TABLE `tasks` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`client_agent_id` text NOT NULL,\n\t`recipient_account_id` text NOT NULL,\n\t`recipient_agent_id` text NOT NULL,\n\t`recipient_alias` text NOT NULL,\n\t`message_id` text NOT NULL,\n\t`conversation_id` text NOT NULL,\n\t`context_id` text NOT NULL,\n\t`mode` text NOT NULL,\n\t`state` text NOT NULL,\n\t`status_at` integer NOT NULL,\n\t`generation` integer NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`expires_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`,`client_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`recipient_account_id`,`recipient_agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE INDEX `tasks_of_client` ON `tasks` (`account_id`,`client_agent_id`,`status_at`,`id`);",
      "CREATE INDEX `tasks_of_recipient` ON `tasks` (`recipient_account_id`,`recipient_agent_id`,`id`);",
      "CREATE INDEX `tasks_message` ON `tasks` (`account_id`,`message_id`);",
      "CREATE INDEX `tasks_open` ON `tasks` (`recipient_account_id`,`recipient_agent_id`,`account_id`,`client_agent_id`,`id`) WHERE expires_at IS NOT NULL;",
      "CREATE INDEX `tasks_expire` ON `tasks` (`expires_at`) WHERE expires_at IS NOT NULL;",
      "CREATE INDEX `tasks_ended` ON `tasks` (`status_at`) WHERE expires_at IS NULL;",
      "ALTER TABLE `deliveries` ADD `task_id` text;",
      "CREATE TRIGGER message_of_task_is_read AFTER UPDATE OF state ON deliveries\nWHEN NEW.task_id IS NOT NULL AND OLD.state = 'unread' AND NEW.state = 'read'\nBEGIN\n  INSERT INTO task_events (account_id, task_id, n, id, at, state)\n    SELECT account_id, id, generation + 1, 'read', NEW.read_at, 'working' FROM tasks\n    WHERE account_id = NEW.sender_account_id AND id = NEW.task_id AND recipient_agent_id = NEW.agent_id\n      AND state = 'submitted';\n  UPDATE tasks SET state = 'working', status_at = NEW.read_at, generation = generation + 1\n    WHERE account_id = NEW.sender_account_id AND id = NEW.task_id AND recipient_agent_id = NEW.agent_id\n      AND state = 'submitted';\nEND;",
      "CREATE TRIGGER recipient_of_task_is_deleted AFTER UPDATE OF deleted_at ON agents\nWHEN NEW.deleted_at IS NOT NULL\nBEGIN\n  UPDATE tasks SET expires_at = 0\n    WHERE recipient_account_id = NEW.account_id AND recipient_agent_id = NEW.id AND expires_at IS NOT NULL;\nEND;"
    ]
  },
  {
    "name": "0031_signing_keys",
    "hash": "6f4e2d7cac3a89a2ca745300ebd2e4eb6184349f004fd0d884d6de9a38b08741",
    "createdAt": 1795390247732,
    "statements": [
      "CREATE TABLE `signing_keys` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`public_key` text NOT NULL,\n\t`encrypted_token` text,\n\t`token_iv` text,\n\t`token_auth_tag` text,\n\t`token_key_id` text,\n\t`created_at` integer NOT NULL\n);",
      "CREATE UNIQUE INDEX `signing_keys_created` ON `signing_keys` (`created_at`);"
    ]
  },
  {
    "name": "0032_message_replies",
    "hash": "100ddd9fb5f750a8b877a669510ebbda77596828b7aa24371167aa46b12eb586",
    "createdAt": 1795395817170,
    "statements": [
      "ALTER TABLE `agents` ADD `message_replies` integer DEFAULT false NOT NULL;"
    ]
  }
]
