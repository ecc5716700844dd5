/** `AccountStore`: the tables of one account, for one caller. */
import type { Row } from '@libsql/client'
import type { Actor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { AccountTrace } from '../call-trace.ts'
import type { KeyRing, SealedToken } from '../lib/key-ring.ts'
import type { GroupLimit, Reached } from '../lib/limits/concurrency-limit.ts'
import type { Notifier } from '../lib/notifier.ts'
import type { AccountPresence, Presences } from '../presence.ts'
import type { AccountTables, Changes, Reads } from './account-tables.ts'
import type { AgentType } from './account/agents.ts'
import type { ActiveApprovalRule } from './account/approval-rules.ts'
import type { activity, NewActivity } from './account/activity.ts'
import type { TextService } from './account/guardrails.ts'
import { defaultTurnLimits, type TurnLimits } from './account/turns.ts'
import type { JudgedMessage, NewVerdict } from './account/verdicts.ts'
import { accountTokenContext } from './global/sealed-tokens.ts'
import { AccountLive, type LiveFeed, type LiveNews, type LivePlace } from './live.ts'
import type { UnitRows, WriteQueue } from './queue.ts'
import type { Db, Proof, Statement } from './sql.ts'
import type { Loop, Standing } from './loop.ts'
import type { TaskAppend, Waiting } from './waiting.ts'

export { defaultTurnLimits }
export type { LiveNews, LivePlace, TaskAppend, TurnLimits, UnitRows }

/**
 * One account, for one caller. `read` runs queries, `change` creates statements, and `write` commits statements as one
 * unit. `write` resolves to the rows of each statement once they are on disk. It fails with `write_conflict` if a
 * constraint or a precondition failed, with `storage_full`, and with `unavailable` if writes are not accepted.
 */
export interface AccountStore<Caller extends Actor = Actor> {
  readonly actor: Caller
  readonly deps: Deps
  /** The caller's ids, and how much of this call's time each purpose took. For the log. */
  readonly trace: AccountTrace
  /** The id of this database's history. It changes when a backup is restored. Cursors contain it. */
  readonly epoch: string
  readonly instanceId: string
  /** Identifies the account in round-robin scheduling. */
  readonly owner: string
  readonly waiting: AccountWaiting
  readonly read: Reads
  readonly change: Changes
  /** An optional feature's queries and statements, bound to this account. */
  readonly feature: AccountTables['feature']
  /** Extensions that features add to verbs. */
  readonly hooks: readonly CoreHooks[]
  write(statements: Statement[]): Promise<UnitRows>
  /** Fails with `storage_full` while the disk has no space for new data, or for a file of this many bytes. */
  requireSpace(fileBytes?: number): void
  /**
   * Commits statements together with the next commit, without making a caller wait. The statements must be safe to
   * repeat, and a crash may lose them.
   */
  writeLater(statements: Statement[]): void
  /** Records a change's old and new values by name. The call's log row stores the differences. Not for secrets. */
  changed(before: object, after: object): void
  record(entry: NewActivity, statements: Statement[]): Promise<UnitRows>
  /** Encrypts a token for one row of one table of this account. No other row can decrypt it. */
  seal(table: string, rowId: string, token: string): Promise<SealedToken>
  /** Decrypts a token that was sealed for this row. Fails with `internal` if decryption fails. */
  open(table: string, rowId: string, sealed: SealedToken): Promise<string>
  /** Guardrails of this account or the account `home`, for checking a message. Other accounts do not see them. */
  guarding(home?: string): Guarding
  /** The log followers that have stalled. */
  standing(): Standing[]
  /** Opens the account of the sender of a message that this account holds, to deliver or refuse the message. */
  ofSender(held: { home: string }): AccountStore
  /** Returns the task queries of `home`, the account that the agent belonged to when it sent the message. */
  tasksOf(home: string): Reads['tasks']
}

/** A feature's extensions to core verbs. */
export interface CoreHooks {
  /** Statements for the unit that deletes a channel. */
  channelEnd?(account: AccountStore, channelId: string): Promise<Statement[]>
  /** The program that forwarded a person's channel post from an external system. */
  programOf?(account: AccountStore, post: { channelId: string; agentId: string }): Promise<string | undefined>
  /** The servers that may receive people's texts with their consent. */
  services?(account: AccountStore): Promise<TextService[]>
  /** Statements for the unit that makes a user a member. */
  joined?(account: AccountStore, userId: string): Statement[]
  /** The issuers that the operator or the owner of the email address's domain trusts for this address. */
  vouchingIssuers?(store: AcrossAccounts, email: string): Promise<string[]>
  /** Conditions that need a person's attention, for the Attention page. */
  conditions?(account: AccountStore): Promise<FeatureCondition[]>
}

/** Read access across accounts for a hook. */
export interface AcrossAccounts {
  readonly deps: Deps
  feature<T>(tables: (db: Db) => T): T
}

/** A feature's entry on the Attention page. The feature's pages define its text under `conditions`. */
export interface FeatureCondition<Facts extends object = object> {
  /** The id that snoozes refer to. Visible to owners and admins. */
  kind: 'webhook' | 'domain'
  /** The condition's subject, unique within its kind. */
  subject: string
  since: number | null
  level: number
  of: Facts
}

/** One account's guardrails, for checking a message. */
export interface Guarding {
  readonly owner: string
  readonly isOwn: boolean
  readonly trace: AccountTrace
  readonly read: Reads['guarding']
  /** The account's active approval rules. */
  approvalRules(): Promise<ActiveApprovalRule[]>
  /** Returns the type of one of the account's agents. */
  typeOf(agentId: string): Promise<AgentType | undefined>
  /** Counts and stores the verdicts of the account's guardrails on a message of this account. */
  verdicts(judged: Omit<JudgedMessage, 'senderAccountId'>, found: NewVerdict[]): Statement[]
  /** Records that a failed guardrail responds again. */
  recovered(guardrailId: string): void
  openToken(guardrailId: string, token: SealedToken): Promise<string>
  write(statements: Statement[]): Promise<UnitRows>
}

/**
 * The named parts of a unit. A part is one statement, or several whose rows are joined. Undefined parts are skipped.
 */
type UnitParts<Name extends string> = { readonly [N in Name]?: Statement | readonly Statement[] }

type PartRows<Name extends string> = { readonly [N in Name]: Row[] }

export async function writeParts<Name extends string>(
  { write }: Pick<AccountStore, 'write'>,
  parts: UnitParts<Name>,
): Promise<PartRows<Name>> {
  const statements: Statement[] = []
  const names: Name[] = []
  const found = {} as Record<Name, Row[]>
  for (const name of Object.keys(parts) as Name[]) {
    found[name] = []
    const part: Statement | readonly Statement[] | undefined = parts[name]
    if (part === undefined) continue
    for (const statement of Array.isArray(part) ? part : [part]) {
      statements.push(statement)
      names.push(name)
    }
  }
  const rows = await write(statements)
  for (let i = 0; i < names.length; i++) {
    const before = found[names[i]]
    found[names[i]] = before.length > 0 ? [...before, ...rows[i]] : rows[i] ?? []
  }
  return found
}

/** One account's waits and streams in this process. A class, because its getters create their values on first use. */
class AccountWaiting {
  readonly #waiting: Waiting
  readonly #accountId: string
  readonly #live: LiveFeed
  readonly #presences: Presences

  constructor(waiting: Waiting, accountId: string, live: LiveFeed, presences: Presences) {
    this.#waiting = waiting
    this.#accountId = accountId
    this.#live = live
    this.#presences = presences
  }

  get presence(): AccountPresence {
    return this.#presences.of(this.#accountId)
  }

  get live(): AccountLive {
    return new AccountLive(this.#live, this.#accountId)
  }

  get notifier(): Notifier {
    return this.#waiting.notifier
  }

  get reads(): GroupLimit {
    return this.#waiting.reads.of(this.#accountId)
  }

  get streams(): GroupLimit {
    return this.#waiting.streams.of(this.#accountId)
  }

  get pages(): GroupLimit {
    return this.#waiting.pages.of(this.#accountId)
  }

  get lists(): GroupLimit {
    return this.#waiting.lists.of(this.#accountId)
  }

  get downloads(): GroupLimit {
    return this.#waiting.downloads.of(this.#accountId)
  }

  get taskStreams(): GroupLimit {
    return this.#waiting.taskStreams.of(this.#accountId)
  }

  get appends(): Waiting['appends'] {
    return this.#waiting.appends
  }

  get checkedChunks(): Waiting['checkedChunks'] {
    return this.#waiting.checkedChunks
  }

  get reservations(): Waiting['reservations'] {
    return this.#waiting.reservations
  }

  /** Reserves capacity for a response. Returns the release function, or the limit that was reached. */
  takeBytes(key: string, bytes: number): (() => void) | Reached {
    const { ofAccounts, ofKeys } = this.#waiting.answerBytes
    const ofGrid: Reached = { by: 'grid', quota: ofAccounts.total }
    if (!ofKeys.take(key, bytes)) return ofKeys.allows(key, bytes) ? ofGrid : { by: 'key', quota: ofKeys.share }
    if (ofAccounts.take(this.#accountId, bytes)) {
      return () => {
        ofAccounts.release(this.#accountId, bytes)
        ofKeys.release(key, bytes)
      }
    }
    ofKeys.release(key, bytes)
    return ofAccounts.allows(this.#accountId, bytes) ? ofGrid : { by: 'account', quota: ofAccounts.share }
  }
}

export interface StoreContext extends RecordingContext {
  readonly tablesOf: (accountId: string) => AccountTables
  /** Returns tables whose queries fail if the proof of their caller fails. */
  readonly tablesBehind: (proof: Proof) => (accountId: string) => AccountTables
  readonly queue: AccountQueue
  readonly keyRing: KeyRing
  readonly deps: Deps
  readonly epoch: string
  readonly instanceId: string
  readonly waiting: Waiting
  readonly live: LiveFeed
  readonly presences: Presences
  readonly loop: Loop
  readonly hooks: readonly CoreHooks[]
}

/** Opens accounts. With a `proof`, nothing is read or written unless it holds: see `AuthenticatedCall`. */
export type OpenAccount = <Caller extends Actor>(
  accountId: string,
  actor: Caller,
  proof?: Proof,
) => AccountStore<Caller>

export function accountOpener(context: StoreContext): OpenAccount {
  const openProven = openerOf(context)
  return (accountId, actor, proof) =>
    (proof ? openerOf({ ...context, ...behind(context, proof) }) : openProven)(accountId, actor)
}

function behind({ tablesBehind, queue }: StoreContext, proof: Proof): Pick<StoreContext, 'tablesOf' | 'queue'> {
  return {
    tablesOf: tablesBehind(proof),
    queue: {
      requireSpace: (fileBytes) => queue.requireSpace(fileBytes),
      write: (lane, statements) => proof().then(() => queue.write(lane, statements)),
      writeLater: (statements) => void proof().then(() => queue.writeLater(statements), () => {}),
    },
  }
}

function openerOf(
  context: StoreContext,
): <Caller extends Actor>(accountId: string, actor: Caller) => AccountStore<Caller> {
  const { tablesOf, queue, keyRing, deps, epoch, instanceId, waiting, live, loop } = context
  const { presences, hooks } = context

  return openAccount

  function openAccount<Caller extends Actor>(accountId: string, actor: Caller): AccountStore<Caller> {
    const { read, change, feature } = tablesOf(accountId)
    const trace = new AccountTrace(accountId, actor.type === 'agent' ? actor.agentId : undefined, deps.now)
    const write = (statements: Statement[]) => trace.time('commitMs', () => queue.write(accountId, statements))

    return {
      actor,
      deps,
      trace,
      epoch,
      instanceId,
      owner: accountId,
      waiting: new AccountWaiting(waiting, accountId, live, presences),
      read,
      change,
      feature,
      hooks,
      write,
      changed: () => {},
      requireSpace: (fileBytes) => queue.requireSpace(fileBytes),
      writeLater: (statements) => queue.writeLater(statements),
      record: (entry, statements) =>
        trace.time('commitMs', () => writeWithActivity(context, [{ accountId, entry }], statements)),
      seal: (table, rowId, token) => keyRing.seal(token, accountTokenContext(table, accountId, rowId)),
      open: (table, rowId, sealed) => keyRing.open(sealed, accountTokenContext(table, accountId, rowId)),
      standing: () => loop.standing(),
      guarding(home = accountId) {
        const tables = tablesOf(home)
        return {
          owner: home,
          isOwn: home === accountId,
          trace,
          read: tables.read.guarding,
          approvalRules: () => tables.read.approvalRules.active(),
          typeOf: async (id) => (await tables.read.agents.byId(id))?.type,
          verdicts: (judged, found) => tables.change.verdicts.add({ ...judged, senderAccountId: accountId }, found),
          recovered: (id) => queue.writeLater([tables.change.guardrails.recover(id)]),
          openToken: (id, token) => keyRing.open(token, accountTokenContext('guardrails', home, id)),
          write,
        }
      },
      ofSender: ({ home }) => openAccount(home, { type: 'system', job: 'approvals' }),
      tasksOf: (home) => tablesOf(home).read.tasks,
    }
  }
}

/** The write queue as used by an account. */
type AccountQueue = Pick<WriteQueue, 'write' | 'writeLater' | 'requireSpace'>

type ActivityLog = typeof activity

interface RecordingContext {
  readonly tablesOf: (accountId: string) => {
    read: { activity: ReturnType<ActivityLog['reads']> }
    change: { activity: ReturnType<ActivityLog['changes']> }
  }
  readonly queue: Pick<WriteQueue, 'write'>
}

export interface ActivityEntry {
  accountId: string
  entry: NewActivity
}

export async function writeWithActivity(
  { tablesOf, queue }: RecordingContext,
  rows: ActivityEntry[],
  statements: Statement[],
): Promise<UnitRows> {
  const lane = rows.length === 1 ? rows[0].accountId : ''
  const added = rows.map(({ accountId, entry }) => tablesOf(accountId).change.activity.add(entry))
  try {
    const stored = await queue.write(lane, [...statements, ...added])
    return stored.slice(0, statements.length)
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'write_conflict' || rows.length === 0) throw error
    // If the result of a committed unit was lost, its retry conflicts with its own rows, and counts as successful.
    const [{ accountId, entry }] = rows
    if (await tablesOf(accountId).read.activity.has(entry.id)) return statements.map(() => [])
    throw error
  }
}
