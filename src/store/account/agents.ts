import { ownLimit } from './limits.ts'
import type { agents as table } from '../../../db/schema.ts'
import {
  type AccountDb,
  boolean,
  crossAccountStatement,
  insertedToken,
  precondition,
  query,
  sealedColumns,
  statement,
  traffic,
} from '../sql.ts'
import { addAgent, deleteAgents } from './agent-rows.ts'
import { agentColumns, foundAgentColumns, isNotTakenElsewhere, isTaken, matchesSearch } from './agent-columns.ts'
import { guardsOfDirect } from './guarding.ts'
import { isWaitingForAnswer } from './leases.ts'

export type AgentType = typeof table.$inferSelect.type
export type ProgramType = Exclude<AgentType, 'human' | 'hook'>
export type Visibility = typeof table.$inferSelect.visibility
export type AccessPolicy = typeof table.$inferSelect.accessPolicy
export type CallersWait = typeof table.$inferSelect.callersWait

export interface Agent {
  id: string
  alias: string
  type: AgentType
  visibility: Visibility
  accessPolicy: AccessPolicy
  description: string
  remoteUrl: string | null
  createdAt: number
  lastSeenAt: number | null
  /** The `RemotePresence` of a remote agent, as JSON. */
  remote: string | null
}

export interface NewAgentRow extends Omit<Agent, 'lastSeenAt' | 'remote'>, TokenColumns {
  signupId: string | null
}

/** A sealed token of a remote service: AES-256-GCM in base64, with the id of the key. */
export interface TokenColumns {
  encryptedToken: string | null
  tokenIv: string | null
  tokenAuthTag: string | null
  tokenKeyId: string | null
}

export const noToken: TokenColumns = { encryptedToken: null, tokenIv: null, tokenAuthTag: null, tokenKeyId: null }

export type FoundAgent = Agent & { skills: string; skillCount: number }

/** An agent that a search examined. Its fields are null if it does not match. */
export type SearchedAgent = { [field in keyof FoundAgent]: FoundAgent[field] | null } & {
  searchedAlias: string
  isHidden: number
}

/** A live agent as the recipient of a send. `guards` is explained in `guarding.ts`. */
interface Recipient {
  id: string
  guards: number
  messageReplies: boolean
  isRemote: boolean
  isPerson: boolean
  isHook: boolean
  isWaiting: boolean
}

const isLive = 'agents.account_id = :account AND agents.deleted_at IS NULL'
const byAlias = query<Agent>(`SELECT ${agentColumns} FROM agents WHERE ${isLive} AND agents.alias = :alias LIMIT 1`)
const recipient = query<Recipient>(
  `
  SELECT agents.id, ${guardsOfDirect(':from', false)} AS guards, agents.message_replies,
    agents.remote_url IS NOT NULL AS is_remote, agents.type = 'human' AS is_person,
    agents.type = 'hook' AS is_hook, ${isWaitingForAnswer} AS is_waiting
  FROM agents WHERE ${isLive} AND agents.alias = :alias LIMIT 1`,
  { messageReplies: boolean, isRemote: boolean, isPerson: boolean, isHook: boolean, isWaiting: boolean },
)
const byId = query<Agent>(`SELECT ${agentColumns} FROM agents WHERE ${isLive} AND agents.id = :id`)
const searchIn = (alias: string, among = '1') =>
  query<SearchedAgent>(`
    SELECT candidates.alias AS searched_alias, 0 AS is_hidden, ${foundAgentColumns}
    FROM (
      SELECT agents.id, agents.alias FROM agents
      WHERE ${isLive} AND ${alias} > :after AND agents.id <> :except AND ${among}
      ORDER BY ${alias} LIMIT :limit) AS candidates
    LEFT JOIN agents ON agents.account_id = :account AND agents.id = candidates.id AND ${matchesSearch}
    ORDER BY candidates.alias`)
const bySearch = searchIn('agents.alias')
// `+` keeps the planner from reading all agents in order. There are few candidates.
const bySearchAmong = searchIn('+agents.alias', 'agents.id IN (SELECT value FROM json_each(:ids))')
const byRefs = query<Agent>(`
  SELECT ${agentColumns} FROM agents
  WHERE ${isLive} AND (agents.id IN (SELECT value FROM json_each(:ids))
    OR agents.alias IN (SELECT value FROM json_each(:aliases)))`)
const page = query<Agent>(`
  SELECT ${agentColumns} FROM agents WHERE ${isLive} AND agents.alias > :after ORDER BY agents.alias LIMIT :limit`)
const aliases = query<{ alias: string }>(`SELECT alias FROM agents WHERE ${isLive} LIMIT :limit`)
const total = query<{ n: number }>(`SELECT count(*) AS n FROM agents WHERE ${isLive}`)
const counted = query<{ n: number }>(`SELECT count(*) AS n FROM (SELECT 1 FROM agents WHERE ${isLive} LIMIT :limit)`)
const livePrograms = `SELECT count(*) AS n FROM agents WHERE ${isLive} AND agents.type <> 'human'`
const programs = query<{ n: number }>(livePrograms)
const anyProgram = query<{ one: number }>(`
  SELECT 1 AS one FROM agents WHERE ${isLive} AND agents.type <> 'human' LIMIT 1`)
