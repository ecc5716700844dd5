/** Two grids whose agents reach each other by their cards' URLs. */
import { expect, test } from 'vitest'
import { callTool } from '../../support/mcp.ts'
import { liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

test('a message reaches another grid as a task, and its answer returns', async () => {
  const env = { ALLOW_PRIVATE_TARGETS: '1' }
  const [here, there] = [await liveGrid({ env }), await liveGrid({ env })]
  // Each grid knows the other grid's bob as @far-bob, and calls it with the key of the other grid's agent @caller.
  for (const [grid, other] of [[here, there], [there, here]]) {
    const caller = await other.acme.agent('caller')
    const { text } = await callTool(grid, grid.acme.adminKey, 'admin_create_agent', {
      alias: 'far-bob',
      type: 'a2a',
      remoteUrl: `${other.deps.config.baseUrl}/a2a/v1/agents/bob`,
      remoteToken: caller.key,
    })
    expect(text.card).toMatchObject({ endpoint: { version: '1.0', binding: 'JSONRPC' } })
  }
  const outboxes = [new TestOutboxes(here.store), new TestOutboxes(there.store)]
  const step = async () => {
    for (const grid of [here, there]) grid.clock.now += 1_000
    for (const one of outboxes) await one.run()
    for (const one of outboxes) await one.settled()
  }
  const readAs = async (grid: typeof here, key: string) => {
    await step()
    return (await callTool(grid, key, 'read_messages')).text
  }

  const question =
    (await callTool(here, here.alice.key, 'send_message', { to: '@far-bob', message: '6 times 7?' })).text
  const [asked] = await waitFor('the question', async () => {
    const messages = await readAs(there, there.bob.key)
    return messages.length > 0 && messages
  })
  expect(asked).toMatchObject({ user: '@caller', message: '6 times 7?', task_id: expect.any(String) })
  await callTool(there, there.bob.key, 'send_message', {
    to: asked.reply_to,
    message: '42',
    reply_to_message_id: asked.message_id,
  })
  const [answer] = await waitFor('the answer', async () => {
    const messages = await readAs(here, here.alice.key)
    return messages.length > 0 && messages
  })
  expect(answer).toMatchObject({ user: '@far-bob', message: '42', reply_to_message_id: question.message_id, hops: 1 })

  for (const one of outboxes) await one.stop()
  for (const grid of [here, there]) await grid.close()
})

test('two grids stop a message that they would send to each other endlessly', async () => {
  const env = { ALLOW_PRIVATE_TARGETS: '1' }
  const [here, there] = [await liveGrid({ env }), await liveGrid({ env })]
  for (const [grid, other] of [[here, there], [there, here]]) {
    const caller = await other.acme.agent('caller')
    await callTool(grid, grid.acme.adminKey, 'admin_create_agent', {
      alias: 'mirror',
      type: 'a2a',
      remoteUrl: `${other.deps.config.baseUrl}/a2a/v1/agents/mirror/`,
      remoteToken: caller.key,
    })
  }
  const outboxes = [new TestOutboxes(here.store), new TestOutboxes(there.store)]
  const { message_id } = (await callTool(here, here.alice.key, 'send_message', { to: '@mirror', message: 'hi' })).text

  const [words, notice] = await waitFor('the end of the circle', async () => {
    for (const grid of [here, there]) grid.clock.now += 1_000
    for (const one of outboxes) await one.run()
    for (const one of outboxes) await one.settled()
    const { text } = await callTool(here, here.alice.key, 'read_messages', { peek: true })
    return text.length === 2 && text
  })

  expect(words).toMatchObject({ type: 'agent', reply_to_message_id: message_id })
  expect(words.message).toContain('It has crossed 8 grids')
  expect(notice).toMatchObject({ type: 'system', reply_to_message_id: message_id })
  for (const one of outboxes) await one.stop()
  for (const grid of [here, there]) await grid.close()
})
