/** Every path of a message, with every guardrail action on both sides. */
import { beforeEach, expect, test } from 'vitest'
import { GridError } from '../../../src/errors.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import type { GuardrailAction } from '../../../src/store/account/guardrails.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'
import { type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

/** A path of a message from alice, or from a person. */
interface Path {
  to: string
  /** Default: alice. */
  from?: string
  send(text: string): Promise<{ code: string | undefined; message: string | undefined }>
}

const viaMcp = (to: string, more: () => Promise<object> = () => Promise.resolve({})) => async (message: string) =>
  await callTool(grid, grid.alice.key, 'send_message', { to, message, ...await more() })
const viaA2a = (to: string, more: () => Promise<object> = () => Promise.resolve({})) => async (text: string) => {
  const request = send10({ parts: [{ text }], metadata: { to }, ...await more() })
  const { body: { error } } = await postA2a(grid, grid.alice.key, request)
  return { code: error?.data?.[0].reason.toLowerCase(), message: error?.message }
}
/** Starts a task whose first message bob reads. Returns the arguments that continue the task. */
const continuing = async () => {
  const configuration = { returnImmediately: true }
  const { body } = await postA2a(grid, grid.alice.key, send10({ metadata: { to: '@bob' } }, { configuration }))
  await read('@bob')
  return { taskId: body.result.task.id }
}
/** Sends an update of bob's task. The update also reaches bob's inbox. */
const viaUpdate = async (text: string) => {
  const { body } = await postA2a(grid, grid.bob.key, send10({ metadata: { to: '@alice' } }))
  return await callTool(grid, grid.alice.key, 'update_task', { task_id: body.result.message.taskId, text })
}
/** Asks alice a question. Returns the argument with which she answers the question. */
const answering = (asker: () => TestAgent) => async () => {
  const { text } = await callTool(grid, asker().key, 'send_message', { to: '@alice', message: 'a question' })
  return { reply_to_message_id: text.message_id }
}
/** Sends as a person, on a page or with a verb. */
const viaWeb = (send: (text: string) => Promise<unknown>) => async (text: string) => {
  try {
    return { code: undefined, message: undefined, text: await send(text) }
  } catch (error) {
    if (error instanceof GridError) return { code: error.code, message: error.message }
    throw error
  }
}
const viaRest = (to: string) => async (message: string) => {
  const { body } = await callRest(grid, grid.alice.key, 'POST /api/v1/messages', { to, message })
  return { code: body.error?.code, message: body.error?.message, text: body }
}

const paths: Record<string, Path> = {
  'MCP direct': { to: '@bob', send: viaMcp('@bob') },
  'MCP channel': { to: '#general', send: viaMcp('#general') },
  'MCP cross-account': { to: '@desk', send: viaMcp('@desk') },
  'MCP reply cross-account': { to: '@desk', send: viaMcp('@desk', answering(() => desk)) },
  'A2A SendMessage': { to: '@bob', send: viaA2a('@bob') },
  'A2A further message': { to: '@bob', send: viaA2a('@bob', continuing) },
  'MCP update_task': { to: '@bob', send: viaUpdate },
  'REST direct': { to: '@bob', send: viaRest('@bob') },
  'web direct': {
    to: '@bob',
    from: 'ann-marin',
    send: viaWeb((text) => writeMessage(ann.account, { to: '@bob', text })),
  },
}

let grid: TestGrid
let desk: TestAgent
let ann: PersonWithAlias
beforeEach(async () => {
  grid = await testGrid(testProviders())
  desk = await grid.evil.agent('desk', { visibility: 'public' })
  await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ? AND alias = 'alice'", [grid.acme.id])
  ann = await personWithAlias(grid, 'ann-marin')
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'ann-marin'] })
})

const actions: GuardrailAction[] = ['block', 'redact', 'flag']
const directions = ['outbound', 'inbound'] as const
const cases = Object.keys(paths).flatMap((path) =>
  actions.flatMap((action) => directions.map((direction) => ({ path, action, direction })))
)

test.each(cases)('$path, with a guardrail action: $action, $direction', async ({ path, action, direction }) => {
  const { to, send, from = 'alice' } = paths[path]
  const isForeign = to === '@desk'
  const isInbound = direction === 'inbound'
  const [account, agent] = !isInbound ? [grid.acme, from] : isForeign ? [grid.evil, 'desk'] : [grid.acme, 'bob']
  await guard(account, agent, { name: 'words', action, direction })

  expect((await send('harmless')).code).toBeUndefined()
  expect(await read(to)).toMatchObject([{ message: 'harmless' }])
  const sent = await send(`the word is ${secret}!`)

  if (action === 'block') {
    expect(await read(to)).toEqual([])
    if (isInbound && to === '#general') {
      expect(sent).toMatchObject({ code: undefined, text: { recipients: 1, left_out: 1 } })
      return
    }
    expect(sent.code).toBe('guardrail_blocked')
    expect(sent.message).toContain(kind)
    expect(sent.message).not.toContain(secret)
    // A sender from another account is told only the kind of content.
    expect(sent.message!.includes("'words'")).toBe(!(isInbound && isForeign))
    expect(await rows(grid, 'SELECT body FROM messages WHERE account_id = ? AND body LIKE ?', [grid.acme.id, '%!%']))
      .toEqual([])
  } else {
    expect(sent.code).toBeUndefined()
    const [message] = await read(to)
    expect(message).toMatchObject({
      message: action === 'redact' ? 'the word is [redacted]!' : `the word is ${secret}!`,
      flagged: true,
    })
    expect(JSON.stringify(message).includes(secret)).toBe(action === 'flag')
  }
})

/** Returns the recipient's messages, without the questions that alice answers. */
async function read(to: string) {
  const reader = to === '@desk' ? storeOf(grid, desk, grid.evil) : storeOf(grid, grid.bob)
  return (await readMessages(reader, {})).messages
}
