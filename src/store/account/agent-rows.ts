/** The only file that adds and deletes agents, with their dependent rows. See `test/imports.test.ts`. */
import type { Row } from '@libsql/client'
import { type Query, statement } from '../sql.ts'
import { logAgents } from './log.ts'
import { failForDeleted } from './task-changes.ts'

/**
 * The statements that add agents. `insert` is the SQL after `INSERT INTO agents`. `which` is a condition on `agents`
 * that finds the new rows and uses the parameters of `insert`.
 */
export function addAgent(insert: string, which: string): Query<Row>[] {
  return [statement(`INSERT INTO agents ${insert}`), ...completeAgent(which)]
}

/**
 * The statements that add an agent's dependent rows. An agent that already has a number is not new, so a retry changes
 * nothing. A guardrail that sends texts to a service is attached to a person's alias only with their consent.
 */
export function completeAgent(which: string): Query<Row>[] {
  return [
    `INSERT INTO agent_guardrails (account_id, agent_id, guardrail_id, direction)
    SELECT agents.account_id, agents.id, guardrails.id, guardrails.all_agents
    FROM agents JOIN guardrails ON guardrails.account_id = agents.account_id
    WHERE ${which} AND guardrails.all_agents IS NOT NULL AND (guardrails.host IS NULL OR agents.type <> 'human')
      AND NOT EXISTS (SELECT 1 FROM agent_numbers
        WHERE agent_numbers.account_id = agents.account_id AND agent_numbers.agent_id = agents.id)
    ON CONFLICT DO NOTHING`,
    `INSERT INTO remote_agents (account_id, agent_id)
    SELECT agents.account_id, agents.id FROM agents WHERE ${which} AND agents.remote_url IS NOT NULL
    ON CONFLICT DO NOTHING`,
    `INSERT INTO agent_numbers (account_id, agent_id)
    SELECT agents.account_id, agents.id FROM agents WHERE ${which} ON CONFLICT DO NOTHING`,
  ].map(statement)
}

/**
 * The statements that delete the live agents of `account` that match `which`, at `:at`. All arguments are SQL. `more`
 * sets further columns. Also ends reads that wait for these agents, and makes the worker fail their tasks.
 */
export function deleteAgents(account: string, which = '1', more = ''): Query<Row>[] {
  const live = `${which} AND agents.deleted_at IS NULL`
  const ofAccount = `agents.account_id = ${account} AND ${live}`
  return [
    logAgents(ofAccount),
    failForDeleted(account, live),
    `UPDATE agents SET deleted_at = :at${more} WHERE ${ofAccount}`,
  ].map(statement)
}
