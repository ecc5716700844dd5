/** Erases everything that an agent or a person has written. See docs/people.md, "Erasing words". */
import { requireConfirmed } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { normaliseAlias } from '../../aliases.ts'
import type { AccountStore } from '../../store/account.ts'
import { removedTables } from '../../store/account/retention.ts'
import { authorize } from '../authorize.ts'

const messagesAtATime = 200
/** Limits the size of a unit, because an upload row has up to 64 KiB. */
const uploadRowsAtATime = 25

export interface Erased {
  alias: string
  /** How many rows were removed or emptied in each table. Tables with no such rows are omitted. */
  rows: Record<string, number>
}

/**
 * Erases everything written by agents of the account that have or had this alias, including copies that other accounts
 * received. The work is done in small units: after an interruption, another call erases the rest. Messages from others
 * stay, even if they quote erased text. Fails with `agent_not_found`, or for a user with `confirmation_required`.
 */
export async function eraseWords(account: AccountStore, ref: string): Promise<Erased> {
  const { read, change, deps } = account
  await authorize(account, 'own')
  requireConfirmed(account.actor, deps.now())
  const alias = normaliseAlias(ref)
  const agents = await read.erasing.agentsOf(alias)
  if (agents.length === 0) throw new GridError('agent_not_found', `Agent '${ref}' not found`)

  const rows: Record<string, number> = {}
  const count = (table: string, n: number) => {
    if (n > 0) rows[table] = (rows[table] ?? 0) + n
  }
  for (let after = '';;) {
    const messages = await read.erasing.messagesAfter(agents, after, messagesAtATime)
    if (messages.length === 0) break
    after = messages.at(-1)!.id
    const sent = messages.filter(({ isOf }) => isOf === 1)
    if (sent.length === 0) continue
    const ids = sent.map(({ id }) => id)
    const size = sent.reduce((sum, { recipients }) => sum + recipients + 1, 0)
    const removal = change.retention.removeMessages(ids, size)
    const [verdicts, ...removed] = await account.write([change.erasing.removeVerdicts(ids), ...removal])
    count('verdicts', verdicts.length)
    const ofTables = removed.slice(-removedTables.length)
    removedTables.forEach((table, i) => count(table, ofTables[i].length))
  }
  for (let removed = 1; removed > 0;) {
    const [uploadRows] = await account.write([change.erasing.removeUploadRows(agents, uploadRowsAtATime)])
    removed = uploadRows.length
  }
  const rest = change.erasing.rest(agents, alias)
  const ofRest = await account.write(rest.map(([, statement]) => statement))
  rest.forEach(([table], i) => count(table, ofRest[i].length))
  return { alias, rows }
}

/** Returns sentences that name who still has the erased text. */
export function keptElsewhere({ deps: { config } }: Pick<AccountStore, 'deps'>): string[] {
  const { backupDir, backupEverySeconds, backupKeep } = config
  const days = Math.ceil(backupKeep * backupEverySeconds / (24 * 3600))
  return [
    backupDir === undefined
      ? 'Earlier backups and exports still contain the erased text.'
      : `Scheduled backups have the words for up to ${days} more ${
        days === 1 ? 'day' : 'days'
      }. Other copies and exports keep them.`,
    'So do recipients outside the grid: remote agents, guardrail services, webhooks, Slack, and emails.',
  ]
}
