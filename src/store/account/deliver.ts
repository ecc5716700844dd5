/** The only file that adds deliveries, and that schedules deliveries to remote agents. See `test/imports.test.ts`. */
import { agentOf, inboxOf } from './inbox-message.ts'

/**
 * The statement that delivers a message to an inbox for each row of `from`. `message` is the message's name in `from`.
 * All arguments are SQL. `more` sets further columns, and `chars` is a parameter by default. Run `makeDue` after an
 * unread delivery, and `takeAnswer` after an answer.
 */
export function deliver(
  { account, agent, message = 'messages', chars = ':chars' }: {
    account: string
    agent: string
    message?: string
    chars?: string
  },
  from: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const { state = "'unread'", ...columns } = more
  const names = Object.keys(columns).map((name) => `, ${name}`).join('')
  const values = Object.values(columns).map((value) => `, ${value}`).join('')
  return `
  INSERT INTO deliveries (seq, inbox, account_id, external_message_id, state, chars, created_at${names})
  SELECT ${message}.seq, ${inboxOf(agent, account)}, ${account}, iif(${account} = :account, NULL, ${message}.id),
    ${state}, ${chars}, :at${values}
  FROM ${from}
  ON CONFLICT DO NOTHING`
}

/** Schedules unread deliveries of the message `:id` to remote agents. A sender's existing schedule stays unchanged. */
export const makeMessageDue = makeDue(
  `messages CROSS JOIN deliveries ON deliveries.seq = messages.seq CROSS JOIN remote_agents AS remote
    ON remote.account_id = deliveries.account_id AND remote.agent_id = ${agentOf()}`,
  'messages.account_id = :account AND messages.id = :id',
)

/** Schedules the unread deliveries to the remote agents that match `which`, a condition on `remote`. */
export function makeInboxDue(which: string): string {
  return makeDue(
    `remote_agents AS remote CROSS JOIN deliveries ON deliveries.inbox = ${
      inboxOf('remote.agent_id', 'remote.account_id')
    } JOIN messages ON messages.seq = deliveries.seq`,
    which,
  )
}

function makeDue(from: string, which: string): string {
  return `
  INSERT INTO remote_outboxes (account_id, agent_id, sender_id, due_at)
  SELECT remote.account_id, remote.agent_id, iif(remote.transport IS NULL, messages.from_agent_id, ''), deliveries.created_at
  FROM ${from}
  WHERE ${which} AND deliveries.state = 'unread'
  ORDER BY deliveries.seq
  ON CONFLICT DO NOTHING`
}
