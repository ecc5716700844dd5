CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`state` text NOT NULL,
	`join_email` text,
	`created_at` integer NOT NULL,
	`claimed_at` integer,
	`requires_second_factor` integer DEFAULT false NOT NULL,
	`people_see_contents` integer DEFAULT false NOT NULL,
	`turn_limits` text,
	`people_read_since` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_join_email` ON `accounts` (`join_email`);
--> statement-breakpoint
CREATE INDEX `accounts_unclaimed` ON `accounts` (`created_at`) WHERE state = 'provisional';
--> statement-breakpoint
CREATE TABLE `activity` (
	`account_id` text NOT NULL,
	`n` integer NOT NULL,
	`id` text NOT NULL,
	`created_at` integer NOT NULL,
	`actor_type` text NOT NULL,
	`user_id` text,
	`credential_id` text,
	`credential_kind` text,
	`tool` text NOT NULL,
	`arguments` text NOT NULL,
	`outcome` text NOT NULL,
	`request_id` text,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `activity_n` ON `activity` (`account_id`,`n`);
--> statement-breakpoint
CREATE INDEX `activity_tool` ON `activity` (`account_id`,`tool`,`n`);
--> statement-breakpoint
CREATE INDEX `activity_user` ON `activity` (`account_id`,`user_id`,`n`) WHERE user_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `activity_credential` ON `activity` (`account_id`,`credential_id`,`n`) WHERE credential_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `activity_refused` ON `activity` (`account_id`,`n`) WHERE outcome <> 'ok';
--> statement-breakpoint
CREATE INDEX `activity_changes` ON `activity` (`account_id`,`n`) WHERE substr(tool, 1, 11) <> 'admin_list_' AND substr(tool, 1, 5) <> 'read_';
--> statement-breakpoint
CREATE INDEX `activity_time` ON `activity` (`account_id`,`created_at`,`n`);
--> statement-breakpoint
CREATE TABLE `agent_access` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`alias` text NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `alias`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `agent_access_alias` ON `agent_access` (`alias`);
--> statement-breakpoint
CREATE TABLE `agent_guardrails` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`direction` text NOT NULL,
	`action` text,
	PRIMARY KEY(`account_id`, `agent_id`, `guardrail_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`guardrail_id`) REFERENCES `guardrails`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `agent_guardrails_guardrail` ON `agent_guardrails` (`account_id`,`guardrail_id`,`agent_id`);
