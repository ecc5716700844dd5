/** Rows of the table `log`: what happened besides messages. */

/** The statement that tells whoever waits for the agents that meet `which`, a condition on `agents`, to look again. */
export function logAgents(which: string): string {
  return `
  INSERT INTO log (kind, subject, home) SELECT 'agent', agents.id, agents.account_id FROM agents WHERE ${which}`
}
