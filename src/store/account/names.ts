/** What ids stand for, so that people need not read them. */
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
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../driver/binding.ts'

/** A thing of the account by its name: an alias without `@`, a channel without `#`, the address of an invitation. */
export interface Named {
  kind: 'agent' | 'channel' | 'skill' | 'guardrail' | 'admin_key' | 'program' | 'invitation' | 'person'
  id: string
  name: string
  isDeleted: boolean
}

export function prepareNames(db: Db) {
  const among = (column: SQLiteColumn, list: string) => sql`${column} IN (SELECT value FROM json_each(${p(list)}))`
  const fields = (kind: SQL, id: SQLiteColumn, name: SQL | SQLiteColumn, isDeleted: SQL = sql`0`) => ({
    kind: sql<Named['kind']>`${kind}`.as('kind'),
    id: sql<string>`${id}`.as('id'),
    name: sql<string>`${name}`.as('name'),
    isDeleted: sql<number>`${isDeleted}`.as('is_deleted'),
  })
  const agentFields = fields(sql`'agent'`, agents.id, agents.alias, sql`${agents.deletedAt} IS NOT NULL`)
  const channelFields = fields(sql`'channel'`, channels.id, channels.name, sql`${channels.deletedAt} IS NOT NULL`)
  const nameOrAddress = sql`coalesce(nullif(${users.name}, ''), ${users.email})`
  const byRefs = unionAll(
    db.select(agentFields).from(agents).where(own(agents, among(agents.id, 'ids'))),
    db.select(agentFields).from(agents).where(own(agents, among(agents.alias, 'words'))),
    db.select(channelFields).from(channels).where(own(channels, among(channels.id, 'ids'))),
    db.select(channelFields).from(channels)
      .where(own(channels, among(channels.name, 'words'), sql`${channels.deletedAt} IS NULL`)),
    db.select(fields(sql`'skill'`, skills.id, skills.name)).from(skills).where(own(skills, among(skills.id, 'ids'))),
    db.select(fields(sql`'guardrail'`, guardrails.id, guardrails.name)).from(guardrails)
      .where(own(guardrails, among(guardrails.id, 'ids'))),
    db.select(fields(sql`'admin_key'`, credentials.id, credentials.name)).from(credentials)
      .where(own(credentials, among(credentials.id, 'ids'), eq(credentials.kind, sql`'admin_key'`))),
    db.select(fields(sql`'program'`, oauthGrants.id, oauthGrants.clientName)).from(oauthGrants)
      .where(own(oauthGrants, among(oauthGrants.id, 'ids'))),
    db.select(fields(sql`'invitation'`, invitations.id, invitations.email)).from(invitations)
      .where(own(invitations, among(invitations.id, 'ids'))),
    // Members alone: an id of somebody else that was put into a call names nobody.
    db.select(fields(sql`'person'`, memberships.userId, nameOrAddress)).from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId)).where(own(memberships, among(memberships.userId, 'ids'))),
  ).prepare()

  return {
    reads: (scope: Scope) => ({
      /** What these ids, aliases and names of channels stand for; also agents and channels that were deleted. */
      async of(ids: string[], words: string[]): Promise<Named[]> {
        if (ids.length + words.length === 0) return []
        const rows = await scope.all(byRefs, { ids: JSON.stringify(ids), words: JSON.stringify(words) })
        return rows.map((row) => ({ ...row, isDeleted: row.isDeleted === 1 }))
      },
    }),
    changes: () => ({}),
  }
}
