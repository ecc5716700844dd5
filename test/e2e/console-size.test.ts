/** Response times of the web pages with a very long history. Only `npm run lab -- console-size` runs the test. */
import { createClient } from '@libsql/client'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { fill } from '../../scripts/bench/fill.ts'
import { createAccount } from '../../src/grid/accounts/accounts.ts'
import type { StoredFollower } from '../../src/store/global/pulse.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { rows } from '../support/database.ts'
import { emptyGrid, type TestGrid } from '../support/grid.ts'
import { signedInByEmail } from '../support/people.ts'
import { keepFigures } from '../support/proof-log.ts'
import { pause } from './load.ts'

const messages = Number(process.env.CONSOLE_MESSAGES ?? 0)
/** The number of agents and of conversations: each agent writes a tenth of the messages, all to the next agent. */
const agents = 10
const times = 10
const pages = {
  home: '/home',
  conversations: '/conversations',
  'the older conversations': '/conversations?state=all',
  'a conversation': '/conversations/:thread',
  search: '/search?q=measurement',
  'search for one message': '/search?q=123456',
  agents: '/agents',
  activity: '/activity',
  tasks: '/tasks',
  attention: '/attention',
  network: '/network',
}

test.runIf(messages > 0)('every page responds in an account with a very long history', async () => {
  const first = await emptyGrid()
  const system = { type: 'system', job: 'test' } as const
  const { id } = await createAccount(first.store, { name: 'Acme', ownerEmail: 'ann@acme.example' }, system)
  await first.store.close()
  const url = `file:${join(first.folder, 'grid.db')}`
  const client = createClient({ url })
  await fill(client, id, { agents, messages, isLocal: true })
  client.close()

  const grid = await emptyGrid({ url }) as TestGrid
  // The generated messages are dated within the last month.
  grid.clock.now = Date.now()
  const worker = await startWorker(grid.store)
  const startedAt = performance.now()
  const followers = (await rows(grid, 'SELECT name FROM projections')).map(({ name }) => name as StoredFollower)
  const isBehind = (name: StoredFollower) => grid.store.loop.behind(name) > 0
  // Wait until all followers are up to date, without a time limit.
  do await pause(1_000)
  while (grid.store.loop.pulse === undefined || followers.some(isBehind))
  const filedSeconds = Math.round((performance.now() - startedAt) / 1_000)
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const [{ thread }] = await rows(grid, 'SELECT id AS thread FROM threads WHERE account_id = ? LIMIT 1', [id])
  const figures: Record<string, number> = { messages, filedSeconds }
  for (const [name, page] of Object.entries(pages)) {
    const took: number[] = []
    for (let n = 0; n < times; n++) {
      const startedAt = performance.now()
      const path = `/accounts/${id}${page.replace(':thread', String(thread))}`
      const { status, at } = await ann.open(path)
      took.push(performance.now() - startedAt)
      expect([at, status]).toEqual([path, 200])
    }
    figures[`${name}, ms`] = Math.round(took.sort((a, b) => a - b)[times / 2])
    figures[`${name}, slowest ms`] = Math.round(took.at(-1)!)
  }
  console.log(figures)
  await worker.stop()
  await grid.close()
  await first.close()
  keepFigures('console-size', 'node', 0, figures)
}, 1_800_000)
