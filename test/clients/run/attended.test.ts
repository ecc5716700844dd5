import { afterEach, beforeEach, expect, test } from 'vitest'
import { GridClient } from '../../../src/clients/grid-client.ts'
import { echo } from '../../support/children.ts'
import { runnerFolder, startRunner } from '../../support/runner.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: LiveGrid
let place: ReturnType<typeof runnerFolder>

beforeEach(async () => {
  place = runnerFolder()
  grid = await liveGrid()
})

afterEach(async () => {
  await grid.close()
  place.remove()
})

test("a runner does not read the inbox while a person's session on another machine is open", async () => {
  const client = (key: string) => new GridClient({ url: grid.url, key })
  const session = new AbortController()
  let isOpen = false
  const attending = (async () => {
    const options = { attended: 'claude', signal: session.signal }
    for await (const _ of client(grid.bob.key).wakeStream(options)) isOpen = true
  })()
  await waitFor('the session', () => isOpen)
  await client(grid.alice.key).send({ to: '@bob', message: 'Six times seven?' }, 'first')
  const runner = startRunner(grid.url, place.folder, [place.program('echo', echo), '42'], { key: grid.bob.key })
  try {
    await waitFor('the stand-by', () => runner.log.some((line) => line.includes('A person attends')))
    expect((await client(grid.bob.key).peek()).unread).toBe(1)

    session.abort()
    await attending
    const { messages } = await waitFor('the answer', async () => {
      const peeked = await client(grid.alice.key).peek({ summary: false })
      return peeked.unread > 0 && peeked
    })
    expect(messages[0]).toMatchObject({ user: '@bob', message: '42' })
  } finally {
    await runner.stop()
  }
})
