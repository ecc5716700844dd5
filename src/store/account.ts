/** `AccountStore`: the one door to account tables. */
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Actor } from '../auth/actor.ts'
import type { KeyRing, Sealed } from '../lib/key-ring.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { chained, type NewActivity, prepareActivity } from './account/activity.ts'
import { prepareAgents } from './account/agents.ts'
import { prepareAgentSettings } from './account/agent-settings.ts'
import { prepareAnswers } from './account/receipts.ts'
import { prepareChannels } from './account/channels.ts'
import { prepareDirectory } from './account/directory.ts'
import { prepareGrants } from './account/grants.ts'
import { prepareGuardrails } from './account/guardrails.ts'
import { prepareHandOuts } from './account/leases.ts'
import { prepareKeys } from './account/keys.ts'
import { prepareMessages } from './account/messages.ts'
import { prepareMailbox } from './account/inbox.ts'
import { prepareNames } from './account/names.ts'
import { prepareOverview } from './account/overview.ts'
import { prepareProfile } from './account/profile.ts'
import { prepareReceipts } from './account/message-status.ts'
import { prepareRetention } from './account/retention.ts'
import { prepareSkills } from './account/skills.ts'
import { prepareTeam } from './account/team.ts'
import { prepareUnclaimed } from './account/unclaimed.ts'
import type { Turns } from '../lib/keyed-mutex.ts'
import { Scope, type Statement } from './driver/binding.ts'
import type { UnitRows, WriteQueue } from './queue.ts'
import type { Waiting } from './waiting.ts'

/** Other processes on the same database may take a place of the activity chain this often before we give up. */
const maxRecordAttempts = 20

export type Db = LibSQLDatabase<Record<string, never>>

/** SQL of the few look-ups that must cross accounts, with their names. Everything else is scoped. */
export type Crossings = Map<string, string>

/**
 * One account, for one caller. `read` asks; `change` makes statements that do
 * nothing by themselves; `write` carries out a list of them as one unit and
 * resolves to the rows of each once they are on disk.
 */
export interface AccountStore {
  readonly actor: Actor
  readonly deps: Deps
  /** The history of this database; it changes when a backup is restored. Cursors carry it. */
  readonly epoch: string
  /** This process: hand-outs whose answer is under way are noted for it. */
  readonly instanceId: string
  /** Who waits in this process, and how many may. */
  readonly waiting: Waiting
  readonly read: Reads
  readonly change: Changes
  write(statements: Statement[]): Promise<UnitRows>
  /**
   * Carry out statements as one unit with whatever is committed next. Nobody waits for it, it must bear being
   * repeated, and a crash may lose it.
   */
  later(statements: Statement[]): void
  /** `write`, with a row of the activity log in the same unit: neither is stored without the other. */
  record(entry: NewActivity, statements: Statement[]): Promise<void>
  /** Seal a token for one row of one table of this account: it opens nowhere else. */
  seal(table: string, rowId: string, token: string): Promise<Sealed>
}

type Nouns = ReturnType<typeof prepareNouns>
export type Reads = { readonly [Noun in keyof Nouns]: ReturnType<Nouns[Noun]['reads']> }
export type Changes = { readonly [Noun in keyof Nouns]: ReturnType<Nouns[Noun]['changes']> }

/** What one account can ask and change. Nothing in it depends on the caller. */
interface AccountTables {
  read: Reads
  change: Changes
}

/** How many accounts of late keep their tables: making those costs as much as a query, and some 6 KiB. */
const maxBound = 1_000

/** Prepare every statement on account tables, once per store; the answer binds them to an account. */
export function prepareAccountTables(db: Db, crossings: Crossings): (accountId: string) => AccountTables {
  const nouns = prepareNouns(db, crossings)
  const bound = new Map<string, AccountTables>()

  return function tablesOf(accountId) {
    const known = bound.get(accountId)
    if (known) return known
    if (bound.size === maxBound) bound.clear()
    const scope = new Scope(accountId)
    const tables = {
      read: bindAll<Reads>(nouns, (noun) => noun.reads(scope)),
      change: bindAll<Changes>(nouns, (noun) => noun.changes(scope)),
    }
    bound.set(accountId, tables)
    return tables
  }
}

