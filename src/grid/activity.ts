/** The account activity log: every admin call, and everything that a page changes, leaves one row. */
import type { Actor, UserActor } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import { newId } from '../lib/id.ts'
import { redactedJson } from '../lib/redact.ts'
import type { AccountStore } from '../store/account.ts'
import type { NewActivity } from '../store/account/activity.ts'
import type { Statement } from '../store/driver/binding.ts'

/** How much of one call's arguments is kept, in characters of JSON. */
const maxArgumentsLength = 4_000

/** A call, as it will stand in the log. */
export interface Call {
  tool: string
  arguments: unknown
  requestId: string | null
}

/** Who did something, as the log names them: it does not say what a person is in the account. */
export type Doer = Exclude<Actor, UserActor> | Omit<UserActor, 'role'>

/**
 * Run a verb so that it leaves one row: in the unit of its own change, or alone when it changed nothing or failed.
 * No change is stored without its row, and no row without its change. So a verb calls `write` once, and
 * demands in SQL what must hold instead of looking at the rows that come back.
 *
 * Fails with what `run` fails with. Spec: "Admin tools", rule 2.
 */
export async function recorded<T>(
  account: AccountStore,
  call: Call,
  run: (account: AccountStore) => Promise<T>,
): Promise<T> {
  let isRecorded = false
  const record = async (outcome: string, statements: Statement[]) => {
    try {
      await account.record(activityRow(account.actor, call, outcome, account.deps.now()), statements)
      isRecorded = true
    } catch (error) {
      // The row may be stored or not; a second one for the same call could contradict it.
      isRecorded = error instanceof GridError && error.code === 'unavailable'
      throw error
    }
  }
  const recording: AccountStore = {
    ...account,
    async write(statements) {
      await record('ok', statements)
      return []
    },
  }
  try {
    const result = await run(recording)
    if (!isRecorded) await record('ok', [])
    return result
  } catch (error) {
    if (!isRecorded) await record(error instanceof GridError ? error.code : 'internal', [])
    throw error
  }
}

/** The row of a call, for the log of the account that it concerns. `outcome` is `ok` or the code of an error. */
export function activityRow(doer: Doer, call: Call, outcome: string, at: number): NewActivity {
  return {
    id: newId(),
    createdAt: at,
    ...actorFields(doer),
    tool: call.tool,
    arguments: shortened(redactedJson(call.arguments ?? {})),
    outcome,
    requestId: call.requestId,
  }
}

function actorFields(actor: Doer): Pick<NewActivity, 'actorType' | 'userId' | 'credentialId' | 'credentialKind'> {
  const actorType = actor.type
  switch (actor.type) {
    case 'user':
      return { actorType, userId: actor.userId, credentialId: actor.sessionId, credentialKind: 'session' }
    case 'admin':
      return {
        actorType,
        userId: actor.userId,
        credentialId: actor.credentialId,
        credentialKind: actor.credentialKind,
      }
    case 'agent':
      return {
        actorType,
        userId: actor.userId ?? null,
        credentialId: actor.credentialId,
        // Who let it in can only have done so by OAuth.
        credentialKind: actor.userId === undefined ? null : 'oauth',
      }
    case 'system':
      return { actorType, userId: null, credentialId: null, credentialKind: null }
  }
}

/** Always valid JSON, also when it had to be cut. */
function shortened(json: string): string {
  return json.length <= maxArgumentsLength ? json : JSON.stringify({ cut: json.slice(0, maxArgumentsLength) })
}
