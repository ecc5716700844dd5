/** A framework that knows only an agent's URL and a key. `npm run lab -- a2a-clients` tests all known frameworks. */
import process from 'node:process'
import { expect, test } from 'vitest'
import { faultsOf, frameworks, runDriver } from '../../scripts/a2a-clients/frameworks.ts'
import { updateAgent } from '../../src/grid/agents/agent-settings.ts'
import { startResponder } from '../support/responder.ts'
import { liveGrid } from '../support/server.ts'

test('the AI SDK sends to an agent that is an MCP client, and gets its answer as a stream', async () => {
  const grid = await liveGrid()
  await updateAgent(grid.acme.store, { agent: 'bob', visibility: 'public', callersWait: 'yes' })
  const responder = await startResponder({ url: grid.url, key: grid.bob.key })
  const agent = { url: `${grid.url}/a2a/v1/agents/bob/`, key: grid.alice.key }

  const outcome = await runDriver(process.execPath, 'scripts/a2a-clients/vercel.mjs', frameworks.vercel, agent)

  expect(faultsOf(frameworks.vercel, outcome)).toEqual([])
  expect(responder.faults).toEqual([])
  await responder.stop()
})
