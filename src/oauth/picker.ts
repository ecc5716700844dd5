/** The account picker: what a person can let a client be, now. Spec: "Authentication" 4. */
import type { Store } from '../store/store.ts'
import type { Scope } from './authorize-request.ts'

/** More agents are found by searching. */
export const maxAgents = 50
const maxAccounts = 200
const maxSearch = 100

/** One entry that was shown. */
export interface Choice {
  /** What the form sends. */
  pick: string
  accountId: string
  /** Null: the account's admin. */
  agentId: string | null
}

export interface AdminEntry extends Choice {
  agentId: null
  accountName: string
  ownerEmail: string | null
}

export interface AgentEntry extends Choice {
  agentId: string
  /** Without `@`. */
  alias: string
  accountName: string
}

export interface Picker {
  admins: AdminEntry[]
  agents: AgentEntry[]
  /** There are agents that only a narrower search shows. */
  hasMore: boolean
  /** Accounts in which the person can make an agent. */
  makeIn: { accountId: string; accountName: string }[]
  search: string
}

/** The entries of a person; only those of the wanted scopes, so that no client gets more than it asked for. */
export async function pickerOf({ global }: Store, userId: string, scopes: Scope[], text: string): Promise<Picker> {
  const search = text.trim().replace(/^@/, '').slice(0, maxSearch)
  const [accounts, agents] = await Promise.all([
    global.oauth.picks.administered(userId, maxAccounts),
    scopes.includes('agent:use') ? global.oauth.picks.agents(userId, search, maxAgents + 1) : [],
  ])
  return {
    admins: scopes.includes('admin')
      ? accounts.map((account) => ({ ...account, pick: `admin:${account.accountId}`, agentId: null }))
      : [],
    agents: agents.slice(0, maxAgents).map((agent) => ({ ...agent, pick: `agent:${agent.agentId}` })),
    hasMore: agents.length > maxAgents,
    makeIn: scopes.includes('agent:use')
      ? accounts.map(({ accountId, accountName }) => ({ accountId, accountName }))
      : [],
    search,
  }
}
