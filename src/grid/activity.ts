/** The activity log: a row for each admin call and each change on a page. See docs/protocol/mcp.md, "Activity log". */
import type { Actor, UserActor } from '../auth/actor.ts'
import { type ErrorCode, GridError } from '../errors.ts'
import { newId } from '../lib/id.ts'
import { redactedJson } from '../lib/redact.ts'
import type { AccountStore } from '../store/account.ts'
import type { NewActivity } from '../store/account/activity.ts'
import type { Statement } from '../store/sql.ts'

const maxArgumentsLength = 4_000
const maxValueLength = 200

export interface RecordedCall {
  tool: string
  arguments: unknown
  requestId: string | null
}

/** The actor of a row. The log does not store the role of a user. */
export type ActivityActor = Exclude<Actor, UserActor> | Omit<UserActor, 'role'>

/**
 * Runs a verb and records one row for it, in the same unit as its change, or in a separate unit if the verb changed
 * nothing or failed. Therefore a verb may call `write` only once. Fails with the error of `run`, or of writing the row.
 */
export async function recordActivity<T>(
  account: AccountStore,
  call: RecordedCall,
  run: (account: AccountStore) => Promise<T>,
): Promise<T> {
  let isRecorded = false
  let changed: Changed = {}
  const record = async (outcome: string, statements: Statement[]) => {
    try {
      const isChange = outcome === 'ok' && Object.keys(changed).length > 0
      const recorded = isChange ? { ...call, arguments: { ...call.arguments as object, changed } } : call
      const rows = await account.record(activityRow(account.actor, recorded, outcome, account.deps.now()), statements)
      isRecorded = true
      return rows
    } catch (error) {
      // The row may have been stored although the write failed. A second row for the call could contradict it.
      isRecorded = error instanceof GridError && error.kind === 'unavailable'
      throw error
    }
  }
  const recording: AccountStore = {
    ...account,
    write: (statements) => record('ok', statements),
    changed: (before, after) => {
      changed = differences(before, after)
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

/** The old and the new value of each changed field, by name. */
export type Changed = Record<string, [before: unknown, after: unknown]>

/** Returns the changed fields, nested ones by their own names, because these names also decide what is secret. */
function differences(before: object, after: object): Changed {
  const found: Changed = {}
  for (const [name, value] of Object.entries(after)) {
    const old: unknown = (before as Record<string, unknown>)[name] ?? null
    if (JSON.stringify(old) === JSON.stringify(value)) continue
    if (isFields(old) && isFields(value)) Object.assign(found, differences(old, value))
    else found[name] = [brief(old), brief(value)]
  }
  return found
}

function isFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function brief(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
  return text.length <= maxValueLength ? value : `${text.slice(0, maxValueLength).toWellFormed()}…`
}

export async function recordRefusal(account: AccountStore, call: RecordedCall, outcome: ErrorCode): Promise<void> {
  await account.record(activityRow(account.actor, call, outcome, account.deps.now()), [])
}

/** Returns the row of a call. `outcome` is `ok` or an error code; `at` is in milliseconds since the epoch. */
export function activityRow(actor: ActivityActor, call: RecordedCall, outcome: string, at: number): NewActivity {
  return {
    id: newId(),
    createdAt: at,
    ...actorFields(actor),
    tool: call.tool,
    arguments: shortened(redactedJson(call.arguments ?? {})),
    outcome,
    requestId: call.requestId,
  }
}

function actorFields(
  actor: ActivityActor,
): Pick<NewActivity, 'actorType' | 'userId' | 'credentialId' | 'credentialKind'> {
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
        // Only OAuth lets a user authorize an agent, because an agent key has no user.
        credentialKind: actor.userId === undefined ? null : 'oauth',
      }
    case 'system':
      return { actorType, userId: null, credentialId: null, credentialKind: null }
  }
}

function shortened(json: string): string {
  return json.length <= maxArgumentsLength ? json : JSON.stringify({ cut: json.slice(0, maxArgumentsLength) })
}
