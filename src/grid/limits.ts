/** Limits and usage of an account. See docs/operating/accounts.md, "Quotas". */
import { day, isoTime, startOfDay } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Limits, OwnLimits } from '../store/account/limits.ts'

export type { Limits }

/** How many days of usage are stored. */
export const usageDays = 31

/** Returns the effective limits of the account: its own limits, then the server settings. */
export async function limitsOf({ read, deps: { config } }: AccountStore): Promise<Limits> {
  const own = await read.limits.own()
  return {
    messagesPerDay: own.messagesPerDay ?? config.messagesPerDay,
    megabytesPerDay: own.megabytesPerDay ?? config.megabytesPerDay,
    agents: own.agents ?? config.agentsPerAccount,
    retentionDays: own.retentionDays ?? config.retentionDays,
  }
}

/** Sets limits of the account; null removes one, omitted ones stay. Resolves to the effective limits. */
export async function setLimits(account: AccountStore, changes: Partial<OwnLimits>): Promise<Limits> {
  const own = await account.read.limits.own()
  const next = { ...own, ...changes }
  account.changed(own, next)
  await account.write([account.change.limits.set(next)])
  return await limitsOf(account)
}

export interface AccountUsage {
  limits: Limits
  agents: number
  members: number
  /** Messages and bytes per day, newest first. Days without messages are omitted. */
  days: { day: string; messages: number; bytes: number }[]
}

/** Returns the account's limits, its agents and members, and the messages it sent per UTC day. */
export async function usageOf(account: AccountStore): Promise<AccountUsage> {
  const { read, deps } = account
  const since = startOfDay(deps.now()) - (usageDays - 1) * day
  const [limits, agents, members, days] = await Promise.all([
    limitsOf(account),
    read.agents.programs(),
    read.team.members(),
    read.usage.days(since),
  ])
  return {
    limits,
    agents,
    members: members.length,
    days: days.map(({ day: at, messages, bytes }) => ({ day: isoTime(at).slice(0, 10), messages, bytes })),
  }
}
