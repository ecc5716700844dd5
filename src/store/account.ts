/** `AccountStore`: the tables of one account, for one caller. */
import type { Row } from '@libsql/client'
import type { Actor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { accountTokenContext, type KeyRing, type SealedToken } from '../lib/key-ring.ts'
import { lazy, lazyClass } from '../lib/lazy.ts'
import type { GroupLimit } from '../lib/limits/concurrency-limit.ts'
import type { Notifier } from '../lib/notifier.ts'
import type { AccountPresence, Presences } from '../lib/presence.ts'
import type { NewActivity } from './account/activity-chain.ts'
import { prepareActivity } from './account/activity.ts'
import { prepareAgentSearch } from './account/agent-search.ts'
import { maxListedUnread, prepareAgentSettings } from './account/agent-settings.ts'
import { prepareAgents } from './account/agents.ts'
import { prepareAttention } from './account/attention.ts'
import { prepareChannels } from './account/channels.ts'
import { prepareDirectory } from './account/directory.ts'
import { prepareFanOut } from './account/fan-out.ts'
import { prepareGrants } from './account/grants.ts'
import { prepareGuarding } from './account/guarding.ts'
import { prepareGuardrails } from './account/guardrails.ts'
import { prepareInbox } from './account/inbox.ts'
import { prepareKeys } from './account/keys.ts'
import { prepareLeases } from './account/leases.ts'
import { prepareLive } from './account/live.ts'
import { prepareMessageStatus } from './account/message-status.ts'
import { prepareMessages } from './account/messages.ts'
import { prepareNames } from './account/names.ts'
import { prepareNotifications } from './account/notifications.ts'
import { prepareOverview } from './account/overview.ts'
import { prepareParked } from './account/parked.ts'
import { prepareParts } from './account/parts.ts'
import { preparePresence } from './account/presence.ts'
import { prepareProfile } from './account/profile.ts'
import { prepareReceipts } from './account/receipts.ts'
import { prepareRetention } from './account/retention.ts'
import { prepareSeats } from './account/seats.ts'
import { prepareSkills } from './account/skills.ts'
import { prepareSnoozes } from './account/snoozes.ts'
import { prepareTasks } from './account/tasks.ts'
import { prepareTeam } from './account/team.ts'
import { prepareThreadMessages } from './account/thread-messages.ts'
import { prepareThreads } from './account/threads.ts'
import { prepareTimedLeases } from './account/timed-leases.ts'
import { defaultTurnLimits, prepareTurns, type TurnLimits } from './account/turns.ts'
import { prepareUnclaimed } from './account/unclaimed.ts'
import { prepareUsage } from './account/usage.ts'
import { type JudgedMessage, type NewVerdict, prepareVerdicts } from './account/verdicts.ts'
import { AccountBinding, type Statement } from './driver/binding.ts'
import type { CrossAccountQueries, Db } from './driver/db.ts'
import { AccountLive, type LiveFeed, type LiveNews, type LivePlace } from './live.ts'
import type { Lookups } from './lookups.ts'
import type { UnitRows, WriteQueue } from './queue.ts'
import { type RecordingContext, writeWithActivity } from './recording.ts'
import { maxEventsRead, type ReadEvents, type TaskFeeds, type TaskFollower } from './task-feeds.ts'
import type { TaskAppend, Waiting } from './waiting.ts'

export { defaultTurnLimits, maxEventsRead, maxListedUnread }
export type { LiveNews, LivePlace, ReadEvents, TaskAppend, TaskFollower, TurnLimits }

/**
 * One account, for one caller. `read` runs queries, `change` makes statements, and `write` commits statements as one
 * unit. `write` resolves to the rows of each statement once they are on disk. It fails with `write_conflict` if a
 * constraint or a precondition failed, and with `unavailable`.
 */
export interface AccountStore<Caller extends Actor = Actor> {
  readonly actor: Caller
  /**
   * Whether the caller is still who it was at its last call; absent if that is known. Nothing may be answered before, and
   * `write`, `record` and `writeLater` wait for it. Fails with `unauthenticated`, or with `unavailable` if it has changed.
   */
  confirm?(): Promise<void>
  readonly deps: Deps
  /** The id of this database's history. It changes when a backup is restored. Cursors contain it. */
  readonly epoch: string
  /** The id of this process, as the holder of leases. */
  readonly instanceId: string
  /** Waiting reads and event streams of this process, and their limits. */
  readonly waiting: AccountWaiting
  readonly read: Reads
  readonly change: Changes
  write(statements: Statement[]): Promise<UnitRows>
  /** Look at the database again for what this account looked up. For a decision that turned out to be wrong. */
  forgetLookups(): void
  /** Fails with `storage_full` while the disk has no space for anything new. */
  requireSpace(): void
  /** Whether `write` adds a row to the activity log: then a unit that changed nothing must fail. */
  readonly isRecording: boolean
  /**
   * Commit statements as one unit together with the next commit. The caller does not wait for it. It must be safe to
   * repeat, and a crash may lose it.
   */
  writeLater(statements: Statement[]): void
  /** `write`, with a row of the activity log in the same unit. */
  record(entry: NewActivity, statements: Statement[]): Promise<UnitRows>
  /** Encrypt a token for one row of one table of this account. It cannot be decrypted for any other. */
  seal(table: string, rowId: string, token: string): Promise<SealedToken>
  /** Decrypt a token that was sealed for this row. Fails with `internal` if it does not open. */
  open(table: string, rowId: string, sealed: SealedToken): Promise<string>
  /**
   * What the check of a message needs of the guardrails of this account or, with `home`, of the account that the
   * message goes to. Nothing of it may be shown to a caller of another account.
   */
  guarding(home?: string): Guarding
}

/** The guardrails of one account, for the check of a message. */
export interface Guarding {
  /** Whether it is this account. */
  readonly isOwn: boolean
  readonly read: Reads['guarding']
  /** Count and store verdicts of its guardrails on a message of this account. */
  verdicts(judged: Omit<JudgedMessage, 'senderAccountId'>, found: NewVerdict[]): [Statement, Statement]
  /** Decrypt the token of a guardrail of the account. */
  openToken(guardrailId: string, token: SealedToken): Promise<string>
  /** `write`, without a row of the activity log: the send fails, and its row says so. */
  write(statements: Statement[]): Promise<UnitRows>
}

/**
 * The named parts of a unit, so that nothing depends on positions. A part is a statement, or several with the rows of
 * all of them. An undefined part is left out.
 */
export type UnitParts<Name extends string> = { readonly [N in Name]?: Statement | readonly Statement[] }

/** The rows of each part; none for a part that was left out. */
export type PartRows<Name extends string> = { readonly [N in Name]: Row[] }

/** Commit named parts as one unit, in the order of their keys. */
export async function writeParts<Name extends string>(
  { write }: Pick<AccountStore, 'write'>,
  parts: UnitParts<Name>,
): Promise<PartRows<Name>> {
  const statements: Statement[] = []
  /** The part of each statement. */
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

/**
 * The waits and streams of the process, as one account sees them. A class, because its fields are made only for callers
 * that wait.
 */
export class AccountWaiting {
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

  /** Who is at the agents of the account. */
  get presence(): AccountPresence {
    return this.#presences.of(this.#accountId)
  }

  /** What the open pages of the account are told. */
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

  /** Event streams of people, by user. */
  get pages(): GroupLimit {
    return this.#waiting.pages.of(this.#accountId)
  }

  get lists(): GroupLimit {
    return this.#waiting.lists.of(this.#accountId)
  }

  /** Those who follow tasks or wait for them. */
  get taskStreams(): GroupLimit {
    return this.#waiting.taskStreams.of(this.#accountId)
  }

  /** The events of tasks that are followed. Ids of tasks are unique over all accounts. */
  get taskFeeds(): TaskFeeds {
    return this.#waiting.taskFeeds
  }

  /** What is appended to artifacts, by task. */
  get appends(): Waiting['appends'] {
    return this.#waiting.appends
  }

  /** Take room for a list. Returns the function that gives it back, or undefined if there is not so much. */
  takeListBytes(bytes: number): (() => void) | undefined {
    return this.#waiting.listBytes.take(this.#accountId, bytes)
  }
}

type RepositoryMakers = ReturnType<typeof repositoryMakers>
type Repositories = { readonly [Name in keyof RepositoryMakers]: ReturnType<RepositoryMakers[Name]> }
export type Reads = { readonly [Name in keyof Repositories]: ReturnType<Repositories[Name]['reads']> }
export type Changes = { readonly [Name in keyof Repositories]: ReturnType<Repositories[Name]['changes']> }

/** The queries and statements of one account. They do not depend on the caller. */
interface AccountTables {
  read: Reads
  change: Changes
}

/** How many accounts have their tables cached. Making them takes as long as a query, and some 6 KiB. */
const maxCachedAccounts = 1_000

/**
 * Prepare the statements on account tables, once per store: those of a table when it is first used. The result binds them
 * to an account.
 */
export function prepareAccountTables(
  db: Db,
  crossAccountQueries: CrossAccountQueries,
  lookups: Lookups,
): (accountId: string) => AccountTables {
  const make = repositoryMakers(db, crossAccountQueries, lookups)
  const repositories = lazy<Repositories>(make)
  const names = Object.keys(make) as (keyof Repositories)[]
  const [BoundReads, BoundChanges] = [lazyClass<Reads>(names), lazyClass<Changes>(names)]
  const bound = new Map<string, AccountTables>()

  return function tablesOf(accountId) {
    const known = bound.get(accountId)
    if (known) return known
    if (bound.size === maxCachedAccounts) bound.clear()
    const account = new AccountBinding(accountId)
    const tables = {
      read: new BoundReads((name) => repositories[name].reads(account)),
      change: new BoundChanges((name) => repositories[name].changes(account)),
    }
    bound.set(accountId, tables)
    return tables
  }
}

function repositoryMakers(db: Db, crossAccountQueries: CrossAccountQueries, lookups: Lookups) {
  return {
    activity: () => prepareActivity(db),
    agents: () => prepareAgents(db, lookups),
    agentSearch: () => prepareAgentSearch(db),
    agentSettings: () => prepareAgentSettings(db),
    attention: () => prepareAttention(db),
    receipts: () => prepareReceipts(db),
    channels: () => prepareChannels(db),
    directory: () => prepareDirectory(db, crossAccountQueries, lookups),
    fanOut: () => prepareFanOut(db),
    grants: () => prepareGrants(db),
    guarding: () => prepareGuarding(db, lookups),
    guardrails: () => prepareGuardrails(db),
    leases: () => prepareLeases(db),
    live: () => prepareLive(db),
    keys: () => prepareKeys(db),
    inbox: () => prepareInbox(db),
    messages: () => prepareMessages(db),
    names: () => prepareNames(db),
    notifications: () => prepareNotifications(db),
    overview: () => prepareOverview(db),
    parked: () => prepareParked(db),
    parts: () => prepareParts(db),
    presence: () => preparePresence(db),
    profile: () => prepareProfile(db),
    messageStatus: () => prepareMessageStatus(db),
    retention: () => prepareRetention(db, crossAccountQueries),
    seats: () => prepareSeats(db),
    skills: () => prepareSkills(db),
    snoozes: () => prepareSnoozes(db),
    tasks: () => prepareTasks(db),
    team: () => prepareTeam(db),
    timedLeases: () => prepareTimedLeases(db),
    threads: () => prepareThreads(db),
    threadMessages: () => prepareThreadMessages(db),
    turns: () => prepareTurns(db),
    unclaimed: () => prepareUnclaimed(db),
    usage: () => prepareUsage(db, crossAccountQueries),
    verdicts: () => prepareVerdicts(db),
  }
}

/** What all accounts of an open store share. */
export interface StoreContext extends RecordingContext {
  readonly tablesOf: ReturnType<typeof prepareAccountTables>
  readonly queue: WriteQueue
  readonly lookups: Lookups
  readonly keyRing: KeyRing
  readonly deps: Deps
  readonly epoch: string
  readonly instanceId: string
  readonly waiting: Waiting
  readonly live: LiveFeed
  readonly presences: Presences
}

/** Opens accounts for authorized callers. It checks nothing itself. */
export function accountOpener(
  context: StoreContext,
): (accountId: string, actor: Actor, confirm?: () => Promise<void>) => AccountStore {
  const { tablesOf, queue, lookups, keyRing, deps, epoch, instanceId, waiting, live } = context
  const { presences } = context

  return function openAccount(accountId, actor, confirm) {
    const { read, change } = tablesOf(accountId)
    const write = (statements: Statement[]) => queue.write(accountId, statements)
    const record = (entry: NewActivity, statements: Statement[]) =>
      writeWithActivity(context, [{ accountId, entry }], statements)
    const writeLater = (statements: Statement[]) => queue.writeLater(statements)

    return {
      actor,
      deps,
      epoch,
      instanceId,
      waiting: new AccountWaiting(waiting, accountId, live, presences),
      isRecording: false,
      read,
      change,
      write,
      forgetLookups: () => lookups.forget(accountId),
      requireSpace: () => queue.requireSpace(),
      writeLater,
      record,
      seal: (table, rowId, token) => keyRing.seal(token, accountTokenContext(table, accountId, rowId)),
      open: (table, rowId, sealed) => keyRing.open(sealed, accountTokenContext(table, accountId, rowId)),
      guarding(home = accountId) {
        const tables = tablesOf(home)
        return {
          isOwn: home === accountId,
          read: tables.read.guarding,
          verdicts: (judged, found) => tables.change.verdicts.add({ ...judged, senderAccountId: accountId }, found),
          openToken: (id, token) => keyRing.open(token, accountTokenContext('guardrails', home, id)),
          write,
        }
      },
      ...(confirm && {
        confirm,
        write: (statements: Statement[]) => confirm().then(() => write(statements)),
        record: (entry: NewActivity, statements: Statement[]) => confirm().then(() => record(entry, statements)),
        writeLater: (statements: Statement[]) => void confirm().then(() => writeLater(statements), () => {}),
      }),
    }
  }
}
