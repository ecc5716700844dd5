/** The end of everything that a person let OAuth clients do, in whatever accounts. */
import type { Statement } from '../../store/driver/binding.ts'
import type { Ending } from '../../store/global/oauth-ends.ts'
import type { Store } from '../../store/store.ts'
import { activityRow, type Doer } from '../activity.ts'
import { grantInWords } from './grants.ts'

/** In how many accounts grants end in one unit: it takes a turn in the log of each. */
export const maxAccountsAtOnce = 20

/** What a person does that ends all they let programs do. */
export interface EndOfAll {
  userId: string
  /** The name of the act, as the log of each account has it. */
  tool: string
  requestId: string | null
  /** Fails a unit that must not be carried out any more. */
  demand: Statement[]
  /** What is done together with the end. */
  statements: Statement[]
}

/**
 * Carry out `statements`, and in the same unit end all grants of a person with the keys that were fetched; each
 * account where something ends has a row of it in the unit. In more than `maxAccountsAtOnce` accounts the first ones
 * have a unit and their rows before, while `demand` holds: should the last unit not come about, what ended is told
 * all the same.
 * Fails with `write_conflict` when `demand` does not hold, or a program was let in or out meanwhile.
 */
export async function endAllGrants(
  store: Store,
  { userId, tool, requestId, demand, statements }: EndOfAll,
): Promise<void> {
  const { global: { oauth: { ends } }, deps, record } = store
  // No session did it: who has the link to a mailbox need not be signed in.
  const doer: Doer = { type: 'user', userId, sessionId: '' }
  for (;;) {
    const at = deps.now()
    const found = await ends.found(userId, at)
    const homes = byAccount(found)
    const first = homes.slice(0, maxAccountsAtOnce)
    const rows = first.map(([accountId, ending]) => {
      const call = { tool, arguments: { programs: ending.map(inWords) }, requestId }
      return { accountId, entry: activityRow(doer, call, 'ok', at) }
    })
    if (first.length === homes.length && found.length < ends.maxFound) {
      const ids = found.map(({ id }) => id)
      return await record(rows, [ends.requireFound(userId, ids, at), ...statements, ...ends.ofUser(userId, at)])
    }
    await record(rows, [...demand, ...first.flatMap(([accountId]) => ends.ofUserIn(accountId, userId, at))])
  }
}

function byAccount(found: Ending[]): [accountId: string, ending: Ending[]][] {
  const accounts = new Map<string, Ending[]>()
  for (const ending of found) accounts.set(ending.accountId, [...accounts.get(ending.accountId) ?? [], ending])
  return [...accounts]
}

/** A program by the name that sentences show, or a key that one fetched. */
function inWords({ id, clientId, clientName, alias }: Ending) {
  if (clientId === null || clientName === null) return { id, name: 'a fetched key', as: `@${alias}` }
  const { program, ...words } = grantInWords({ id, clientId, clientName, alias })
  return { name: program, ...words }
}
