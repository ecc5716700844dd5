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
    "name": "0002_tiny_marrow",
    "hash": "d60cf183890289a775aa3edd158a93233e52ca9461077f3f0559ea18561ca010",
    "createdAt": 1795288454770,
    "statements": [
      "CREATE TABLE `invitations` (\n\t`account_id` text NOT NULL,\n\t`id` text NOT NULL,\n\t`email` text NOT NULL,\n\t`role` text NOT NULL,\n\t`token_hash` text NOT NULL,\n\t`invited_by` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`accepted_at` integer,\n\t`ended_at` integer,\n\tPRIMARY KEY(`account_id`, `id`),\n\tFOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,\n\tFOREIGN KEY (`invited_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `invitations_token` ON `invitations` (`token_hash`);",
      "CREATE INDEX `invitations_expire` ON `invitations` (`expires_at`);",
      "CREATE TABLE `links` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`kind` text NOT NULL,\n\t`token_hash` text NOT NULL,\n\t`user_id` text,\n\t`email` text,\n\t`created_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`used_at` integer,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `links_token` ON `links` (`token_hash`);",
      "CREATE INDEX `links_user` ON `links` (`user_id`,`kind`);",
      "CREATE INDEX `links_expire` ON `links` (`expires_at`);",
      "CREATE TABLE `sessions` (\n\t`id` text PRIMARY KEY NOT NULL,\n\t`user_id` text NOT NULL,\n\t`token_hash` text NOT NULL,\n\t`created_at` integer NOT NULL,\n\t`last_seen_at` integer NOT NULL,\n\t`expires_at` integer NOT NULL,\n\t`ended_at` integer,\n\t`user_agent` text DEFAULT '' NOT NULL,\n\t`address` text DEFAULT '' NOT NULL,\n\tFOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action\n);",
      "CREATE UNIQUE INDEX `sessions_token` ON `sessions` (`token_hash`);",
      "CREATE INDEX `sessions_user` ON `sessions` (`user_id`);",
      "CREATE INDEX `sessions_expire` ON `sessions` (`expires_at`);"
    ]
  },
  {
    "name": "0003_blue_doomsday",
    "hash": "5dc581e38e9454fae58c5fba6eecf28b0745f699cdf65b71a69f7d291dc978cb",
    "createdAt": 1795291173870,
    "statements": [
      "CREATE INDEX `activity_tool` ON `activity` (`account_id`,`tool`,`n`);",
      "CREATE INDEX `activity_user` ON `activity` (`account_id`,`user_id`,`n`) WHERE user_id IS NOT NULL;",
      "CREATE INDEX `activity_credential` ON `activity` (`account_id`,`credential_id`,`n`) WHERE credential_id IS NOT NULL;",
      "CREATE INDEX `activity_refused` ON `activity` (`account_id`,`n`) WHERE outcome <> 'ok';",
      "CREATE INDEX `activity_time` ON `activity` (`account_id`,`created_at`,`n`);",
      "CREATE INDEX `messages_sent` ON `messages` (`account_id`,`created_at`);"
    ]
  }
]
