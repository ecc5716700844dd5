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