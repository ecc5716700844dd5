/**
 * Look-ups that are answered from memory: of keys, of recipients and of the guardrails of agents. Only on a local file:
 * this process holds it exclusively, so every change of it passes the write queue of this process. On a remote database
 * nothing is kept.
 *
 * A found row is used only as long as the database would answer the same:
 *
 * * The write queue tells the look-ups about each commit, before it begins and after it ended, also if it failed. What a
 *   statement changes is taken from its SQL, and so is what a look-up reads. So a new verb, statement or column needs no
 *   line here, and a statement that is not understood drops everything.
 * * A statement that is bound to an account changes only rows of that account, or of messages that it sent. It drops
 *   what was found in that account or for it. Any other statement drops everything that depends on its table.
 * * A row is kept only if nothing dropped it since its query began. A query that runs beside a commit may read what was
 *   there before, but it began before the drop that follows the commit, so it cannot put that back.
 * * The drop after a commit comes before its units are answered. So when a caller hears that a key was revoked, the next
 *   request with the key looks at the database. Until then a row of before may be used: the commit has not been
 *   acknowledged.
 *
 * See docs/security.md, "Look-ups in memory".
 */
import { RecentMap } from '../lib/recent-map.ts'
import { type Change, changeOf, type ReadColumns, readColumns } from './changes.ts'
import type { Statement } from './driver/binding.ts'

/** How many rows of a look-up are kept: those used last, and up to as many others. A row takes less than 1 KiB. */
const defaultMaxKept = 5_000
/** Of how many accounts a look-up knows when they changed. Beyond that, all of it is dropped. */
const maxChangedAccounts = 10_000
/** How many statements are known. The grid has some hundred; more would be texts made at run time. */
const maxStatements = 1_000

/** A part of a change: rows of a table, or one column of an UPDATE. */
export type ChangePart = Pick<Change, 'kind' | 'table'> & { column?: string }

export interface LookupOptions {
  /** The SQL of its query. */
  sql: string
  /** Changes that cannot make a found row wrong, although the query names what they change. */
  ignores?: (part: ChangePart) => boolean
  /** How many rows are kept, if they are larger than others. */
  maxKept?: number
}

/** All look-ups of a store. */
export class Lookups {
  readonly #lookups: Lookup<object>[] = []
  readonly #affected = new Map<string, readonly Lookup<object>[]>()
  #isExact: boolean

  /** `isExact`: no other process can change the database. Otherwise nothing is kept. */
  constructor(isExact: boolean) {
    this.#isExact = isExact
  }

  /** A look-up by a query. */
  of<Found extends object>(options: LookupOptions): Lookup<Found> {
    const lookup = new Lookup<Found>(options, () => this.#isExact)
    this.#lookups.push(lookup as unknown as Lookup<object>)
    this.#affected.clear()
    return lookup
  }

  /** Drop what the statements change. Called before they are committed and, by the function that it returns, after. */
  changing(statements: readonly Statement[]): () => void {
    // Asked again after the commit: a look-up may be made while it is under way.
    const drop = () => {
      if (!this.#isExact) return
      for (const { sql, account } of statements) for (const lookup of this.affectedBy(sql)) lookup.drop(account)
    }
    drop()
    return drop
  }

  /** Drop what was found in an account or for it. */
  forget(account: string): void {
    for (const lookup of this.#lookups) lookup.drop(account)
  }

  /** From now on nothing is kept: this process no longer holds the file. */
  end(): void {
    this.#isExact = false
  }

  /** The look-ups whose rows a statement may change. */
  affectedBy(sql: string): readonly Lookup<object>[] {
    let affected = this.#affected.get(sql)
    if (!affected) {
      if (this.#affected.size === maxStatements) this.#affected.clear()
      const change = changeOf(sql)
      this.#affected.set(sql, affected = this.#lookups.filter((lookup) => lookup.dependsOn(change)))
    }
    return affected
  }
}

interface Kept<Found> {
  found: Found
  accounts: readonly string[]
  since: number
}

/** One query whose found rows are kept. Rows that were not found are not, so wrong keys and names take no memory. */
export class Lookup<Found extends object> {
  readonly sql: string
  readonly #reads: ReadColumns
  readonly #ignores: (part: ChangePart) => boolean
  readonly #isExact: () => boolean
  readonly #kept: RecentMap<string, Kept<Found>>
  /** Queries in flight. */
  readonly #running = new Map<string, { since: number; found: Promise<Found | undefined> }>()
  /** Counts the drops. The number at the start of a query tells which drops came later. */
  #drops = 0
  /** The last drop of everything, and that of each account since. */
  #allDropped = 0
  readonly #dropped = new Map<string, number>()

  /** `isExact` is asked at each look-up; without it nothing is kept. */
  constructor({ sql, ignores = () => false, maxKept = defaultMaxKept }: LookupOptions, isExact: () => boolean) {
    this.sql = sql
    this.#kept = new RecentMap(maxKept)
    this.#reads = readColumns(sql)
    this.#ignores = ignores
    this.#isExact = isExact
  }

  /**
   * The row of a key, from memory or by `read`. `accountsOf` are the accounts that a found row depends on, or undefined
   * if it must not be kept. The row is shared, and so frozen if it is kept. Fails as `read` does.
   */
  async find(
    key: string,
    read: () => Promise<Found | undefined>,
    accountsOf: (found: Found) => readonly string[] | undefined,
  ): Promise<Found | undefined> {
    if (!this.#isExact()) return await read()
    const kept = this.#kept.get(key)
    if (kept && this.#isCurrent(kept)) return kept.found
    if (kept) this.#kept.delete(key)

    const since = this.#drops
    // Calls at the same time share a query. So none overtakes an earlier one when the row is kept.
    const shared = this.#running.get(key)
    if (shared?.since === since) return await shared.found
    const running = { since, found: read() }
    this.#running.set(key, running)
    try {
      const found = await running.found
      const accounts = found && accountsOf(found)
      if (accounts && this.#isCurrent({ accounts, since })) {
        this.#kept.set(key, { found: Object.freeze(found), accounts, since })
      }
      return found
    } finally {
      if (this.#running.get(key) === running) this.#running.delete(key)
    }
  }

  /** Drop what depends on an account, or everything. */
  drop(account?: string): void {
    const at = ++this.#drops
    if (account !== undefined && (this.#dropped.has(account) || this.#dropped.size < maxChangedAccounts)) {
      this.#dropped.set(account, at)
      return
    }
    this.#allDropped = at
    this.#dropped.clear()
  }

  /** Whether a change may make a found row wrong. */
  dependsOn(change: ReturnType<typeof changeOf>): boolean {
    if (typeof change === 'string') return change === 'unknown'
    const { kind, table, columns } = change
    const read = this.#reads.get(table)
    if (!read) return false
    if (!columns) return !this.#ignores({ kind, table })
    return columns.some((column) => read.has(column) && !this.#ignores({ kind, table, column }))
  }

  /** Whether nothing dropped the row since its query began. */
  #isCurrent({ accounts, since }: Pick<Kept<Found>, 'accounts' | 'since'>): boolean {
    if (since < this.#allDropped) return false
    for (const account of accounts) if (since < (this.#dropped.get(account) ?? 0)) return false
    return true
  }
}