const trial = query<{ used: number; max: number; expiresAt: number; endedAt: number | null }>(`
  SELECT used, max, expires_at, ended_at FROM trials WHERE account_id = :account AND agent_id = :agent`)
const endTrials = statement(`
  UPDATE trials SET ended_at = :at WHERE account_id = :account AND expires_at <= :until AND ended_at IS NULL`)

// A program must not take an alias that belonged to a person.
const add = addAgent(
  `(account_id, id, alias, type, visibility, access_policy, description, remote_url, ${sealedColumns}, signup_id,
    created_at)
  SELECT :account, :id, :alias, :type, :visibility, :accessPolicy, :description, :remoteUrl,
    ${insertedToken}, :signupId, :createdAt
  WHERE ${isNotTakenElsewhere} AND NOT EXISTS (
    SELECT 1 FROM agents WHERE agents.account_id = :account AND agents.alias = :alias AND agents.type = 'human'
      AND :type <> 'human')`,
  'agents.account_id = :account AND agents.id = :id',
)
const addTrial = statement(`
  INSERT INTO trials (account_id, agent_id, used, max, expires_at) VALUES (:account, :agent, 0, :max, :expiresAt)`)
// A deleted agent's alias is not pending, because it stays reserved for the account that had it.
const addAccess = crossAccountStatement(
  'new aliases of an access list',
  `
  INSERT INTO agent_access (account_id, agent_id, alias, pending)
  SELECT agents.account_id, agents.id, value, NOT ${isTaken('value')}
  FROM agents JOIN json_each(:aliases) ON true
  WHERE agents.account_id = :account AND agents.id = :id
  ON CONFLICT DO NOTHING`,
)
const softDelete = deleteAgents(':account', 'agents.id = :id')
const requireLive = precondition(`
  (SELECT count(*) FROM agents WHERE ${isLive} AND agents.id IN (SELECT value FROM json_each(:ids)))
    = json_array_length(:ids)`)
const requireAtMost = precondition(
  `${ownLimit('agents', ':max')} = 0 OR (${livePrograms}) <= ${ownLimit('agents', ':max')}`,
)
const markSeen = traffic(`UPDATE agents SET last_seen_at = :at WHERE account_id = :account AND id = :id`)

export const agents = {
  reads: (account: AccountDb) => ({
    byAlias: (alias: string): Promise<Agent | undefined> => account.one(byAlias, { alias }),
    /** A live agent as the recipient of a send by the agent `from`, and whether guardrails check the message. */
    recipient: (alias: string, from: string) => account.one(recipient, { alias, from }),
    aliases: async (limit: number) => (await account.all(aliases, { limit })).map(({ alias }) => alias),
    byId: (id: string): Promise<Agent | undefined> => account.one(byId, { id }),
    hasPrograms: async (): Promise<boolean> => (await account.one(anyProgram, {})) !== undefined,
    byRefs: (ids: string[], aliases: string[]): Promise<Agent[]> =>
      account.all(byRefs, { ids: JSON.stringify(ids), aliases: JSON.stringify(aliases) }),
    page: (after: string, limit: number): Promise<Agent[]> => account.all(page, { after, limit }),
    /** The number of live agents, counted up to `limit`. */
    counted: async (limit: number) => (await account.one(counted, { limit }))!.n,
    total: async () => (await account.one(total))!.n,
    programs: async () => (await account.one(programs))!.n,
    /** Searches up to `limit` live agents after the alias `after`, but not `except`. `among` restricts the search. */
    search: (
      search: string,
      except: string,
      after: string,
      limit: number,
      among?: string[],
    ): Promise<SearchedAgent[]> =>
      among
        ? account.all(bySearchAmong, { search, except, after, limit, ids: JSON.stringify(among) })
        : account.all(bySearch, { search, except, after, limit }),
    trial: (agent: string) => account.one(trial, { agent }),
  }),
  changes: (account: AccountDb) => ({
    /**
     * Does nothing if the alias is reserved for another account or a person. Fails with a constraint error if a live
     * agent has it.
     */
    add: (agent: NewAgentRow) => add.map((statement) => account.bind(statement, { ...agent })),
    /** Adds aliases to an access list; unused aliases become pending. Existing entries stay unchanged. */
    addAccess: (id: string, aliases: string[]) => ({
      ...account.bind(addAccess, { id, aliases: JSON.stringify(aliases) }),
      rows: aliases.length,
    }),
    softDelete: (id: string, at: number) => softDelete.map((statement) => account.bind(statement, { id, at })),
    requireLive: (ids: string[]) => account.bind(requireLive, { ids: JSON.stringify(ids) }),
    /** `max` applies to an account without a limit of its own. 0 means no limit. */
    requireAtMost: (max: number) => account.bind(requireAtMost, { max }),
    /** Ends the trials that expired by `until`. They stay ended even if the clock is set back. */
    endTrials: (until: number, at: number) => account.bind(endTrials, { until, at }),
    addTrial: (agent: string, max: number, expiresAt: number) => account.bind(addTrial, { agent, max, expiresAt }),
    markSeen: (id: string, at: number) => account.bind(markSeen, { id, at }),
  }),
}
