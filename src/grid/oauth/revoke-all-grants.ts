/** Revoking all OAuth grants of a user, in all accounts. */
import type { Statement } from '../../store/sql.ts'
import type { RevocableAccess } from '../../store/global/oauth-grants.ts'
import type { Store } from '../../store/store.ts'
import { type ActivityActor, activityRow } from '../activity.ts'
import { describeGrant } from './grants.ts'

/** Most accounts whose grants one unit revokes. The unit has to append to the activity log of each. */
export const maxAccountsAtOnce = 20

/** The change that revokes all grants of a user. */
export interface RevokeAllInput {
  userId: string
  /** The name of the change in the activity log of each account. */
  tool: string
  requestId: string | null
  /** Fails a unit if the change may not be made now. */
  precondition: Statement[]
  /** Statements of the change itself. They include the precondition. */
  statements: Statement[]
}

/**
 * Run `statements`, and in the same unit revoke all grants of a user.
 * The unit also writes an activity row in each account concerned. With grants in more than `maxAccountsAtOnce`
 * accounts, earlier units revoke the first of them, with their rows; if the last unit fails, those stay revoked and
 * logged.
 * Fails with `write_conflict` if the precondition does not hold, or if a grant was given or revoked meanwhile.
 */
export async function revokeAllGrants(
  store: Store,
  { userId, tool, requestId, precondition, statements }: RevokeAllInput,
): Promise<void> {
  const { global: { oauth: { revocations } }, deps, record } = store
  // No session: the user of an email link need not be signed in.
  const actor: ActivityActor = { type: 'user', userId, sessionId: '' }
  for (;;) {
    const at = deps.now()
    const found = await revocations.find(userId, at)
    const accounts = groupByAccount(found)
    const first = accounts.slice(0, maxAccountsAtOnce)
    const rows = first.map(([accountId, revoked]) => {
      const call = { tool, arguments: { programs: revoked.map(describeRevoked) }, requestId }
      return { accountId, entry: activityRow(actor, call, 'ok', at) }
    })
    if (first.length === accounts.length && found.length < revocations.maxFound) {
      const ids = found.map(({ id }) => id)
      await record(rows, [
        revocations.requireUnchanged(userId, ids, at),
        ...statements,
        revocations.revokeAll(userId, at),
      ])
      return
    }
    const revoke = first.map(([accountId]) => revocations.revokeInAccount(accountId, userId, at))
    await record(rows, [...precondition, ...revoke])
  }
}

function groupByAccount(found: RevocableAccess[]): [accountId: string, access: RevocableAccess[]][] {
  const accounts = new Map<string, RevocableAccess[]>()
  for (const access of found) accounts.set(access.accountId, [...accounts.get(access.accountId) ?? [], access])
  return [...accounts]
}

/** A revoked grant in the arguments of the logged call. Pages show its `name`. */
function describeRevoked(grant: RevocableAccess) {
  const { program, ...fields } = describeGrant(grant)
  return { name: program, ...fields }
}
