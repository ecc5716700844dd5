/** The account picker: the identities that a user can currently authorize a client for. See docs/protocol/oauth.md. */
import type { OAuthScope } from '../store/global/oauth-grants.ts'
import type { AdministeredAccount, UsableAgent } from '../store/global/oauth-requests.ts'
import type { Store } from '../store/store.ts'

/** The page lists this many agents; the user finds the others with the search field. */
const maxAgents = 50
/** A page with this many entries has the search field. */
const searchFrom = 8
const maxAccounts = 200
const maxSearchLength = 100

/** One entry of the picker: the account's admin or one of its agents. */
export interface AccountEntry {
  /** The value of the form field `pick`. */
  pick: string
  accountId: string
  /** Null for the account's admin. */
  agentId: string | null
}

export type AdminEntry = AccountEntry & AdministeredAccount
export type AgentEntry = AccountEntry & UsableAgent

export interface AccountPicker {
  /** What the client asked for. */
  scopes: OAuthScope[]
  admins: AdminEntry[]
  agents: AgentEntry[]
  /** More agents match than the page lists. */
  hasMore: boolean
  /** Whether to offer the search. */
  isLong: boolean
  /** The accounts in which the user may create an agent. */
  newAgentAccounts: { accountId: string; accountName: string }[]
  search: string
  /** The agent that the client asked for, or its alias if the user may not act as it. */
  hinted?: { entry: AgentEntry } | { missing: string }
}

/**
 * The entries of a user. Only entries of the requested scopes are offered, so no client gets more than it asked for.
 * `hint` is the alias that the client asked for; its agent is among the entries if the user may act as it.
 */
export async function loadAccountPicker(
  { global }: Store,
  userId: string,
  scopes: OAuthScope[],
  searchText: string,
  hint?: string,
): Promise<AccountPicker> {
  const search = searchText.trim().replace(/^@/, '').slice(0, maxSearchLength)
  const [accounts, agents] = await Promise.all([
    global.oauth.picker.administered(userId, maxAccounts),
    scopes.includes('agent:use') ? global.oauth.picker.agents(userId, search, maxAgents + 1) : [],
  ])
  const admins = scopes.includes('admin') ? accounts.filter((account) => isAdminMatch(account, search)) : []
  const listed = agents.slice(0, maxAgents).map(asEntry)
  const hinted = hint === undefined || !scopes.includes('agent:use')
    ? undefined
    : await findHinted(global, userId, listed, hint)
  const isAbsent = hinted && 'entry' in hinted && search === '' && !listed.includes(hinted.entry)
  return {
    scopes,
    admins: admins.map((account) => ({ ...account, pick: `admin:${account.accountId}`, agentId: null })),
    agents: isAbsent ? [hinted.entry, ...listed.slice(0, maxAgents - 1)] : listed,
    hasMore: agents.length > maxAgents,
    isLong: admins.length + agents.length >= searchFrom,
    newAgentAccounts: scopes.includes('agent:use') ? accounts : [],
    search,
    hinted,
  }
}

async function findHinted(
  global: Store['global'],
  userId: string,
  listed: AgentEntry[],
  alias: string,
): Promise<AccountPicker['hinted']> {
  const isHinted = (entry: AgentEntry) => entry.alias === alias
  const entry = listed.find(isHinted) ??
    (await global.oauth.picker.agents(userId, alias, maxAgents)).map(asEntry).find(isHinted)
  return entry ? { entry } : { missing: alias }
}

function asEntry(agent: UsableAgent): AgentEntry {
  return { ...agent, pick: `agent:${agent.agentId}` }
}

/** Whether the text that the page shows for an admin entry contains the search text. */
function isAdminMatch({ accountName }: { accountName: string }, search: string): boolean {
  return `admin (${accountName})`.toLowerCase().includes(search.toLowerCase())
}
