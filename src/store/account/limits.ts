/** An account's limits, which override the settings. See docs/operating/accounts.md, "Quotas". */
import { type AccountDb, query, type Statement, statement } from '../sql.ts'

/** 0 means no limit. */
export interface Limits {
  messagesPerDay: number
  megabytesPerDay: number
  agents: number
  /** Message retention in days. */
  retentionDays: number
}

/** Null means the limit from the settings. */
export type OwnLimits = { [Name in keyof Limits]: number | null }

const columns: Record<keyof Limits, string> = {
  messagesPerDay: 'messages_per_day',
  megabytesPerDay: 'megabytes_per_day',
  agents: 'max_agents',
  retentionDays: 'retention_days',
}

/** SQL of the account's limit (megabytes as bytes), or of `fallback`. Each statement reads the limit when it runs. */
export function ownLimit(name: keyof Limits, fallback: string): string {
  const column = name === 'megabytesPerDay' ? `${columns[name]} * 1000000` : columns[name]
  return `coalesce((SELECT accounts.${column} FROM accounts WHERE accounts.id = :account), ${fallback})`
}

const get = query<OwnLimits>(`
  SELECT ${Object.entries(columns).map(([name, column]) => `${column} AS "${name}"`).join(', ')}
  FROM accounts WHERE id = :account`)
const set = statement(`
  UPDATE accounts SET ${Object.entries(columns).map(([name, column]) => `${column} = :${name}`).join(', ')}
  WHERE id = :account`)

export const limits = {
  reads: (account: AccountDb) => ({
    own: async () => (await account.one(get))!,
  }),
  changes: (account: AccountDb) => ({
    set: (limits: OwnLimits): Statement => account.bind(set, limits),
  }),
}
