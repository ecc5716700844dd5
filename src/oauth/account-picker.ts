/** The account picker: the identities for which a user can authorize a client. See docs/protocol/oauth.md. */
import type { OAuthScope } from '../store/global/oauth-grants.ts'
import type { AdministeredAccount, UsableAgent } from '../store/global/oauth-requests.ts'
import type { Store } from '../store/store.ts'

/** Maximum number of agents on the page. The search field finds the others. */
const maxAgents = 50
/** Minimum number of entries at which the search field is shown. */
const searchFrom = 8
const maxAccounts = 200
const maxSearchLength = 100

/** An entry of the picker: the account's admin or one of its agents. */
export interface AccountEntry {
  /** The entry's value in the form field `pick`. */
  pick: string
  accountId: string
  /** The agent's id. Null for the account's admin. */
  agentId: string | null
}

export type AdminEntry = AccountEntry & AdministeredAccount
export type AgentEntry = AccountEntry & UsableAgent

export interface AccountPicker {
  /** The scopes that the client requested. */
  scopes: OAuthScope[]
  admins: AdminEntry[]
  agents: AgentEntry[]
  /** Whether more agents match than the page lists. */
  hasMore: boolean
  /** Whether to show the search field. */
  isLong: boolean
  /** The accounts in which the user may create an agent. */
  newAgentAccounts: { accountId: string; accountName: string }[]
  search: string
  /** The requested agent's entry, or the requested alias if the user may not act as the agent. */
  hinted?: { entry: AgentEntry } | { missing: string }
}

/**
 * Returns the entries that a user can choose. Only entries for the requested scopes are offered, so a client never gets
 * more than it requested. `hint` is the alias that the client requested. The agent with this alias is included if the
 * user may act as it.
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

/** Whether the displayed text of an admin entry contains the search text. */
function isAdminMatch({ accountName }: { accountName: string }, search: string): boolean {
  return `admin (${accountName})`.toLowerCase().includes(search.toLowerCase())
}
