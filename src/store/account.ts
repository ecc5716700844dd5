/** `AccountStore`: the one door to account tables. */
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Actor } from '../auth/actor.ts'
import type { KeyRing, Sealed } from '../lib/key-ring.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { chained, type NewActivity, prepareActivity } from './account/activity.ts'
import { prepareAgents } from './account/agents.ts'
import { prepareAgentSettings } from './account/agent-settings.ts'
import { prepareChannels } from './account/channels.ts'
import { prepareDirectory } from './account/directory.ts'
import { prepareGuardrails } from './account/guardrails.ts'
import { prepareKeys } from './account/keys.ts'
import { prepareMessages } from './account/messages.ts'
import { prepareMailbox } from './account/mailbox.ts'
import { prepareOverview } from './account/overview.ts'
import { prepareSkills } from './account/skills.ts'
import type { Turns } from '../lib/turns.ts'
import { Scope, type Statement } from './bound.ts'
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
  /** Who waits in this process, and how many may. */
  readonly waiting: Waiting
  readonly read: Reads
  readonly change: Changes
  write(statements: Statement[]): Promise<UnitRows>
  /** `write`, with a row of the activity log in the same unit: neither is stored without the other. */
  record(entry: NewActivity, statements: Statement[]): Promise<void>
  /** Seal a token for one row of one table of this account: it opens nowhere else. */
  seal(table: string, rowId: string, token: string): Promise<Sealed>
}

type Nouns = ReturnType<typeof prepareNouns>
export type Reads = { readonly [Noun in keyof Nouns]: ReturnType<Nouns[Noun]['reads']> }
export type Changes = { readonly [Noun in keyof Nouns]: ReturnType<Nouns[Noun]['changes']> }

/** What accounts can ask and change, once each is bound to one of them. */
export interface AccountTables {
  reads(scope: Scope): Reads
  changes(scope: Scope): Changes
}

/** Prepare every statement on account tables, once per store. */
export function prepareAccountTables(db: Db, crossings: Crossings): AccountTables {
  const nouns = prepareNouns(db, crossings)
  return {
    reads: binder<Reads>(nouns, (noun, scope) => noun.reads(scope)),
    changes: binder<Changes>(nouns, (noun, scope) => noun.changes(scope)),
  }
}

function prepareNouns(db: Db, crossings: Crossings) {
  return {
    activity: prepareActivity(db),
    agents: prepareAgents(db),
    agentSettings: prepareAgentSettings(db),
    channels: prepareChannels(db),
    directory: prepareDirectory(db, crossings),
    guardrails: prepareGuardrails(db),
    keys: prepareKeys(db),
    mailbox: prepareMailbox(db),
    messages: prepareMessages(db),
    overview: prepareOverview(db),
    skills: prepareSkills(db),
  }
}

interface Noun {
  // deno-lint-ignore no-explicit-any -- the shapes are checked by `Reads` and `Changes`
  reads(scope: Scope): any
  // deno-lint-ignore no-explicit-any
  changes(scope: Scope): any
}

/**
 * Binds a noun to an account when the noun is asked for: a request uses two or three of them. The getters
 * are made once, because making them for each request costs as much as a query.
 */
function binder<T>(nouns: Nouns, bind: (noun: Noun, scope: Scope) => unknown): (scope: Scope) => T {
  const prototype = {}
  for (const [name, noun] of Object.entries(nouns)) {
    Object.defineProperty(prototype, name, {
      get(this: { scope: Scope }) {
        return bind(noun, this.scope)
      },
    })
  }
  return (scope) => Object.assign(Object.create(prototype), { scope })
}

/** What all accounts of one open store share. */
export interface Shared {
  readonly tables: AccountTables
  readonly queue: WriteQueue
  /** Rows of one account's activity log are chained one after the other. */
  readonly turns: Turns
  readonly keyRing: KeyRing
  readonly deps: Deps
  readonly epoch: string
  readonly waiting: Waiting
}

/** Bind the prepared statements to one account. Only `auth/`, `worker/` and the makers of accounts come here. */
export function openAccount(shared: Shared, accountId: string, actor: Actor): AccountStore {
  const { tables, queue, turns, keyRing, deps, epoch, waiting } = shared
  const scope = new Scope(accountId)
  const read = tables.reads(scope)
  const change = tables.changes(scope)
  const write = (statements: Statement[]) => queue.write(accountId, statements)

  /** The row takes the next place of the chain; when another process was faster, the one after it. */
  async function record(entry: NewActivity, statements: Statement[]): Promise<void> {
    for (let attempt = 1;; attempt++) {
      const head = await read.activity.head()
      try {
        await write([...statements, change.activity.add(chained(accountId, entry, head))])
        return
      } catch (error) {
        if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
        // Repeated after a lost answer, the unit met its own row: then it is done.
        if (await read.activity.has(entry.id, head?.n ?? 0)) return
        const moved = (await read.activity.head())?.n !== head?.n
        if (!moved || attempt === maxRecordAttempts) throw error
      }
    }
  }

  return {
    actor,
    deps,
    epoch,
    waiting,
    read,
    change,
    write,
    record: (entry, statements) => turns.run(accountId, () => record(entry, statements)),
    seal: (table, rowId, token) => keyRing.seal(token, `${table}:${accountId}:${rowId}:token`),
  }
}
