/**
 * The number of the inbox of an agent, as a sub-select; no row if the agent does not belong to the account. `agent` and
 * `account` are SQL. The number stands for the account and the agent, so that the indexes of the inbox answer by
 * themselves: a foreign key makes it the number of both.
 */
export function inboxOf(agent = ':agent', account = ':account'): string {
  return `(SELECT agent_numbers.n FROM agent_numbers
    WHERE agent_numbers.account_id = ${account} AND agent_numbers.agent_id = ${agent})`
}