function prepareNouns(db: Db, crossings: Crossings) {
  return {
    activity: prepareActivity(db),
    agents: prepareAgents(db),
    agentSettings: prepareAgentSettings(db),
    answers: prepareAnswers(db),
    channels: prepareChannels(db),
    directory: prepareDirectory(db, crossings),
    grants: prepareGrants(db),
    guardrails: prepareGuardrails(db),
    handOuts: prepareHandOuts(db),
    keys: prepareKeys(db),
    mailbox: prepareMailbox(db),
    messages: prepareMessages(db),
    names: prepareNames(db),
    overview: prepareOverview(db),
    profile: prepareProfile(db),
    receipts: prepareReceipts(db),
    retention: prepareRetention(db),
    skills: prepareSkills(db),
    team: prepareTeam(db),
    unclaimed: prepareUnclaimed(db),
  }
}

interface Noun {
  // deno-lint-ignore no-explicit-any -- the shapes are checked by `Reads` and `Changes`
  reads(scope: Scope): any
  // deno-lint-ignore no-explicit-any
  changes(scope: Scope): any
}

function bindAll<T>(nouns: Nouns, bind: (noun: Noun) => unknown): T {
  return Object.fromEntries(Object.entries(nouns).map(([name, noun]) => [name, bind(noun)])) as T
}

/** What all accounts of one open store share. */
export interface Shared {
  readonly tablesOf: ReturnType<typeof prepareAccountTables>
  readonly queue: WriteQueue
  /** Rows of one account's activity log are chained one after the other. */
  readonly turns: Turns
  readonly keyRing: KeyRing
  readonly deps: Deps
  readonly epoch: string
  readonly instanceId: string
  readonly waiting: Waiting
}

/** A row for the activity log of one account. */
export interface LogRow {
  accountId: string
  entry: NewActivity
}

/**
 * Commit statements as one unit with a row in the log of each of these accounts, which are different ones.
 * The turns are taken in the order of the ids, so that two who want the same ones never wait for each other.
 */
export async function recordIn(shared: Shared, rows: LogRow[], statements: Statement[]): Promise<void> {
  const inTurn = rows.toSorted((a, b) => a.accountId < b.accountId ? -1 : 1).reduceRight(
    (next, { accountId }) => () => shared.turns.run(accountId, next),
    () => append(shared, rows, statements),
  )
  await inTurn()
}

/** Each row takes the next place of its chain; when another process was faster, the one after it. */
async function append({ tablesOf, queue }: Shared, rows: LogRow[], statements: Statement[]): Promise<void> {
  const logs = rows.map(({ accountId, entry }) => ({ accountId, entry, tables: tablesOf(accountId) }))
  const headsOf = () => Promise.all(logs.map(({ tables }) => tables.read.activity.head()))
  const lane = rows.length === 1 ? rows[0].accountId : ''
  for (let attempt = 1;; attempt++) {
    const heads = await headsOf()
    try {
      await queue.write(lane, [
        ...statements,
        ...logs.map(({ accountId, entry, tables }, n) =>
          tables.change.activity.add(chained(accountId, entry, heads[n]))
        ),
      ])
      return
    } catch (error) {
      if (!(error instanceof GridError) || error.code !== 'write_conflict' || rows.length === 0) throw error
      // Repeated after a lost answer, the unit met its own rows: then it is done. All are stored with the first.
      const [{ entry, tables }] = logs
      if (await tables.read.activity.has(entry.id, heads[0]?.n ?? 0)) return
      const moved = (await headsOf()).some((head, n) => head?.n !== heads[n]?.n)
      if (!moved || attempt === maxRecordAttempts) throw error
    }
  }
}

/** Bind the prepared statements to one account. Only `auth/`, `worker/` and the makers of accounts come here. */
export function openAccount(shared: Shared, accountId: string, actor: Actor): AccountStore {
  const { tablesOf, queue, keyRing, deps, epoch, instanceId, waiting } = shared
  const { read, change } = tablesOf(accountId)

  return {
    actor,
    deps,
    epoch,
    instanceId,
    waiting,
    read,
    change,
    write: (statements) => queue.write(accountId, statements),
    later: (statements) => queue.later(statements),
    record: (entry, statements) => recordIn(shared, [{ accountId, entry }], statements),
    seal: (table, rowId, token) => keyRing.seal(token, `${table}:${accountId}:${rowId}:token`),
  }
}
