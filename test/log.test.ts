/** Structured logs (docs/security.md, "Logs"). */
import { beforeEach, expect, test } from 'vitest'
import { createAuthenticator } from '../src/auth/bearer.ts'
import { readMessages } from '../src/grid/messaging/read-messages.ts'
import { mintKey } from '../src/lib/secrets.ts'
import { createLog } from '../src/log.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { sendMessage } from './support/messaging.ts'

const key = 'grid_agt_0123456789abcdefghijABCDEFGHIJ0123456789abcdefLAST'
const cut = key.slice(0, 40)

test('a log line is one JSON object with time, level and message', () => {
  const [line] = logged('info', (log) => log.info('started', { port: 8787 }))

  expect(JSON.parse(line)).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    level: 'info',
    message: 'started',
    port: 8787,
  })
})

test.each([
  ['alone', key],
  ['in a header', `Authorization: Bearer ${key}`],
  ['after a line break', `x\n${key}`],
  ['after a tab', `x\t${key}`],
  ['after a letter', `x${key}`],
  ['after a URL escape', `Bearer%20${key}`],
  ['before a letter', `${key}x`],
  ['before an underscore', `${key}_x`],
  ['in quotes', `"${key}"`],
  ['in JSON in a string', JSON.stringify({ key })],
  ['twice', `${key} ${key}`],
  ['truncated', cut],
  ['as a file name', `/tmp/${key}.txt`],
])('a key is not logged %s', (_, text) => {
  const [line] = logged(
    'info',
    (log) => log.info(text, { field: text, deep: { list: [text] }, error: new Error(text) }),
  )

  expect(line).not.toContain(cut)
  expect(line).toContain('grid_agt_…')
})

test.each([
  'authorization',
  'Authorization',
  'cookie',
  'password',
  'apiKey',
  'api_key',
  'accessToken',
  'client_secret',
])(
  'the value of the field %s is never logged',
  (name) => {
    const [line] = logged('info', (log) => log.info('x', { [name]: 'canary', inside: { [name]: 'canary' } }))

    expect(line).not.toContain('canary')
  },
)

test('a claim link is logged without its token', () => {
  const [line] = logged('info', (log) => log.info('GET https://grid.example/claim/canary0123?x=1'))

  expect(line).toContain('/claim/…')
  expect(line).not.toContain('canary')
})

test('terminal control characters are escaped in the log, and other text stays readable', () => {
  const text = '\u001b[2J\u009b31m\u007f\u202eevil\u2066 Grüße 漢字 🙂'
  const [line] = logged('info', (log) => log.info(text))

  // deno-lint-ignore no-control-regex
  expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
  expect(line).toContain('Grüße 漢字 🙂')
  expect(JSON.parse(line).message).toBe(text)
})

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('signup, sending, reading and refusals log no secret and no message text, even at debug level', async () => {
  const canary = 'canary-text-4711'
  const signup = await grid.post('/api/v1/agentic-signup?api_key=canary-query', {
    owner_email: 'canary@owner.example',
    alias: 'zoe',
    description: canary,
    skills: [canary],
  }, { Authorization: 'Bearer canary-header', Cookie: 'session=canary-cookie', 'User-Agent': 'canary-agent' })
  const { api_key, trial } = await signup.json()
  const token = trial.claim_url.split('/').pop()
  const { key: unknown } = mintKey('admin_key')

  const zoe = await createAuthenticator(grid.store)(`Bearer ${api_key}`)
  const alice = await createAuthenticator(grid.store)(`Bearer ${grid.alice.key}`)
  const bob = await createAuthenticator(grid.store)(`Bearer ${grid.bob.key}`)
  await sendMessage(alice, { to: 'bob', text: canary, idempotencyKey: canary })
  await readMessages(bob, {})
  await sendMessage(zoe, { to: 'bob', text: canary }).catch(() => {})
  await createAuthenticator(grid.store)(`Bearer ${unknown}`).catch(() => {})
  await grid.request(`/claim/${token}`)
  await grid.request(`/${api_key}?key=${api_key}`)
  await grid.request('/nowhere', { headers: { Host: 'canary.example' } })
  for (const path of ['/mcp/v1/grid', '/a2a/v1/grid', '/mcp/v1/signup']) {
    await grid.post(path, { jsonrpc: '2.0', id: canary, method: canary, params: { canary } }, {
      Authorization: `Bearer ${api_key}`,
      Accept: 'application/json, text/event-stream',
    })
    await grid.post(path, `{"canary":`, { Authorization: 'Basic canary' })
  }
  await grid.store.write([{ sql: 'INSERT INTO nowhere VALUES (?)', args: [canary] }]).catch(() => {})

  const text = grid.logs.join('\n')
  expect(grid.logs.length).toBeGreaterThan(5)
  for (const line of grid.logs) expect(() => JSON.parse(line)).not.toThrow()
  expect(text).not.toContain('canary')
  for (const secret of [api_key, grid.alice.key, grid.bob.key, unknown, token]) expect(text).not.toContain(secret)
})

function logged(
  level: 'debug' | 'info' | 'warn' | 'error',
  use: (log: ReturnType<typeof createLog>) => void,
): string[] {
  const lines: string[] = []
  use(createLog(level, (line) => lines.push(line)))
  return lines
}
