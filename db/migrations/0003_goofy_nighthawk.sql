DROP INDEX `agent_guardrails_guardrail`;--> statement-breakpoint
CREATE INDEX `agent_guardrails_guardrail` ON `agent_guardrails` (`account_id`,`guardrail_id`,`agent_id`);--> statement-breakpoint
DROP INDEX `agent_skills_skill`;--> statement-breakpoint
CREATE INDEX `agent_skills_skill` ON `agent_skills` (`account_id`,`skill_id`,`agent_id`);