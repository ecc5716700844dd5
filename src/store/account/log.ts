/** Rows of the table `log`: events other than messages. */

/** The statement that wakes the callers waiting for agents that match `which`, a condition on `agents`. */
export function logAgents(which: string): string {
  return `
  INSERT INTO log (kind, subject, home) SELECT 'agent', agents.id, agents.account_id FROM agents WHERE ${which}`
}
