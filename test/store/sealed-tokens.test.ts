/** Sealed tokens are never stored in plain text, and are bound to their row. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { createKeyRing, newKeyRing, type SealedToken } from '../../src/lib/key-ring.ts'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { mcp } from '../support/mcp.ts'

const guardrailToken = 'sk-canary-of-a-guardrail'
const remoteToken = 'canary-of-a-remote-agent'

let grid: TestGrid
const responses: string[] = []
beforeEach(async () => {
  grid = await testGrid()
  await createGuardrail(grid.acme.store, { name: 'mod', provider: 'openai-moderation', token: guardrailToken })
  await call('admin_create_agent', { alias: 'far', type: 'a2a', remoteUrl: 'https://far.example', remoteToken })
})

test("no token is in the database, its log, a file next to the database, the grid's log or a response", async () => {
  await call('admin_list_agents', {})
  await call('admin_list_guardrails', {})
  await call('admin_set_agent_guardrails', { alias: 'far', guardrails: ['mod'] })
  await call('admin_create_agent', { alias: 'far', type: 'a2a', remoteUrl: 'https://far.example', remoteToken })

  const files = readdirSync(grid.folder).map((name) => ({ name, bytes: readFileSync(join(grid.folder, name)) }))
  expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(['grid.db', 'grid.db-wal', 'grid.db.keys']))
  const targets = [
    ...files,
    { name: 'our log', bytes: Buffer.from(grid.logs.join('\n')) },
    { name: 'responses', bytes: Buffer.from(responses.join('\n')) },
  ]
  // Checks that the search finds a stored text.
  expect(targets.filter(({ bytes }) => bytes.includes('https://far.example')).map(({ name }) => name).sort())
    .toEqual(['grid.db-wal', 'responses'])
  for (const token of [guardrailToken, remoteToken]) {
    for (const spelling of [token, btoa(token).slice(0, 24), Buffer.from(token).toString('hex')]) {
      expect(targets.filter(({ bytes }) => bytes.includes(spelling)).map(({ name }) => name)).toEqual([])
    }
  }
})

test('a key ring from the configuration is used, and no ring file is written', async () => {
  const ring = newKeyRing()
  const configured = await testGrid({ env: { GRID_KEYS: ring } })
  const { id } = configured.acme

  const sealed = await configured.acme.store.seal('agents', 'row', 'hush')

  expect(await createKeyRing(ring).open(sealed, `agents:${id}:row:token`)).toBe('hush')
  expect(readdirSync(configured.folder)).not.toContain('grid.db.keys')
})

test('a stored token can be decrypted for its own row, and for no other row, table or account', async () => {
  const { acme, evil } = grid
  const other = await createGuardrail(acme.store, { name: 'two', provider: 'openai-moderation', token: guardrailToken })
  const [mod, far] = [await stored('guardrails', 'name', 'mod'), await stored('agents', 'alias', 'far')]

  expect(await open(mod, `guardrails:${acme.id}:${mod.id}:token`)).toBe(guardrailToken)
  expect(await open(far, `agents:${acme.id}:${far.id}:token`)).toBe(remoteToken)

  for (
    const row of [
      `guardrails:${acme.id}:${other.id}:token`,
      `guardrails:${evil.id}:${mod.id}:token`,
      `agents:${acme.id}:${mod.id}:token`,
      `guardrails:${acme.id}:${mod.id}:other`,
      '',
    ]
  ) {
    await expect(open(mod, row)).rejects.toMatchObject({ code: 'internal' })
  }
})

/** Decrypts with the key ring next to the database. */
function open(sealed: SealedToken, row: string): Promise<string> {
  return createKeyRing(readFileSync(join(grid.folder, 'grid.db.keys'), 'utf8').trim()).open(sealed, row)
}

/** Returns a row's sealed token, as stored. */
async function stored(table: string, column: string, name: string): Promise<SealedToken & { id: string }> {
  const [row] = await rows(grid, `SELECT * FROM ${table} WHERE account_id = ? AND ${column} = ?`, [grid.acme.id, name])
  return {
    id: String(row.id),
    encryptedToken: String(row.encrypted_token),
    tokenIv: String(row.token_iv),
    tokenAuthTag: String(row.token_auth_tag),
    tokenKeyId: String(row.token_key_id),
  }
}

async function call(tool: string, args: Record<string, unknown>): Promise<void> {
  const { body } = await mcp(grid, grid.acme.adminKey, 'tools/call', { name: tool, arguments: args })
  responses.push(JSON.stringify(body))
}
