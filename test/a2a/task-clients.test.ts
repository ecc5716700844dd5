/** The official clients with tasks, over a socket. `test/e2e` tests the same on each runtime. */
import { beforeAll, expect, test } from 'vitest'
import { type MakeClient, taskClients, usesTasks } from '../e2e/a2a-clients.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let grid: LiveGrid
beforeAll(async () => {
  grid = await liveGrid()
})

const each = Object.entries(taskClients)

test.each(each)("the client %s can use tasks at an agent's endpoint", async (_, make: MakeClient) => {
  const client = await make(`${grid.url}/a2a/v1/agents/bob/`, grid.alice.key)

  await expect(usesTasks(grid.url, client, { ...grid.bob, alias: '@bob' }, 'task')).resolves.toBeUndefined()
})

test.each(each)(
  'the client %s can use tasks at the shared endpoint, where a stream is a single confirmation',
  async (_, make: MakeClient) => {
    const client = await make(`${grid.url}/a2a/v1/grid`, grid.alice.key, 'bob')

    await expect(usesTasks(grid.url, client, { ...grid.bob, alias: '@bob' }, 'receipt')).resolves.toBeUndefined()
  },
)
