/** Triggers only guard, count, or add one row to the log. See docs/architecture.md, "Reads and writes". */
import { createClient } from '@libsql/client'
import { expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'

type Kind = 'guard' | 'count' | 'signal'

const triggers: Record<string, Kind> = {
  activity_is_not_changed: 'guard',
  activity_is_not_deleted: 'guard',
  activity_is_not_replaced: 'guard',
  agent_is_searchable: 'count',
  agent_is_not_searchable: 'count',
  agent_is_described: 'count',
  message_is_not_searchable: 'count',
  erased_text_is_not_searchable: 'count',
  delivery_is_added: 'count',
  delivery_is_changed: 'count',
  delivery_is_removed: 'count',
  message_of_task_is_counted: 'count',
  artifact_is_counted: 'count',
  key_is_revoked_or_moved: 'signal',
  key_is_removed: 'signal',
  grant_is_revoked: 'signal',
  access_token_is_revoked: 'signal',
  session_is_ended: 'signal',
  session_is_removed: 'signal',
  role_is_changed: 'signal',
  membership_is_removed: 'signal',
}
/** The columns that triggers update as counters. */
const counters = ['agent_numbers.unread', 'tasks.bytes']
const searchTables = ['agent_search', 'message_search']

test('each trigger guards, counts, or adds one row to the log', async () => {
  const client = createClient({ url: ':memory:' })
  await migrate(client)
  const { rows } = await client.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
  client.close()
  const found = rows.map(({ name, sql }) => [String(name), kindOf(String(sql))] as const)

  expect(Object.fromEntries(found)).toEqual(triggers)
})

test.each([
  'UPDATE tasks SET bytes = 1',
  'UPDATE tasks SET bytes = bytes + 1, state = 1 WHERE id = 1',
  'UPDATE tasks SET generation = generation + 1 WHERE id = 1',
  'UPDATE leases SET holder = holder + 1 WHERE id = 1',
  "SELECT 'RAISE(ABORT)'",
  'DELETE FROM tasks',
  "INSERT INTO log (kind) VALUES ('a'); INSERT INTO log (kind) VALUES ('b')",
  "INSERT INTO webhook_events (id) VALUES ('a')",
])('a trigger with any other statement is not accepted as any kind of trigger: %s', (statement) => {
  expect(kindOf(`CREATE TRIGGER t AFTER INSERT ON deliveries BEGIN ${statement}; END`)).toBeUndefined()
})

function kindOf(sql: string): Kind | undefined {
  const [, body] = /\bBEGIN\b(.*)\bEND\b/s.exec(sql) ?? []
  const statements = (body ?? '').split(';').map((text) => text.trim()).filter((text) => text !== '')
  const every = (is: (statement: string) => boolean) => statements.length > 0 && statements.every(is)
  if (every((statement) => /^SELECT RAISE\(ABORT, '[^']*'\)$/.test(statement))) return 'guard'
  if (every((statement) => counts(statement) || isOfSearch(statement))) return 'count'
  if (statements.length === 1 && /^INSERT INTO log \(/.test(statements[0])) return 'signal'
}

function counts(statement: string): boolean {
  const [, table, column, ...rest] =
    /^UPDATE (\w+) SET (\w+) = (\w+)((?: [+-] [\w ]+)+) WHERE [^;]+$/.exec(withoutBrackets(statement)) ?? []
  return column === rest[0] && counters.includes(`${table}.${column}`)
}

function isOfSearch(statement: string): boolean {
  const [, table] = /^(?:INSERT INTO|DELETE FROM) (\w+)\b/.exec(statement) ?? []
  return searchTables.includes(table)
}

/** Returns the text without brackets and their content, with single spaces. */
function withoutBrackets(text: string): string {
  for (let before = '';; before = text) {
    text = text.replace(/\([^()]*\)/g, '').replace(/\s+/g, ' ')
    if (text === before) return text
  }
}
