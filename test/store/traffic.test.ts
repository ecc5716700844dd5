/** Statements marked as message traffic, after which cached keys stay valid. docs/security.md, "Keys and tokens". */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import '../../src/store/store.ts'
import { allQueries } from '../../src/store/sql.ts'

/** The tables that a key's lookup reads. */
const ofKeys = ['accounts', 'agents', 'credentials', 'memberships', 'oauth_grants', 'trials']
/** Allowed, because these statements change only a time. */
const ofTimes = [
  /^UPDATE credentials SET last_used_at = [^=]+ WHERE/,
  /^UPDATE oauth_grants SET last_used_at = [^=]+ WHERE/,
  /^UPDATE agents SET last_seen_at = [^=]+ WHERE/,
]
const written = (sql: string) =>
  [...sql.matchAll(/\b(?:INSERT (?:OR \w+ )?INTO|REPLACE INTO|UPDATE(?: OR \w+)?|DELETE FROM) (\w+)/gi)]
    .map(([, table]) => table).filter((table) => table !== 'SET' && table !== 'OF')

const triggers = readFileSync('db/extra.sql', 'utf8').split(/\bCREATE TRIGGER\b/).slice(1).map((text) => ({
  table: text.match(/\bON (\w+)/)![1],
  writes: written(text.slice(text.indexOf('BEGIN'))),
}))

/** Returns these tables, and all tables that their triggers write to. */
function withTriggers(tables: string[]): string[] {
  const all = new Set(tables)
  for (const table of all) {
    for (const { table: on, writes } of triggers) if (on === table) { for (const next of writes) all.add(next) }
  }
  return [...all]
}

test("no statement marked as traffic changes a table that a key's lookup reads, even by a trigger", () => {
  const marked = allQueries.filter(({ isTraffic, sql }) => isTraffic && written(sql).length > 0)
  expect(marked.length).toBeGreaterThan(20)
  const wrong = marked.filter(({ sql }) =>
    !ofTimes.some((time) => time.test(sql)) && withTriggers(written(sql)).some((table) => ofKeys.includes(table))
  )

  expect(wrong.map(({ sql }) => sql)).toEqual([])
})

test('a write without a mark is not traffic', () => {
  const unmarked = allQueries.filter(({ isTraffic, sql }) => !isTraffic && written(sql).length > 0)

  expect(unmarked.length).toBeGreaterThan(100)
  expect(unmarked.some(({ sql }) => sql.startsWith('UPDATE credentials SET revoked_at'))).toBe(true)
})
