/** Finds an agent of the account, and the agents that an agent can send to. */
import { callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { normaliseAlias } from '../../aliases.ts'
import { withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { type Presence, presenceWords, type RemotePresence } from '../../presence.ts'
import { readPage } from '../../lib/read-page.ts'
import { wellFormed } from '../../lib/text.ts'
import type { AccountStore } from '../../store/account.ts'
import type {
  Agent,
  AgentType,
  FoundAgent,
  ProgramType,
  SearchedAgent,
  Visibility,
} from '../../store/account/agents.ts'
import { agentPage } from '../agent-page.ts'

/** Returns a live agent of the account by id or alias. Deleted agents and agents of other accounts look missing. */
export async function findAgent(account: AccountStore, ref: string, field?: string): Promise<Agent> {
  const { agents } = account.read
  const agent = await agents.byId(ref.trim()) ?? await agents.byAlias(normaliseAlias(ref))
  if (!agent) throw new GridError('agent_not_found', `Agent '${ref}' not found`, { field })
  return agent
}

/** Whether the agent is a program: false for persons and incoming hooks. */
export function isProgram<Of extends { type: AgentType }>(agent: Of): agent is Of & { type: ProgramType } {
  return agent.type !== 'human' && agent.type !== 'hook'
}

/** Like `findAgent`, but fails with `not_allowed` for hooks and persons, because no program can act as them. */
export async function findProgram(account: AccountStore, ref: string): Promise<Agent & { type: ProgramType }> {
  const agent = await findAgent(account, ref)
  if (isProgram(agent)) return agent
  if (agent.type === 'hook') {
    throw new GridError(
      'not_allowed',
      `@${agent.alias} is an incoming hook. It has no key, and is deleted with its address.`,
    )
  }
  throw new GridError(
    'not_allowed',
    `@${agent.alias} is a person. Only they can change or give up their alias, and no program can act as them.`,
  )
}

/** Returns who attends an agent of the account: its clients, or the state of a remote agent's server. */
export function presenceOf(
  { waiting: { presence } }: Pick<AccountStore, 'waiting'>,
  { id, remote }: Pick<Agent, 'id' | 'remote'>,
): Presence | RemotePresence | undefined {
  return presence.at(id) ?? (remote === null ? undefined : JSON.parse(remote))
}

export interface ListedAgent {
  alias: string
  description: string
  type: AgentType
  visibility: Visibility
  /** At most 10, with shortened descriptions; names that match the search come first. */
  skills: { name: string; description: string }[]
  skills_left_out?: number
  /** Who attends the agent, if it belongs to the caller's account: `attended (claude)`, `nobody since 25 min`. */
  presence?: string
  /** ISO 8601, or null if the agent has never made a call. */
  last_seen: string | null
}

/** Returns a page of agents that the caller can send to, by alias. An empty page of a search need not be the last. */
export async function listAgents(
  account: AccountStore,
  input: { search?: string; public?: boolean; cursor?: string },
): Promise<{ agents: ListedAgent[]; cursor?: string }> {
  const caller = callingAgent(account.actor)
  const search = (wellFormed(input.search ?? '') ?? '').trim()
  const { agents, agentSearch, directory } = account.read
  const among = input.public ? undefined : await agentSearch.candidates(search)
  const source = {
    async read(cursor: string, limit: number) {
      const from = placeOf(cursor)
      const read = input.public
        ? directory.search(search, caller.alias, from, limit)
        : agents.search(search, caller.agentId, from.after, limit, among)
      return withCursors(await read, from)
    },
    keyOf: ({ cursor }: Searched) => cursor,
    entryOf: ({ agent }: Searched) => isFound(agent) ? asListed(agent, presenceIn(account, agent, input)) : undefined,
  }
  const { entries, cursor } = await readPage(source, input.cursor, agentPage)
  return { agents: entries, cursor }
}

/** The position of a search: an alias that the caller may know, and the number `skip` of hidden agents after it. */
interface Place {
  after: string
  skip: number
}

/** Parses a cursor: an alias, optionally followed by a number, so that it never names a hidden agent. */
function placeOf(cursor: string): Place {
  const [, after, skip] = cursor.match(/^(\S*) (\d{1,9})$/) ?? []
  return after === undefined ? { after: cursor, skip: 0 } : { after, skip: Number(skip) }
}

interface Searched {
  agent: SearchedAgent
  cursor: string
}

function withCursors(agents: SearchedAgent[], { after, skip }: Place): Searched[] {
  return agents.map((agent) => {
    if (agent.isHidden) return { agent, cursor: `${after} ${++skip}` }
    after = agent.searchedAlias
    skip = 0
    return { agent, cursor: after }
  })
}

function isFound(agent: SearchedAgent): agent is SearchedAgent & FoundAgent {
  return agent.id !== null
}

function presenceIn(
  account: AccountStore,
  agent: FoundAgent,
  input: { public?: boolean },
): string | undefined {
  return input.public ? undefined : presenceWords(presenceOf(account, agent), agent.lastSeenAt, account.deps.now())
}

function asListed(agent: FoundAgent, presence: string | undefined): ListedAgent {
  const skills: ListedAgent['skills'] = withoutInvisibleIn(JSON.parse(agent.skills))
  const leftOut = agent.skillCount - skills.length
  return {
    alias: `@${agent.alias}`,
    description: withoutInvisible(agent.description),
    type: agent.type,
    visibility: agent.visibility,
    skills,
    ...(leftOut > 0 && { skills_left_out: leftOut }),
    ...(presence !== undefined && { presence }),
    last_seen: agent.lastSeenAt === null ? null : new Date(agent.lastSeenAt).toISOString(),
  }
}
