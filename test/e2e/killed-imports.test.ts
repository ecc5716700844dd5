/**
 * `import-account` and the server on its database are killed (SIGKILL) in turn, and the import is repeated. The account
 * moves from a grid on Node to one on Bun. The long form has 20,000 messages and 20 kills.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recount } from '../../scripts/recount/recount.ts'
import { freePort } from '../../src/lib/free-port.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { setSkills } from '../../src/grid/agents/skills.ts'
import { followLog } from '../../src/worker/followers.ts'
import { storeOf, testGrid } from '../support/grid.ts'
import { isLong } from '../support/long.ts'
import { sendMessage } from '../support/messaging.ts'
import {
  beginCommand,
  runCommand,
  type ServerProcess,
  startServe,
  type TemporaryDatabase,
  temporaryDatabase,
} from '../support/process.ts'
import { askFor } from '../support/tasks.ts'
import { waitFor } from '../support/wait-for.ts'
import { bearer, callTool, post } from './client.ts'

const messages = isLong ? 20_000 : 1_500
const kills = isLong ? 20 : 2
const settings = { OAUTH_CIMD: 'off', LOG_LEVEL: 'error' }

test(
  'after an import that was killed repeatedly, each agent has the same data on the new grid as on the old grid',
  async () => {
    const source = await filledGrid()
    const target = temporaryDatabase()
    const env = { ...settings, DATABASE_URL: target.url, PORT: String(await freePort()) }
    let server = await startServe('bun', env)
    const words = ['import-account', source.file, '--fingerprint', source.fingerprint, '--json']
    const wholeBytes = await bytesOfImport(words)
    const emptyBytes = bytesOf(target)

    for (let n = 0; n < kills; n++) {
      const importing = beginCommand('node', words, { DATABASE_URL: target.url })
      let hasEnded = false
      void importing.ended.then(() => hasEnded = true)
      const enough = emptyBytes + wholeBytes * (n + 1) / (kills * 3)
      await waitFor('a part of the account', () => hasEnded || bytesOf(target) >= enough)
      const isOfServer = n % 2 === 1
      if (isOfServer) server.signal('SIGKILL')
      else importing.kill()
      const { code } = await importing.ended
      expect(code, 'the import ended before it was killed').not.toBe(0)
      if (isOfServer) {
        await server.ended
        server = await startServe('bun', env)
      }
    }
    const { stdout, stderr } = await runCommand('node', words, { DATABASE_URL: target.url })
    if (!stdout.startsWith('{')) throw new Error(stderr)
    const keyOf = new Map(JSON.parse(stdout).keys.map(({ alias, api_key }: Record<string, string>) => [alias, api_key]))

    const old = await startServe('node', { ...settings, DATABASE_URL: source.url })
    for (const { alias, key } of [source.alice, source.bob]) {
      const before = await everythingOf(old, key)
      expect(before.tasks).toHaveLength(alias === 'alice' ? 5 : 0)
      expect(await everythingOf(server, String(keyOf.get(alias)))).toEqual(before)
    }
    await Promise.all([old.stop(), server.stop()])
    // Traffic and usage counts are not checked, because an archive does not contain them.
    expect(await recount({ url: target.url }, { withHistory: false })).toEqual([])
    target.remove()
  },
  isLong ? 600_000 : undefined,
)

/** Returns the number of bytes by which an import enlarges a database. */
async function bytesOfImport(words: string[]): Promise<number> {
  const database = temporaryDatabase()
  const server = await startServe('bun', { ...settings, DATABASE_URL: database.url })
  const before = bytesOf(database)
  await runCommand('node', words, { DATABASE_URL: database.url })
  const bytes = bytesOf(database) - before
  await server.stop()
  database.remove()
  return bytes
}

function bytesOf({ folder }: TemporaryDatabase): number {
  return ['grid.db', 'grid.db-wal'].reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
}

/** Creates an account with messages, a channel, skills and tasks, and exports its archive. */
async function filledGrid() {
  const grid = await testGrid({ env: { MESSAGES_PER_DAY: '0', UNREAD_PER_INBOX: '100000' } })
  // Servers run on this database, and would fail tasks that are a week old.
  grid.clock.now = Date.now()
  const { alice, bob, acme } = grid
  const as = [alice, bob].map((agent) => storeOf(grid, agent))
  await createChannel(acme.store, { name: 'team', members: ['alice', 'bob'] })
  await setSkills(as[0], { skills: [{ name: 'sorting', description: 'Sorts things' }] })
  for (let n = 0; n < messages; n++) await sendMessage(as[0], { to: n % 3 ? '@bob' : '#team', text: `text ${n}` })
  for (let n = 0; n < 10; n++) await sendMessage(as[1], { to: '#team', text: `text ${n} of bob` })
  await sendMessage(as[1], { to: '#team', text: 'the last words' })
  for (let n = 0; n < 5; n++) await askFor(as[0], `task ${n}`, { to: '@bob' })
  await followLog(grid.store)
  await grid.store.close()
  const url = `file:${join(grid.folder, 'grid.db')}`
  const file = join(grid.folder, 'acme.archive')
  const { stdout, stderr } = await runCommand('node', ['export-account', file, '--account', acme.id, '--json'], {
    DATABASE_URL: url,
  })
  if (!stdout.startsWith('{')) throw new Error(stderr)
  return { alice, bob, url, file, fingerprint: JSON.parse(stdout).fingerprint as string }
}

/** Returns everything that an agent can list, find and read, except presence. */
async function everythingOf({ url }: ServerProcess, key: string) {
  // Wait for the search index, which is updated after the messages.
  await waitFor('the last message to be found', async () => {
    const found = await callTool(url, key, 'search_messages', { query: 'last words' })
    return JSON.stringify(found).includes('the last words')
  })
  const listed = []
  for (
    const [tool, args] of [
      ['list_agents', {}],
      ['list_channels', {}],
      ['list_skills', {}],
      ['search_messages', { query: 'text 1' }],
    ] as const
  ) listed.push(await callTool(url, key, tool, args))
  const rpc = async (method: string, params: object) => {
    const { body } = await post(url, '/a2a/v1/grid', { jsonrpc: '2.0', id: 1, method, params }, {
      ...bearer(key),
      'A2A-Version': '1.0',
    })
    return body.result
  }
  const { tasks: found } = await rpc('ListTasks', {})
  const tasks = []
  for (const { id } of found) tasks.push(await rpc('GetTask', { id }))
  const inbox = []
  for (;;) {
    const batch = await callTool(url, key, 'read_messages', {})
    inbox.push(...batch.messages)
    if (batch.messages.length === 0) break
  }
  return JSON.parse(JSON.stringify({ listed, tasks, inbox }, (name, value) => isOfNow(name) ? undefined : value)) as {
    tasks: unknown[]
  }
}

function isOfNow(name: string): boolean {
  return ['presence', 'last_seen'].includes(name)
}
