/** Names for ids, so that pages need not show ids. */
import { eq, type SQL, sql } from 'drizzle-orm'
import { type SQLiteColumn, unionAll } from 'drizzle-orm/sqlite-core'
import {
  agents,
  channels,
  credentials,
  guardrails,
  invitations,
  memberships,
  oauthGrants,
  skills,
  users,
} from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'

/**
 * A record of the account. `name` is an alias without `@`, a channel without `#`, or the email address of an
 * invitation.
 */
export interface NamedEntity {
  kind: 'agent' | 'channel' | 'skill' | 'guardrail' | 'admin_key' | 'client' | 'invitation' | 'user'
  id: string
  name: string
  isDeleted: boolean
}

export function prepareNames(db: Db) {
  const isIn = (column: SQLiteColumn, list: string) => sql`${column} IN (SELECT value FROM json_each(${p(list)}))`
  const fields = (kind: SQL, id: SQLiteColumn, name: SQL | SQLiteColumn, isDeleted: SQL = sql`0`) => ({
    kind: sql<NamedEntity['kind']>`${kind}`.as('kind'),
    id: sql<string>`${id}`.as('id'),
    name: sql<string>`${name}`.as('name'),
    isDeleted: sql<number>`${isDeleted}`.as('is_deleted'),
  })
  const agentFields = fields(sql`'agent'`, agents.id, agents.alias, sql`${agents.deletedAt} IS NOT NULL`)
  const channelFields = fields(sql`'channel'`, channels.id, channels.name, sql`${channels.deletedAt} IS NOT NULL`)
  const nameOrEmail = sql`coalesce(nullif(${users.name}, ''), ${users.email})`
  const byRefs = unionAll(
    db.select(agentFields).from(agents).where(inAccount(agents, isIn(agents.id, 'ids'))),
    db.select(agentFields).from(agents).where(inAccount(agents, isIn(agents.alias, 'words'))),
    db.select(channelFields).from(channels).where(inAccount(channels, isIn(channels.id, 'ids'))),
    db.select(channelFields).from(channels)
      .where(inAccount(channels, isIn(channels.name, 'words'), sql`${channels.deletedAt} IS NULL`)),
    db.select(fields(sql`'skill'`, skills.id, skills.name)).from(skills).where(
      inAccount(skills, isIn(skills.id, 'ids')),
    ),
    db.select(fields(sql`'guardrail'`, guardrails.id, guardrails.name)).from(guardrails)
      .where(inAccount(guardrails, isIn(guardrails.id, 'ids'))),
    db.select(fields(sql`'admin_key'`, credentials.id, credentials.name)).from(credentials)
      .where(inAccount(credentials, isIn(credentials.id, 'ids'), eq(credentials.kind, sql`'admin_key'`))),
    db.select(fields(sql`'client'`, oauthGrants.id, oauthGrants.clientName)).from(oauthGrants)
      .where(inAccount(oauthGrants, isIn(oauthGrants.id, 'ids'))),
    db.select(fields(sql`'invitation'`, invitations.id, invitations.email)).from(invitations)
      .where(inAccount(invitations, isIn(invitations.id, 'ids'))),
    // Only members: the id of a foreign user in the arguments of a call is not resolved.
    db.select(fields(sql`'user'`, memberships.userId, nameOrEmail)).from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId)).where(
        inAccount(memberships, isIn(memberships.userId, 'ids')),
      ),
  ).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /**
       * Finds records by id, and agents and channels by alias or name (`words`). Includes deleted agents and channels.
       */
      async resolve(ids: string[], words: string[]): Promise<NamedEntity[]> {
        if (ids.length + words.length === 0) return []
        const rows = await account.all(byRefs, { ids: JSON.stringify(ids), words: JSON.stringify(words) })
        return rows.map((row) => ({ ...row, isDeleted: row.isDeleted === 1 }))
      },
    }),
    changes: () => ({}),
  }
}
