/** The tables of one account: their queries and statements, bound to the account. */
import { lazyClass } from '../lib/lazy.ts'
import { activity } from './account/activity.ts'
import { agentSearch } from './account/agent-columns.ts'
import { agentSettings } from './account/agent-settings.ts'
import { agents } from './account/agents.ts'
import { approvalRules } from './account/approval-rules.ts'
import { attention, overview, snoozes } from './account/attention.ts'
import { channels } from './account/channels.ts'
import { directory } from './account/directory.ts'
import { traffic } from './account/traffic.ts'
import { endings } from './account/endings.ts'
import { erasing } from './account/erasing.ts'
import { figures } from './account/figures.ts'
import { fanOut, messages, receipts } from './account/messages.ts'
import { grants, keys } from './account/keys.ts'
import { guarding } from './account/guarding.ts'
import { guardrails } from './account/guardrails.ts'
import { held } from './account/held.ts'
import { inbox } from './account/inbox.ts'
import { leases, parked } from './account/leases.ts'
import { limits } from './account/limits.ts'
import { messageStatus, threadMessages } from './account/thread-messages.ts'
import { namedThings } from './account/named-things.ts'
import { names, profile } from './account/profile.ts'
import { parts } from './account/new-message.ts'
import { pushConfigs } from './account/push-configs.ts'
import { questions } from './account/questions.ts'
import { removal } from './account/removal.ts'
import { remoteAgents } from './account/remote-agents.ts'
import { reservations } from './account/reservations.ts'
import { retention } from './account/retention.ts'
import { scheduled } from './account/scheduled.ts'
import { search } from './account/search.ts'
import { seenTasks } from './account/seen-tasks.ts'
import { personAliases } from './account/person-aliases.ts'
import { skills } from './account/skills.ts'
import { spentTokens } from './account/spent-tokens.ts'
import { tasks } from './account/tasks.ts'
import { team } from './account/team.ts'
import { threads } from './account/threads.ts'
import { timedLeases } from './account/timed-leases.ts'
import { turns } from './account/turns.ts'
import { uploads } from './account/uploads.ts'
import { usage } from './account/usage.ts'
import { verdicts } from './account/verdicts.ts'
import type { AccountDb, Db } from './sql.ts'

const tables = {
  activity,
  agentSearch,
  agentSettings,
  agents,
  approvalRules,
  attention,
  channels,
  directory,
  traffic,
  endings,
  erasing,
  fanOut,
  figures,
  grants,
  guarding,
  guardrails,
  held,
  inbox,
  keys,
  leases,
  limits,
  messageStatus,
  messages,
  namedThings,
  names,
  overview,
  parked,
  parts,
  profile,
  pushConfigs,
  questions,
  receipts,
  remoteAgents,
  removal,
  reservations,
  retention,
  scheduled,
  search,
  personAliases,
  seenTasks,
  skills,
  snoozes,
  spentTokens,
  tasks,
  team,
  threadMessages,
  threads,
  timedLeases,
  turns,
  uploads,
  usage,
  verdicts,
}

type Tables = typeof tables
export type Reads = { readonly [Name in keyof Tables]: ReturnType<Tables[Name]['reads']> }
export type Changes = { readonly [Name in keyof Tables]: ReturnType<Tables[Name]['changes']> }

export interface AccountTables {
  read: Reads
  change: Changes
  feature: <R, C>(tables: FeatureTables<R, C>) => { read: R; change: C }
}

/** An optional feature's queries and statements on the tables of one account. */
export interface FeatureTables<R, C> {
  reads: (account: AccountDb) => R
  changes: (account: AccountDb) => C
}

/** Maximum number of accounts with cached tables. One account's tables cost the time of a query, and about 6 KiB. */
const maxKept = 1_000

const tableNames = Object.keys(tables) as (keyof Tables)[]
const [BoundReads, BoundChanges] = [lazyClass<Reads>(tableNames), lazyClass<Changes>(tableNames)]

/** Binds the tables to an account. Tables are created on first use. */
export function accountTables(db: Db): (accountId: string) => AccountTables {
  const kept = new Map<string, AccountTables>()

  return function tablesOf(accountId) {
    const known = kept.get(accountId)
    if (known) return known
    if (kept.size === maxKept) kept.clear()
    const account = db.forAccount(accountId)
    const made: AccountTables = {
      read: new BoundReads((name) => tables[name].reads(account)),
      change: new BoundChanges((name) => tables[name].changes(account)),
      feature: ({ reads, changes }) => ({ read: reads(account), change: changes(account) }),
    }
    kept.set(accountId, made)
    return made
  }
}
