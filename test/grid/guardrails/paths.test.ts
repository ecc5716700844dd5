/** Every way that a message can take, with every action of a guardrail on both sides. */
import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GridError } from '../../../src/errors.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { replyToMessage, writeMessage } from '../../../src/grid/conversations/write.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import type { GuardrailAction } from '../../../src/store/account/guardrails.ts'
import { postA2a, send03, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'
import { seated, type SeatedPerson } from '../../support/seats.ts'
import { askFor, storeOf } from '../../support/tasks.ts'

/** A way that a message takes from alice, or from a person. */
interface Path {
  /** The file that calls `sendMessage`. */
  door: string
  /** What finds the recipient, in `resolve.ts`. */
  recipient: string
  to: string
  /** Default: alice. */
  from?: string
  send(text: string): Promise<{ code: string | undefined; message: string | undefined }>
}

const mcpDoor = 'src/mcp/agent-tools.ts'
const a2aDoor = 'src/grid/tasks/start-task.ts'
const viaMcp = (to: string, more: () => Promise<object> = () => Promise.resolve({})) => async (message: string) =>
  await callTool(grid, grid.alice.key, 'send_message', { to, message, ...await more() })
const viaA2a = (to: string, shape: typeof send10, more: () => Promise<object> = () => Promise.resolve({})) =>
async (
  text: string,
) => {
  const part = shape === send03 ? { kind: 'text', text } : { text }
  const request = shape({ parts: [part], metadata: { to }, ...await more() })
  const { body: { error } } = await postA2a(grid, grid.alice.key, request)
  return { code: error?.data?.[0].reason.toLowerCase(), message: error?.message }
}
/** A further message of a task that bob has read. */
const continuing = async () => {
  const configuration = { returnImmediately: true }
  const { body } = await postA2a(grid, grid.alice.key, send10({ metadata: { to: '@bob' } }, { configuration }))
  await read('@bob')
  return { taskId: body.result.task.id }
}
/** A report on a task of bob, which he finds in his inbox too. */
const viaUpdate = async (text: string) => {
  const { body } = await postA2a(grid, grid.bob.key, send10({ metadata: { to: '@alice' } }))
  return await callTool(grid, grid.alice.key, 'update_task', { task_id: body.result.message.taskId, text })
}
/** A question to alice that she answers. */
const answering = (asker: () => TestAgent) => async () => {
  const { text } = await callTool(grid, asker().key, 'send_message', { to: '@alice', message: 'a question' })
  return { reply_to_message_id: text.message_id }
}
/** From a person on a page, or by a verb. */
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
const restDoor = 'src/rest/messages.ts'
const web = { door: 'src/grid/conversations/write.ts', from: 'ann-marin' }
const inConversation = () => Promise.resolve({ contextId: 'a conversation' })

const paths: Record<string, Path> = {
  'MCP direct': { door: mcpDoor, recipient: 'inboxOf', to: '@bob', send: viaMcp('@bob') },
  'MCP reply': {
    door: mcpDoor,
    recipient: 'inboxOf',
    to: '@bob',
    send: viaMcp('@bob', answering(() => grid.bob)),
  },
  'MCP channel': { door: mcpDoor, recipient: 'channel', to: '#general', send: viaMcp('#general') },
  'MCP cross-account': { door: mcpDoor, recipient: 'inboxOf', to: '@desk', send: viaMcp('@desk') },
  'MCP reply cross-account': {
    door: mcpDoor,
    recipient: 'inboxOf',
    to: '@desk',
    send: viaMcp('@desk', answering(() => desk)),
  },
  'A2A SendMessage': { door: a2aDoor, recipient: 'inboxOf', to: '@bob', send: viaA2a('@bob', send10) },
  'A2A message/send': { door: a2aDoor, recipient: 'inboxOf', to: '@bob', send: viaA2a('@bob', send03) },
  'A2A reply': { door: a2aDoor, recipient: 'inboxOf', to: '@bob', send: viaA2a('@bob', send10, inConversation) },
  'A2A further message': {
    door: a2aDoor,
    recipient: 'inboxOf',
    to: '@bob',
    send: viaA2a('@bob', send10, continuing),
  },
  'MCP update_task': {
    door: 'src/grid/tasks/update-task.ts',
    recipient: 'inboxOf',
    to: '@bob',
    send: viaUpdate,
  },
  'REST direct': { door: restDoor, recipient: 'inboxOf', to: '@bob', send: viaRest('@bob') },
  'REST channel': { door: restDoor, recipient: 'channel', to: '#general', send: viaRest('#general') },
  'REST cross-account': { door: restDoor, recipient: 'inboxOf', to: '@desk', send: viaRest('@desk') },
  'web direct': {
    ...{ ...web, recipient: 'inboxOf', to: '@bob' },
    send: viaWeb((text) => writeMessage(ann.account, { to: '@bob', text })),
  },
  'web channel': {
    ...{ ...web, recipient: 'channel', to: '#general' },
    send: viaWeb(async (text) => {
      const { recipients, leftOut } = await writeMessage(ann.account, { to: '#general', text })
      return { recipients, left_out: leftOut }
    }),
  },
  'web reply': {
    ...{ ...web, recipient: 'inboxOf', to: '@bob' },
    send: viaWeb(async (text) => {
      const asked = await callTool(grid, grid.bob.key, 'send_message', { to: '@ann-marin', message: 'a question' })
      return await replyToMessage(ann.account, { messageId: asked.text.message_id, text })
    }),
  },
  'task': {
    ...{ door: 'src/grid/tasks/start-task.ts', recipient: 'inboxOf', to: '@bob' },
    send: viaWeb((text) => askFor(storeOf(grid, grid.alice), text)),
  },
  'answer of a task': {
    ...{ door: 'src/grid/tasks/update-task.ts', recipient: 'inboxOf', to: '@bob' },
    send: viaWeb(async (text) => {
      const question = { to: '@alice', mode: 'receipt' as const }
      const { id: taskId } = await askFor(storeOf(grid, grid.bob), 'a question', question)
      return await updateTask(storeOf(grid, grid.alice), { taskId, text })
    }),
  },
  'A2A cross-account': { door: a2aDoor, recipient: 'inboxOf', to: '@desk', send: viaA2a('@desk', send10) },
}

let grid: TestGrid
let desk: TestAgent
let ann: SeatedPerson
beforeEach(async () => {
  grid = await testGrid(testProviders())
  desk = await grid.evil.agent('desk', { visibility: 'public' })
  await rows(grid, "UPDATE agents SET visibility = 'public' WHERE account_id = ? AND alias = 'alice'", [grid.acme.id])
  ann = await seated(grid, 'ann-marin')
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob', 'ann-marin'] })
})
afterEach(() => grid.close())

const actions: GuardrailAction[] = ['block', 'redact', 'flag']
const directions = ['outbound', 'inbound'] as const
const cases = Object.keys(paths).flatMap((path) =>
  actions.flatMap((action) => directions.map((direction) => ({ path, action, direction })))
)

test.each(cases)('$path: $action, $direction', async ({ path, action, direction }) => {
  const { to, send, recipient, from = 'alice' } = paths[path]
  const isForeign = to === '@desk'
  const isInbound = direction === 'inbound'
  const [account, agent] = !isInbound ? [grid.acme, from] : isForeign ? [grid.evil, 'desk'] : [grid.acme, 'bob']
  await guard(account, agent, { name: 'words', action, direction })

  expect((await send('harmless')).code).toBeUndefined()
  expect(await read(to)).toMatchObject([{ message: 'harmless' }])
  const sent = await send(`the word is ${secret}!`)

  if (action === 'block') {
    expect(await read(to)).toEqual([])
    if (isInbound && recipient === 'channel') {
      expect(sent).toMatchObject({ code: undefined, text: { recipients: 1, left_out: 1 } })
      return
    }
    expect(sent.code).toBe('guardrail_blocked')
    expect(sent.message).toContain(kind)
    expect(sent.message).not.toContain(secret)
    // A foreign sender learns only the kind of thing.
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

test('every place that sends has a path here, and every kind of recipient', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
    .map((file) => `src/${file}`)
  // A file that sends in two places needs a row for each.
  const callers = files.flatMap((file) =>
    readFileSync(file, 'utf8').match(/(?<!function )\bsendMessage\(/g)?.map((_, n) =>
      n === 0 ? file : `${file}, ${n + 1}`
    ) ?? []
  )
  const [, ...functions] = readFileSync('src/grid/messaging/resolve.ts', 'utf8').split(
    /^(?:export )?(?:async )?function /m,
  )
  const recipients = functions.filter((text) => text.includes('reached:')).map((text) => text.match(/^\w+/)![0])

  expect([...new Set(Object.values(paths).map(({ door }) => door))].sort()).toEqual(callers.sort())
  expect([...new Set(Object.values(paths).map(({ recipient }) => recipient))].sort()).toEqual(recipients.sort())
})

/** What the recipient reads, without the questions that alice answers. */
async function read(to: string) {
  const [account, { id, alias }] = to === '@desk' ? [grid.evil, desk] : [grid.acme, grid.bob]
  const actor = { type: 'agent', agentId: id, alias, credentialId: 'test' } as const
  return (await readMessages(grid.store.account(account.id, actor), {})).messages
}