--> statement-breakpoint
CREATE TABLE `agent_numbers` (
	`n` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_numbers_agent` ON `agent_numbers` (`account_id`,`agent_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `agent_numbers_inbox` ON `agent_numbers` (`account_id`,`agent_id`,`n`);
--> statement-breakpoint
CREATE TABLE `agent_skills` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`skill_id` text NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `skill_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`skill_id`) REFERENCES `skills`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `agent_skills_skill` ON `agent_skills` (`account_id`,`skill_id`,`agent_id`);
--> statement-breakpoint
CREATE TABLE `agents` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`alias` text NOT NULL,
	`type` text NOT NULL,
	`visibility` text NOT NULL,
	`access_policy` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`remote_url` text,
	`encrypted_token` text,
	`token_iv` text,
	`token_auth_tag` text,
	`token_key_id` text,
	`signup_id` text,
	`created_at` integer NOT NULL,
	`deleted_at` integer,
	`last_seen_at` integer,
	`automated` integer DEFAULT false NOT NULL,
	`message_replies` integer DEFAULT false NOT NULL,
	`moved_to` text,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`moved_to`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`signup_id`) REFERENCES `signups`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `agents_live_alias` ON `agents` (`alias`) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX `agents_alias` ON `agents` (`alias`);
--> statement-breakpoint
CREATE INDEX `agents_of_account` ON `agents` (`account_id`,`alias`) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX `agents_public` ON `agents` (`alias`) WHERE visibility = 'public' AND deleted_at IS NULL;
--> statement-breakpoint
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
CREATE INDEX `artifacts_id` ON `artifacts` (`account_id`,`task_id`,`artifact_id`);
--> statement-breakpoint
CREATE TABLE `attempts` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `attempts_subject` ON `attempts` (`kind`,`subject`,`created_at`);
--> statement-breakpoint
CREATE INDEX `attempts_created` ON `attempts` (`created_at`);
--> statement-breakpoint
CREATE TABLE `blocked_sends` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`error` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `agent_id`, `key`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `blocked_sends_created` ON `blocked_sends` (`created_at`);
--> statement-breakpoint
CREATE TABLE `channel_members` (
	`account_id` text NOT NULL,
	`channel_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`joined_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `channel_id`, `agent_id`),
	FOREIGN KEY (`account_id`,`channel_id`) REFERENCES `channels`(`account_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `channel_members_agent` ON `channel_members` (`account_id`,`agent_id`,`channel_id`);
--> statement-breakpoint
CREATE TABLE `channels` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`external_integration_type` text,
	`external_channel_name` text,
	`created_at` integer NOT NULL,
	`deleted_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `channels_live_name` ON `channels` (`account_id`,`name`) WHERE deleted_at IS NULL;
--> statement-breakpoint
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
CREATE INDEX `contexts_used` ON `contexts` (`used_at`);
--> statement-breakpoint
CREATE TABLE `conversation_turns` (
	`account_id` text NOT NULL,
	`key` text NOT NULL,
	`sender` text NOT NULL,
	`answered` text,
	`turns` integer NOT NULL,
	`since` integer NOT NULL,
	`agents` text NOT NULL,
	`is_long` integer DEFAULT false NOT NULL,
	`paused_at` integer,
	`told_at` integer,
	PRIMARY KEY(`account_id`, `key`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `conversation_turns_since` ON `conversation_turns` (`since`);
--> statement-breakpoint
CREATE INDEX `conversation_turns_long` ON `conversation_turns` (`account_id`,`since`) WHERE is_long = 1;
--> statement-breakpoint
CREATE INDEX `conversation_turns_paused` ON `conversation_turns` (`account_id`,`paused_at`) WHERE paused_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `credentials` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`agent_id` text,
	`user_id` text,
	`name` text DEFAULT '' NOT NULL,
	`hash` text NOT NULL,
	`last4` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`revoked_at` integer,
	`grant_id` text,
	`issued_by` text,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`issued_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_hash` ON `credentials` (`hash`);
--> statement-breakpoint
CREATE INDEX `credentials_agent` ON `credentials` (`account_id`,`agent_id`);
--> statement-breakpoint
CREATE INDEX `credentials_grant` ON `credentials` (`account_id`,`grant_id`) WHERE grant_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `credentials_issued` ON `credentials` (`account_id`,`issued_by`) WHERE issued_by IS NOT NULL AND revoked_at IS NULL;
--> statement-breakpoint
CREATE INDEX `credentials_live` ON `credentials` (`account_id`,`last_used_at`,`created_at`) WHERE revoked_at IS NULL;
--> statement-breakpoint
CREATE TABLE `deliveries` (
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
	`task_id` text,
	FOREIGN KEY (`account_id`,`agent_id`,`inbox`) REFERENCES `agent_numbers`(`account_id`,`agent_id`,`n`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`sender_account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_message` ON `deliveries` (`message_id`,`sender_account_id`,`account_id`,`agent_id`);
--> statement-breakpoint
CREATE INDEX `deliveries_unread` ON `deliveries` (`inbox`,`seq`,`chars`) WHERE state = 'unread';
--> statement-breakpoint
CREATE INDEX `deliveries_read` ON `deliveries` (`inbox`,`seq`) WHERE state = 'read';
--> statement-breakpoint
CREATE INDEX `deliveries_redelivered` ON `deliveries` (`inbox`,`seq`) WHERE state = 'read' AND release_count > 0;
--> statement-breakpoint
CREATE INDEX `deliveries_lease` ON `deliveries` (`account_id`,`lease_id`) WHERE lease_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `deliveries_stranger` ON `deliveries` (`account_id`,`agent_id`,`stranger_id`) WHERE stranger_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `deliveries_returned` ON `deliveries` (`account_id`,`inbox`) WHERE state = 'unread' AND release_count > 2;
--> statement-breakpoint
CREATE INDEX `deliveries_parked` ON `deliveries` (`account_id`,`read_at`) WHERE state = 'parked';
--> statement-breakpoint
CREATE TABLE `guardrail_counts` (
	`account_id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`hour` integer NOT NULL,
	`action` text NOT NULL,
	`n` integer NOT NULL,
	PRIMARY KEY(`account_id`, `guardrail_id`, `hour`, `action`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `guardrail_counts_hour` ON `guardrail_counts` (`hour`);
--> statement-breakpoint
CREATE INDEX `guardrail_counts_of_account` ON `guardrail_counts` (`account_id`,`hour`);
--> statement-breakpoint
CREATE TABLE `guardrail_exceptions` (
	`account_id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`text_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `guardrail_id`, `text_hash`),
	FOREIGN KEY (`account_id`,`guardrail_id`) REFERENCES `guardrails`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `guardrails` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`provider` text NOT NULL,
	`config` text NOT NULL,
	`action` text NOT NULL,
	`on_failure` text NOT NULL,
	`enabled` integer DEFAULT true NOT NULL,
	`encrypted_token` text,
	`token_iv` text,
	`token_auth_tag` text,
	`token_key_id` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `guardrails_name` ON `guardrails` (`account_id`,`name`);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`key` text NOT NULL,
	`request_hash` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`message_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`receipt` text,
	PRIMARY KEY(`account_id`, `agent_id`, `key`),
	FOREIGN KEY (`sender_account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_message` ON `idempotency_keys` (`sender_account_id`,`message_id`);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);
--> statement-breakpoint
CREATE TABLE `instances` (
	`id` text PRIMARY KEY NOT NULL,
	`heartbeats` integer NOT NULL,
	`created_at` integer NOT NULL,
	`present` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `invitations` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`token_hash` text NOT NULL,
	`invited_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	`ended_at` integer,
	`is_link_shown` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`invited_by`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_token` ON `invitations` (`token_hash`);
--> statement-breakpoint
CREATE INDEX `invitations_expire` ON `invitations` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `lease_releases` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`message_id` text NOT NULL,
	`n` integer NOT NULL,
	`leased_at` integer NOT NULL,
	`released_at` integer NOT NULL,
	PRIMARY KEY(`message_id`, `sender_account_id`, `account_id`, `agent_id`, `n`),
	FOREIGN KEY (`message_id`,`sender_account_id`,`account_id`,`agent_id`) REFERENCES `deliveries`(`message_id`,`sender_account_id`,`account_id`,`agent_id`) ON UPDATE cascade ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `leases` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`id` text NOT NULL,
	`holder` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `links` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`token_hash` text NOT NULL,
	`user_id` text,
	`email` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `links_token` ON `links` (`token_hash`);
--> statement-breakpoint
CREATE INDEX `links_user` ON `links` (`user_id`,`kind`);
--> statement-breakpoint
CREATE INDEX `links_expire` ON `links` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `mail_digests` (
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`period` text NOT NULL,
	`next_at` integer NOT NULL,
	`told_seq` integer DEFAULT 0 NOT NULL,
	`token` text NOT NULL,
	PRIMARY KEY(`account_id`, `user_id`),
	FOREIGN KEY (`account_id`,`user_id`) REFERENCES `seats`(`account_id`,`user_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mail_digests_token` ON `mail_digests` (`token`);
--> statement-breakpoint
CREATE INDEX `mail_digests_next` ON `mail_digests` (`next_at`);
--> statement-breakpoint
CREATE TABLE `memberships` (
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `user_id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `memberships_user` ON `memberships` (`user_id`);
--> statement-breakpoint
CREATE TABLE `messages` (
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
CREATE UNIQUE INDEX `messages_id` ON `messages` (`account_id`,`id`);
--> statement-breakpoint
CREATE INDEX `messages_reply` ON `messages` (`reply_to_message_id`) WHERE reply_to_message_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `messages_sent` ON `messages` (`account_id`,`created_at`);
--> statement-breakpoint
CREATE TABLE `oauth_clients` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`auth_method` text NOT NULL,
	`secret_hash` text,
	`address` text,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`fresh_until` integer,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_clients_address` ON `oauth_clients` (`address`,`created_at`);
--> statement-breakpoint
CREATE INDEX `oauth_clients_unused` ON `oauth_clients` (`kind`,`created_at`) WHERE last_used_at IS NULL;
--> statement-breakpoint
CREATE INDEX `oauth_clients_expires` ON `oauth_clients` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `oauth_grants` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`client_name` text NOT NULL,
	`agent_id` text,
	`scope` text NOT NULL,
	`resource` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_hash` text NOT NULL,
	`code_challenge` text NOT NULL,
	`code_expires_at` integer NOT NULL,
	`code_used_at` integer,
	`code_taken_by` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`last_used_at` integer,
	`revoked_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_grants_code` ON `oauth_grants` (`code_hash`);
--> statement-breakpoint
CREATE INDEX `oauth_grants_agent` ON `oauth_grants` (`account_id`,`agent_id`);
--> statement-breakpoint
CREATE INDEX `oauth_grants_user` ON `oauth_grants` (`user_id`,`created_at`);
--> statement-breakpoint
CREATE INDEX `oauth_grants_expires` ON `oauth_grants` (`expires_at`);
--> statement-breakpoint
CREATE INDEX `oauth_grants_revoked` ON `oauth_grants` (`revoked_at`) WHERE revoked_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `oauth_grants_uncollected` ON `oauth_grants` (`code_expires_at`) WHERE code_used_at IS NULL;
--> statement-breakpoint
CREATE TABLE `oauth_requests` (
	`handle_hash` text PRIMARY KEY NOT NULL,
	`cookie_hash` text NOT NULL,
	`session_id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`client_name` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`state` text,
	`code_challenge` text NOT NULL,
	`resource` text NOT NULL,
	`choices` text NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	`grant_id` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `oauth_requests_user` ON `oauth_requests` (`user_id`,`expires_at`);
--> statement-breakpoint
CREATE INDEX `oauth_requests_expires` ON `oauth_requests` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `oauth_tokens` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`grant_id` text NOT NULL,
	`kind` text NOT NULL,
	`hash` text NOT NULL,
	`parent_id` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	`successor_id` text,
	`revoked_at` integer,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`grant_id`) REFERENCES `oauth_grants`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_tokens_hash` ON `oauth_tokens` (`hash`);
--> statement-breakpoint
CREATE INDEX `oauth_tokens_grant` ON `oauth_tokens` (`account_id`,`grant_id`);
--> statement-breakpoint
CREATE INDEX `oauth_tokens_parent` ON `oauth_tokens` (`account_id`,`parent_id`) WHERE parent_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `oauth_tokens_expires` ON `oauth_tokens` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `parts` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`message_id` text NOT NULL,
	`media_type` text NOT NULL,
	`encoding` text NOT NULL,
	`content` text NOT NULL,
	`bytes` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`message_id`) REFERENCES `messages`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `parts_message` ON `parts` (`account_id`,`message_id`);
--> statement-breakpoint
CREATE TABLE `passkey_challenges` (
	`hash` text PRIMARY KEY NOT NULL,
	`purpose` text NOT NULL,
	`holder` text NOT NULL,
	`expires_at` integer NOT NULL,
	`used_by` text
);
--> statement-breakpoint
CREATE INDEX `passkey_challenges_expire` ON `passkey_challenges` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `passkeys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`credential_id` text NOT NULL,
	`public_key` text NOT NULL,
	`counter` integer NOT NULL,
	`transports` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`used_by` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `passkeys_credential` ON `passkeys` (`credential_id`);
--> statement-breakpoint
CREATE INDEX `passkeys_user` ON `passkeys` (`user_id`);
--> statement-breakpoint
CREATE TABLE `projections` (
	`name` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `push_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`public_key` text NOT NULL,
	`encrypted_token` text NOT NULL,
	`token_iv` text NOT NULL,
	`token_auth_tag` text NOT NULL,
	`token_key_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `push_notices` (
	`account_id` text NOT NULL,
	`subscription_id` text NOT NULL,
	`thread_id` integer NOT NULL,
	`first_seq` integer NOT NULL,
	`last_seq` integer NOT NULL,
	`due_at` integer,
	`tries` integer DEFAULT 0 NOT NULL,
	`pushed_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`account_id`, `subscription_id`, `thread_id`),
	FOREIGN KEY (`account_id`,`subscription_id`) REFERENCES `push_subscriptions`(`account_id`,`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `push_notices_due` ON `push_notices` (`due_at`) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `push_notices_told` ON `push_notices` (`pushed_at`) WHERE due_at IS NULL;
--> statement-breakpoint
CREATE TABLE `push_subscriptions` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`session_id` text NOT NULL,
	`endpoint` text NOT NULL,
	`p256dh` text NOT NULL,
	`auth` text NOT NULL,
	`user_agent` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_success_at` integer,
	`failures` integer DEFAULT 0 NOT NULL,
	`seq` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`,`user_id`) REFERENCES `seats`(`account_id`,`user_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `push_subscriptions_endpoint` ON `push_subscriptions` (`endpoint`,`account_id`);
--> statement-breakpoint
CREATE INDEX `push_subscriptions_user` ON `push_subscriptions` (`account_id`,`user_id`);
--> statement-breakpoint
CREATE INDEX `push_subscriptions_session` ON `push_subscriptions` (`session_id`);
--> statement-breakpoint
CREATE TABLE `recovery_codes` (
	`user_id` text NOT NULL,
	`hash` text NOT NULL,
	`used_by` text,
	PRIMARY KEY(`user_id`, `hash`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
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
CREATE UNIQUE INDEX `seats_agent` ON `seats` (`account_id`,`agent_id`);
--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	`user_agent` text DEFAULT '' NOT NULL,
	`address` text DEFAULT '' NOT NULL,
	`awaits_second_factor` integer DEFAULT false NOT NULL,
	`confirmed_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_token` ON `sessions` (`token_hash`);
--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`);
--> statement-breakpoint
CREATE INDEX `sessions_expire` ON `sessions` (`expires_at`);
--> statement-breakpoint
CREATE INDEX `sessions_ended` ON `sessions` (`ended_at`) WHERE ended_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `signing_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`public_key` text NOT NULL,
	`encrypted_token` text,
	`token_iv` text,
	`token_auth_tag` text,
	`token_key_id` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `signing_keys_created` ON `signing_keys` (`created_at`);
--> statement-breakpoint
CREATE TABLE `signups` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`owner_email` text NOT NULL,
	`address` text NOT NULL,
	`claim_token_hash` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `signups_claim_token` ON `signups` (`claim_token_hash`);
--> statement-breakpoint
CREATE INDEX `signups_address` ON `signups` (`address`,`created_at`);
--> statement-breakpoint
CREATE INDEX `signups_owner` ON `signups` (`owner_email`);
--> statement-breakpoint
CREATE TABLE `skills` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `skills_name` ON `skills` (`account_id`,`name`);
--> statement-breakpoint
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
CREATE INDEX `snoozes_until` ON `snoozes` (`until`);
--> statement-breakpoint
CREATE TABLE `store_facts` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
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
CREATE UNIQUE INDEX `task_events_n` ON `task_events` (`account_id`,`task_id`,`n`);
--> statement-breakpoint
CREATE UNIQUE INDEX `task_events_id` ON `task_events` (`account_id`,`task_id`,`id`);
--> statement-breakpoint
CREATE INDEX `task_events_message` ON `task_events` (`sender_account_id`,`message_id`) WHERE message_id IS NOT NULL;
--> statement-breakpoint
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
CREATE INDEX `task_messages_message` ON `task_messages` (`sender_account_id`,`message_id`);
--> statement-breakpoint
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
CREATE INDEX `tasks_of_client` ON `tasks` (`account_id`,`client_agent_id`,`status_at`,`id`);
--> statement-breakpoint
CREATE INDEX `tasks_of_recipient` ON `tasks` (`recipient_account_id`,`recipient_agent_id`,`id`);
--> statement-breakpoint
CREATE INDEX `tasks_message` ON `tasks` (`account_id`,`message_id`);
--> statement-breakpoint
CREATE INDEX `tasks_open` ON `tasks` (`recipient_account_id`,`recipient_agent_id`,`account_id`,`client_agent_id`,`id`) WHERE expires_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `tasks_expire` ON `tasks` (`expires_at`) WHERE expires_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `tasks_ended` ON `tasks` (`status_at`) WHERE expires_at IS NULL;
--> statement-breakpoint
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
CREATE INDEX `thread_agents_thread` ON `thread_agents` (`account_id`,`thread_id`);
--> statement-breakpoint
CREATE TABLE `thread_messages` (
	`account_id` text NOT NULL,
	`thread_id` integer NOT NULL,
	`seq` integer NOT NULL,
	`root_seq` integer NOT NULL,
	PRIMARY KEY(`account_id`, `thread_id`, `seq`),
	FOREIGN KEY (`account_id`,`thread_id`) REFERENCES `threads`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `thread_messages_seq` ON `thread_messages` (`account_id`,`seq`);
--> statement-breakpoint
CREATE INDEX `thread_messages_root` ON `thread_messages` (`account_id`,`root_seq`) WHERE root_seq <> seq;
--> statement-breakpoint
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
CREATE INDEX `thread_seen_thread` ON `thread_seen` (`account_id`,`thread_id`);
--> statement-breakpoint
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
CREATE UNIQUE INDEX `threads_id` ON `threads` (`account_id`,`id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `threads_key` ON `threads` (`account_id`,`kind`,`key`);
--> statement-breakpoint
CREATE INDEX `threads_newest` ON `threads` (`account_id`,`last_seq`);
--> statement-breakpoint
CREATE TABLE `totps` (
	`user_id` text PRIMARY KEY NOT NULL,
	`encrypted_token` text NOT NULL,
	`token_iv` text NOT NULL,
	`token_auth_tag` text NOT NULL,
	`token_key_id` text NOT NULL,
	`last_step` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`confirmed_at` integer,
	`used_by` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `trials` (
	`account_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`used` integer DEFAULT 0 NOT NULL,
	`max` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	PRIMARY KEY(`account_id`, `agent_id`),
	FOREIGN KEY (`account_id`,`agent_id`) REFERENCES `agents`(`account_id`,`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `trials_to_end` ON `trials` (`expires_at`) WHERE "trials"."ended_at" IS NULL;
--> statement-breakpoint
CREATE TABLE `usage` (
	`account_id` text NOT NULL,
	`day` integer NOT NULL,
	`subject` text NOT NULL,
	`messages` integer NOT NULL,
	`bytes` integer NOT NULL,
	PRIMARY KEY(`account_id`, `day`, `subject`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `usage_day` ON `usage` (`day`);
--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`name` text DEFAULT '' NOT NULL,
	`password_hash` text,
	`email_verified_at` integer,
	`created_at` integer NOT NULL,
	`registered_by_shown_link` integer DEFAULT false NOT NULL,
	`shortcuts` integer DEFAULT true NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email` ON `users` (`email`);
--> statement-breakpoint
CREATE TABLE `verdicts` (
	`account_id` text NOT NULL,
	`id` text NOT NULL,
	`guardrail_id` text NOT NULL,
	`guardrail_name` text NOT NULL,
	`direction` text NOT NULL,
	`action` text NOT NULL,
	`kinds` text NOT NULL,
	`agent_ids` text NOT NULL,
	`sender_alias` text NOT NULL,
	`sender_account_id` text NOT NULL,
	`recipient` text NOT NULL,
	`message_id` text,
	`text_hash` text NOT NULL,
	`content` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `id`),
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `verdicts_guardrail` ON `verdicts` (`account_id`,`guardrail_id`,`id`);
--> statement-breakpoint
CREATE INDEX `verdicts_message` ON `verdicts` (`sender_account_id`,`message_id`) WHERE message_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `verdicts_created` ON `verdicts` (`created_at`);
--> statement-breakpoint
CREATE INDEX `verdicts_content` ON `verdicts` (`created_at`) WHERE content IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `wake_signals` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`agent_id` text NOT NULL
);
--> statement-breakpoint
CREATE TRIGGER activity_is_not_changed BEFORE UPDATE ON activity
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER activity_is_not_deleted BEFORE DELETE ON activity
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER activity_is_not_replaced BEFORE INSERT ON activity
WHEN EXISTS (SELECT 1 FROM activity WHERE account_id = NEW.account_id AND (id = NEW.id OR n = NEW.n))
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER wake_signals_are_few AFTER INSERT ON wake_signals
BEGIN DELETE FROM wake_signals WHERE seq <= NEW.seq - 1000; END;
--> statement-breakpoint
CREATE TRIGGER key_is_revoked_or_moved AFTER UPDATE OF revoked_at, account_id ON credentials
WHEN NEW.agent_id IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER key_is_removed AFTER DELETE ON credentials
WHEN OLD.agent_id IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER agent_is_deleted AFTER UPDATE OF deleted_at ON agents
WHEN NEW.deleted_at IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.id); END;
--> statement-breakpoint
CREATE TRIGGER grant_is_revoked AFTER UPDATE OF revoked_at ON oauth_grants
WHEN NEW.revoked_at IS NOT NULL AND NEW.agent_id IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER access_token_is_revoked AFTER UPDATE OF revoked_at ON oauth_tokens
WHEN NEW.revoked_at IS NOT NULL AND NEW.kind = 'access'
BEGIN
  INSERT INTO wake_signals (agent_id) SELECT agent_id FROM oauth_grants
    WHERE account_id = NEW.account_id AND id = NEW.grant_id AND agent_id IS NOT NULL;
END;
--> statement-breakpoint
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
CREATE TRIGGER lease_is_released AFTER UPDATE OF release_count ON deliveries
WHEN NEW.state = 'unread' AND NOT EXISTS
  (SELECT 1 FROM deliveries WHERE account_id = OLD.account_id AND lease_id = OLD.lease_id)
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.agent_id); END;
--> statement-breakpoint
CREATE TRIGGER session_is_ended AFTER UPDATE OF ended_at ON sessions
WHEN NEW.ended_at IS NOT NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.user_id); END;
--> statement-breakpoint
CREATE TRIGGER session_is_removed AFTER DELETE ON sessions
WHEN OLD.ended_at IS NULL
BEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.user_id); END;
--> statement-breakpoint
CREATE TRIGGER role_is_changed AFTER UPDATE OF role ON memberships
BEGIN INSERT INTO wake_signals (agent_id) VALUES (NEW.user_id); END;
--> statement-breakpoint
CREATE TRIGGER membership_is_removed AFTER DELETE ON memberships
BEGIN INSERT INTO wake_signals (agent_id) VALUES (OLD.user_id); END;
--> statement-breakpoint
CREATE TRIGGER session_end_stops_push AFTER UPDATE OF ended_at ON sessions
WHEN NEW.ended_at IS NOT NULL
BEGIN DELETE FROM push_subscriptions WHERE session_id = NEW.id; END;
--> statement-breakpoint
CREATE TRIGGER session_removal_stops_push AFTER DELETE ON sessions
BEGIN DELETE FROM push_subscriptions WHERE session_id = OLD.id; END;
--> statement-breakpoint
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
--> statement-breakpoint
INSERT INTO projections (name, seq) VALUES ('threads', 0);
