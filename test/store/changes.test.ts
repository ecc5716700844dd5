/** What a statement changes and what a query reads, by its SQL. See docs/security.md, "Look-ups in memory". */
import { expect, test } from 'vitest'
import { type Change, changeOf, readColumns } from '../../src/store/changes.ts'

test.each<[string, ReturnType<typeof changeOf>]>([
  ['select "id" from "agents" where "x" = \'update agents set alias\'', 'nothing'],
  ['SELECT 1', 'nothing'],
  ['with x as (select 1) select * from x', 'nothing'],
  ['insert into "agents" ("id") values (?)', { kind: 'insert', table: 'agents' }],
  ['INSERT INTO agents SELECT * FROM trials', { kind: 'insert', table: 'agents' }],
  ['insert or ignore into agents values (1)', { kind: 'insert', table: 'agents' }],
  ['insert into "trials" ("max") values (?) on conflict do nothing', { kind: 'insert', table: 'trials' }],
  ['insert into "trials" ("max") values (?) on conflict do update set "max" = 1', { kind: 'replace', table: 'trials' }],
  ['INSERT OR REPLACE INTO trials VALUES (1)', { kind: 'replace', table: 'trials' }],
  ['REPLACE INTO trials VALUES (1)', { kind: 'replace', table: 'trials' }],
  ['delete from "agents" where "id" = ?', { kind: 'delete', table: 'agents' }],
  ['WITH old AS (SELECT 1) DELETE FROM agents', { kind: 'delete', table: 'agents' }],
  ['update "agents" set "alias" = ?', update('alias')],
  ['UPDATE agents SET alias = ?, last_seen_at=1 WHERE description = 2', update('alias', 'last_seen_at')],
  ['update or ignore `agents` as a set `alias` = 1', update('alias')],
  ['update "agents" set "alias" = max(1, (select 2 where 3), "type"), "type" = \', id = 1\'', update('alias', 'type')],
  ['update "agents" set "alias" = "agents"."id" from "trials" returning "id"', update('alias')],
  ['with c as (select 1 where 2) update "agents" set "alias" = 1 where 2', update('alias')],
  ['update "agents" set ("alias", "type") = (1, 2)', { kind: 'update', table: 'agents', columns: undefined }],
  ['update "no_table_of_ours" set "alias" = 1', 'unknown'],
  ['insert into main.agents values (1)', 'unknown'],
  ['drop table agents', 'unknown'],
  ['PRAGMA foreign_keys = OFF', 'unknown'],
  ['', 'unknown'],
])('%s', (sql, change) => {
  expect(changeOf(sql)).toEqual(change)
})

test('a query reads the columns that it names, of the table that it names them with', () => {
  const sql =
    'select "agents"."id", "trials"."used" from "agents" left join "trials" on "trials"."agent_id" = "agents"."id"'

  expect(readColumns(sql)).toEqual(
    new Map([['agents', new Set(['id'])], ['trials', new Set(['used', 'agent_id'])]]),
  )
})

test('a column without a table, or of an alias, counts for all tables of the query that have it', () => {
  const sql = 'SELECT account_id FROM agents AS a WHERE EXISTS (SELECT 1 FROM trials WHERE a.id = trials.agent_id)'

  expect(readColumns(sql)).toEqual(
    new Map([['agents', new Set(['account_id', 'id'])], ['trials', new Set(['account_id', 'agent_id'])]]),
  )
})

function update(...columns: string[]): Change {
  return { kind: 'update', table: 'agents', columns }
}
