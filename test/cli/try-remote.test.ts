/** `agent-grid try-remote`. */
import { expect, test } from 'vitest'
import type { StoreCommand } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/commands.ts'
import { testGrid } from '../support/grid.ts'
import { messageResult, remoteAgent } from '../support/remote-agent.ts'

const command = findCommand('try-remote') as StoreCommand

test("try-remote shows the card's content and the agent's answer", async () => {
  const grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  const remote = await remoteAgent(() => messageResult('Hello back.'))

  const result = await command.run(grid.store, { url: remote.url, token: 'secret', text: 'Hello' })

  expect(remote.calls[0].params.message!.parts).toEqual([{ text: 'Hello' }])
  expect(remote.calls[0].headers.authorization).toBe('Bearer secret')
  const printed = command.print(result)
  expect(printed).toMatch(
    /Card +Remote, from .*agent-card\.json\nEndpoint +.*\/rpc \(A2A 1\.0, JSONRPC\)\nAnswer +completed/,
  )
  expect(printed).toContain('Hello back.')
  expect(printed).not.toContain('secret')
  await remote.close()
})

test.each([
  ['no card', 'http://127.0.0.1:1', 'No card was found there (refused).'],
  ['a private address', 'http://10.0.0.1/', 'No card was found there (refused).'],
])('try-remote describes the problem: %s', async (_, url, problem) => {
  const grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: url.includes('127') ? '1' : '' } })

  expect(command.print(await command.run(grid.store, { url }))).toContain(problem)
})
