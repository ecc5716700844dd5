/** Reservations of one account. See docs/protocol/reservations.md. */
import { addNotices, type Notice } from './notices.ts'
import { taskEnds } from './task-ends.ts'
import { type AccountDb, boolean, precondition, query, type Statement, statement } from '../sql.ts'

export interface Reservation {
  n: number
  id: string
  agentId: string
  alias: string
  space: string
  name: string
  shared: boolean
  note: string
  endsAt: number
  /** When the reservation's agent was last seen. */
  lastSeenAt: number | null
}

export interface NewReservation {
  id: string
  name: string
}

/** The common fields of reservations made by one call. */
export interface ReservationTerms {
  agent: string
  space: string
  shared: boolean
  note: string
  task: string | null
  /** The task's account. */
  home: string | null
  at: number
  lengthMs: number
}

const ofAccount = `FROM reservations
  JOIN agents ON agents.account_id = reservations.account_id AND agents.id = reservations.agent_id
    AND agents.deleted_at IS NULL
  WHERE reservations.account_id = :account`
const columns = `reservations.n, reservations.id, reservations.agent_id, agents.alias, reservations.space,
  reservations.name, reservations.shared, reservations.note, reservations.ends_at, agents.last_seen_at`
const inSpace = query<Reservation>(
  `SELECT ${columns} ${ofAccount} AND reservations.space = :space ORDER BY reservations.name, agents.alias`,
  { shared: boolean },
)
const page = query<Reservation>(
  `SELECT ${columns} ${ofAccount} AND reservations.n > :after
    AND (:agent = '' OR reservations.agent_id = :agent) AND (:space IS NULL OR reservations.space = :space)
  ORDER BY reservations.n LIMIT :limit`,
  { shared: boolean },
)
const ofAgent = query<{ names: number }>(
  `SELECT count(*) AS names FROM reservations WHERE account_id = :account AND agent_id = :agent`,
)
const byIds = query<Reservation & { refused: [string, number][] }>(
  `SELECT ${columns}, reservations.refused FROM reservations
  JOIN agents ON agents.account_id = reservations.account_id AND agents.id = reservations.agent_id
  WHERE reservations.account_id = :account AND reservations.id IN (SELECT value FROM json_each(:ids))
  ORDER BY reservations.n`,
  { shared: boolean, refused: (value) => JSON.parse(String(value)) },
)
const openTask = query<{ task: string; home: string }>(
  [taskEnds.client, taskEnds.recipient].map((isOwn) => `
  SELECT tasks.id AS task, tasks.account_id AS home FROM tasks
  WHERE ${isOwn} AND tasks.id IN (SELECT value FROM json_each(:names)) AND tasks.expires_at IS NOT NULL`)
    .join(' UNION ALL '),
)

const requireNoNewer = precondition(`
  NOT EXISTS (SELECT 1 ${ofAccount} AND reservations.space = :space AND reservations.n > :seen)`)
// Agents that the old row refused now wait for the new row.
const add = statement(`
  INSERT OR REPLACE INTO reservations (account_id, id, agent_id, space, name, shared, note, task_id, task_home,
    created_at, length_ms, ends_at, called_at, looked_at, refused)
  SELECT :account, given.value ->> '$.id', :agent, :space, given.value ->> '$.name', :shared, :note, :task, :home,
    :at, :lengthMs, :at + :lengthMs, :at, :at, coalesce((SELECT old.refused FROM reservations AS old
      WHERE old.account_id = :account AND old.space = :space AND old.name = given.value ->> '$.name'
        AND old.agent_id = :agent), '[]')
  FROM json_each(:given) AS given`)
// Refusals before `:since` are dropped to make room.
const refuse = statement(`
  UPDATE reservations SET refused = (
    SELECT json_group_array(json(one.value)) FROM (
      SELECT value FROM json_each(reservations.refused)
        WHERE value ->> 0 <> :agent AND value ->> 1 > :since
      UNION ALL SELECT json_array(:agent, :at) LIMIT :max) AS one)
  WHERE account_id = :account AND id IN (SELECT value FROM json_each(:ids))`)
const forget = statement(`
  UPDATE reservations SET refused = (SELECT json_group_array(json(one.value)) FROM json_each(refused) AS one
    WHERE one.value ->> 0 <> :agent)
  WHERE account_id = :account AND id IN (SELECT value FROM json_each(:ids)) AND instr(refused, :agent) > 0`)
const requireAll = precondition(`
  (SELECT count(*) FROM reservations WHERE account_id = :account AND id IN (SELECT value FROM json_each(:ids)))
    = json_array_length(:ids)`)
const remove = statement(`
  DELETE FROM reservations WHERE account_id = :account AND id IN (SELECT value FROM json_each(:ids))`)
const endOfAgent = statement(`
  UPDATE reservations SET ends_at = :at WHERE account_id = :account AND agent_id = :agent`)
const signal = statement(`
  INSERT INTO log (kind, subject, home) SELECT 'reservation', value, :account FROM json_each(:ids)`)
export const reservations = {
  reads: (account: AccountDb) => ({
    inSpace: (space: string) => account.all(inSpace, { space }),
    /** Reservations in order of creation. `agent` is `''` for all agents, and `space` is null for all spaces. */
    page: (filter: { agent: string; space: string | null }, after: number, limit: number) =>
      account.all(page, { ...filter, after, limit }),
    /** The number of an agent's reservations. */
    count: async (agent: string) => (await account.one(ofAgent, { agent }))!.names,
    /** Reservations by id, each with the ids of the agents that it refused, and when. */
    byIds: (ids: readonly string[]) => account.all(byIds, { ids: JSON.stringify(ids) }),
    /** The agent's open task whose id is among these names. */
    openTask: (agent: string, names: readonly string[]) =>
      account.one(openTask, { agent, names: JSON.stringify(names) }),
  }),
  changes: (account: AccountDb) => ({
    /** Fails the unit if the space has a reservation with a number above `seen`. */
    requireNoNewer: (space: string, seen: number) => account.bind(requireNoNewer, { space, seen }),
    add: (terms: ReservationTerms, given: readonly NewReservation[]): Statement => ({
      ...account.bind(add, { ...terms, given: JSON.stringify(given) }),
      rows: given.length,
    }),
    /**
     * Records that these reservations refused the agent. Each keeps at most `max` agents that were refused after
     * `since`.
     */
    refuse: (agent: string, ids: readonly string[], { max, since, at }: { max: number; since: number; at: number }) =>
      account.bind(refuse, { agent, ids: JSON.stringify(ids), max, since, at }),
    /** Removes the agent from those that these reservations refused. It now waits for them and needs no notice. */
    forget: (agent: string, ids: readonly string[]) => account.bind(forget, { agent, ids: JSON.stringify(ids) }),
    /** Makes all reservations of an agent end at the next check. */
    endOfAgent: (agent: string, at: number) => account.bind(endOfAgent, { agent, at }),
    /** Ends reservations, and wakes the agents that wait for them. Fails the unit if one has already ended. */
    end: (ids: readonly string[], notices: readonly Notice[], at: number): Statement[] => {
      const values = { ids: JSON.stringify(ids) }
      return [
        account.bind(requireAll, values),
        { ...account.bind(remove, values), rows: ids.length },
        { ...account.bind(signal, values), rows: ids.length },
        ...addNotices(account, notices, at),
      ]
    },
  }),
}
