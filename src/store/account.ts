/** `AccountStore`: the one door to account tables. */
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Actor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { prepareAgents } from './account/agents.ts'
import { prepareChannels } from './account/channels.ts'
import { prepareDirectory } from './account/directory.ts'
import { prepareKeys } from './account/keys.ts'
import { prepareMessages } from './account/messages.ts'
import { prepareMailbox } from './account/mailbox.ts'
import { prepareSkills } from './account/skills.ts'
import { Scope, type Statement } from './bound.ts'
import type { UnitRows, WriteQueue } from './queue.ts'

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
  readonly read: Reads
  readonly change: Changes
  write(statements: Statement[]): Promise<UnitRows>
}

export type AccountTables = ReturnType<typeof prepareAccountTables>
type Nouns = AccountTables
export type Reads = { readonly [Noun in keyof Nouns]: ReturnType<Nouns[Noun]['reads']> }
export type Changes = { readonly [Noun in keyof Nouns]: ReturnType<Nouns[Noun]['changes']> }

/** Prepare every statement on account tables, once per store. */
export function prepareAccountTables(db: Db, crossings: Crossings) {
  return {
    agents: prepareAgents(db),
    channels: prepareChannels(db),
    directory: prepareDirectory(db, crossings),
    keys: prepareKeys(db),
    mailbox: prepareMailbox(db),
    messages: prepareMessages(db),
    skills: prepareSkills(db),
  }
}

/** Bind the prepared statements to one account. Only `auth/`, `worker/` and the makers of accounts come here. */
export function openAccount(
  tables: AccountTables,
  queue: WriteQueue,
  deps: Deps,
  epoch: string,
  accountId: string,
  actor: Actor,
): AccountStore {
  const scope = new Scope(accountId)
  return {
    actor,
    deps,
    epoch,
    read: lazily<Reads>(tables, (noun) => noun.reads(scope)),
    change: lazily<Changes>(tables, (noun) => noun.changes(scope)),
    write: (statements) => queue.write(accountId, statements),
  }
}

interface Noun {
  // deno-lint-ignore no-explicit-any -- the shapes are checked by `Reads` and `Changes`
  reads(scope: Scope): any
  // deno-lint-ignore no-explicit-any
  changes(scope: Scope): any
}

/** One object per noun, made when it is first asked for: a request uses two or three of them. */
function lazily<T>(tables: AccountTables, make: (noun: Noun) => unknown): T {
  const made: Record<string, unknown> = {}
  for (const [name, noun] of Object.entries(tables)) {
    Object.defineProperty(made, name, {
      configurable: true,
      get() {
        const value = make(noun)
        Object.defineProperty(made, name, { value })
        return value
      },
    })
  }
  return made as T
}
