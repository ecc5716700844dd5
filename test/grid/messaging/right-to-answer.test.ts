/**
 * An agent that received a message from another account may write back. See docs/protocol/messages.md, "Right to
 * answer". `test/isolation.test.ts` and `test/isolation-verbs.test.ts` test what remains forbidden.
 */
import { beforeEach, expect, test } from 'vitest'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { deleteAgent } from '../../../src/grid/agents/agents.ts'
import { sendMessage } from '../../../src/grid/messaging/send-message.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { postA2a, send03 } from '../../support/a2a.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'

/** A public agent of Evil. Acme's alice is private. */
let desk: TestAgent
let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
  desk = await grid.evil.agent('desk', { visibility: 'public' })
})

const notFound = (to: string) => `Agent '@${to}' not found. Use list_agents to see the agents you can write to.`

test("reply_to of a message from another account's private agent works, over MCP and A2A", async () => {
  await send(grid.alice, 'desk', 'question')
  const [question] = (await callTool(grid, desk.key, 'read_messages')).text

  const answered = await callTool(grid, desk.key, 'send_message', {
    to: question.reply_to,
    message: 'answer',
    reply_to_message_id: question.message_id,
  })
  const overA2a = await postA2a(grid, desk.key, send03({ metadata: { to: question.user } }))
  const { text: messages } = await callTool(grid, grid.alice.key, 'read_messages')

  expect(question).toMatchObject({ user: '@alice', reply_to: '@alice' })
  // The receipt reveals nothing about the recipient, as for every agent of another account.
  expect(answered.text).toEqual({
    message_id: expect.any(String),
    timestamp: expect.any(String),
    recipient: '@alice',
    unread: 0,
  })
  expect(overA2a.body.result.parts[0].text).toBe('Message delivered to @alice')
  expect(messages).toMatchObject([
    { user: '@desk', message: 'answer', reply_to_message_id: question.message_id },
    { user: '@desk', message: 'hi' },
  ])
})

test("only a message's recipient can answer, only the sender can be answered, and search finds neither", async () => {
  const attempts = async () => [
    await send(desk, 'alice', 'hi'),
    await send(desk, 'bob', 'hi'),
    await send(grid.eve, 'alice', 'hi'),
  ]
  const before = await attempts()
  await send(grid.alice, 'desk', 'question')
  const [answer, ...others] = await attempts()
  const found = await callTool(grid, desk.key, 'list_agents', { public: true })

  expect(before.map(({ code }) => code)).toEqual(Array(3).fill('recipient_not_found'))
  expect(answer.code).toBeUndefined()
  expect(others.map(({ message }) => message)).toEqual([notFound('bob'), notFound('alice')])
  expect(found.text).toEqual([])
})

test.each(
  [
    ['block_list', ['desk'], 'recipient_not_found'],
    ['block_list', ['eve'], undefined],
    ['allow_list', ['eve'], undefined],
  ] as const,
)('an answer to an agent with %s %j gets %s', async (accessPolicy, accessList, code) => {
  await send(grid.alice, 'desk', 'question')

  for (const visibility of ['public', 'private'] as const) {
    await updateAgent(grid.acme.store, { agent: 'alice', visibility, accessPolicy, accessList: [...accessList] })
    expect((await send(desk, 'alice', 'answer')).code).toBe(code)
  }
})

test('an answer is refused if its recipient blocks the answering agent during the send', async () => {
  await send(grid.alice, 'desk', 'question')
  const account = storeOf(grid, desk, grid.evil)
  let isFirst = true
  const blocking: AccountStore = {
    ...account,
    async write(statements) {
      if (isFirst) {
        await updateAgent(grid.acme.store, { agent: 'alice', accessPolicy: 'block_list', accessList: ['desk'] })
      }
      isFirst = false
      return await account.write(statements)
    },
  }

  const sending = sendMessage(blocking, { agentId: desk.id, alias: 'desk' }, { to: 'alice', text: 'answer' })

  await expect(sending).rejects.toMatchObject({ code: 'recipient_not_found' })
  expect((await callTool(grid, grid.alice.key, 'read_messages')).text).toEqual([])
})

test('the right to answer does not extend to a new agent with the same alias', async () => {
  await send(grid.alice, 'desk', 'question')
  await deleteAgent(grid.acme.store, 'alice')
  await grid.acme.agent('alice')

  expect((await send(desk, 'alice', 'answer')).code).toBe('recipient_not_found')
})

function send(from: TestAgent, to: string, message: string) {
  return callTool(grid, from.key, 'send_message', { to: `@${to}`, message })
}
