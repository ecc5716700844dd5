ALTER TABLE `passkey_challenges` ADD `used_by` text;--> statement-breakpoint
ALTER TABLE `passkeys` ADD `used_by` text;--> statement-breakpoint
ALTER TABLE `recovery_codes` ADD `used_by` text;--> statement-breakpoint
ALTER TABLE `totps` ADD `used_by` text;