/** Combines every way to send with every kind of rule condition. docs/protocol/messages.md, "Held messages". */
import { expect, test } from 'vitest'
import { heldMessages } from '../../../src/grid/approvals/held.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { deliverAnswer } from '../../../src/grid/remote-agents/answers.ts'
import type { Attempt } from '../../../src/grid/outboxes/attempt.ts'
import { sendMessage as sendAs } from '../../../src/grid/messaging/send-message.ts'
import { restRoutes } from '../../../src/rest/routes.ts'
import type { InboxMessage } from '../../../src/store/account/inbox-message.ts'
import { postA2a, send03, send10 } from '../../support/a2a.ts'
import { dump, rows } from '../../support/database.ts'
import { storeOf, testGrid } from '../../support/grid.ts'
import { guard, secret, testProviders } from '../../support/guarded.ts'
import { hold } from '../../support/held.ts'
import { lease } from '../../support/inbox.ts'
import { callTool, sendWire, wireRequest } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'
import { routesOf } from '../../support/routes.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { askFor } from '../../support/tasks.ts'

const text = `the ${secret}`
const file = { raw: btoa(secret), filename: 'a.txt', mediaType: 'text/plain' }
const large = { raw: btoa(secret.repeat(5_000)), filename: 'b.txt', mediaType: 'text/plain' }
const now = { configuration: { returnImmediately: true } }
const v10 = { 'A2A-Version': '1.0' }

/** Opens a grid. Returns it and every way to send. The title of a tool, route or endpoint begins with its name. */
async function gridWithWays() {
  const grid = await testGrid({ guardrailChecks: testProviders().guardrailChecks })
  const { acme, alice, bob } = grid
  const ann = await personWithAlias(grid, 'ann', { role: 'owner' })
  // Messages to another person can be held only with that person's consent.
  const pat = await personWithAlias(grid, 'pat')
  const consent =
    "INSERT INTO guardrail_consents (account_id, agent_id, provider, host, created_at) VALUES (?, ?, 'approvals', 'members', 1)"
  await rows(grid, consent, [acme.id, pat.personAlias.agentId])
  await createChannel(acme.store, { name: 'room', members: ['alice', 'bob'] })
  const robot = await acme.agent('robot', { type: 'a2a', remoteUrl: 'https://robot.example' })
  const tasks = await Promise.all([1, 2, 3].map((n) => askFor(storeOf(grid, bob), `task ${n}`, { to: '@alice' })))
  await callTool(grid, bob.key, 'send_message', { to: '@robot', message: 'hi' })
  const [asked] = await rows(grid, 'SELECT id FROM messages WHERE account_id = ? AND recipient = ?', [
    acme.id,
    '@robot',
  ])
  const { body: { lease_id, messages: [{ message_id: replied }] } } = await lease(grid, alice.key, {})
  for (const agent of ['alice', 'robot']) {
    await guard(acme, agent, { direction: 'outbound', name: agent, action: 'flag' })
  }

  const tool = (name: string, args: object) => callTool(grid, alice.key, name, { ...args })
  const a2a = (path: string, body: unknown) => postA2a(grid, alice.key, body, v10, path)
  const asRobot = storeOf(grid, robot)
  const attempt = { account: asRobot, system: acme.store } as unknown as Attempt
  const question = { id: String(asked.id), fromAlias: 'bob', recipient: '@robot', taskId: null } as InboxMessage
  const ways: Record<string, () => Promise<unknown>> = {
    'send_message': () => tool('send_message', { to: '@bob', message: text }),
    'send_message with a file': () => tool('send_message', { to: '@bob', message: text, parts: [file] }),
    'send_message with a large file': () => tool('send_message', { to: '@bob', message: text, parts: [large] }),
    'send_message to a channel': () => tool('send_message', { to: '#room', message: text }),
    'send_message that replies': () =>
      tool('send_message', { to: '@bob', message: text, reply_to_message_id: replied }),
    'update_task with a state': () => tool('update_task', { task_id: tasks[0].id, text, state: 'input-required' }),
    'update_task with an artifact': () =>
      tool('update_task', { task_id: tasks[1].id, text, artifact: { id: 'a', last_chunk: true } }),
    'update_task with the answer': () => tool('update_task', { task_id: tasks[2].id, text }),
    'POST /api/v1/messages': () =>
      callRest(grid, alice.key, 'POST /api/v1/messages', { to: '@bob', message: text, acks: { lease_id } }),
    '/a2a/v1/grid message/send': () => a2a('/a2a/v1/grid', send03({ parts: [{ kind: 'text', text }] })),
    '/a2a/v1/grid message/stream': () =>
      a2a('/a2a/v1/grid', { ...send03({ parts: [{ kind: 'text', text }] }), method: 'message/stream' }),
    '/a2a/v1/grid/message:send': () => a2a('/a2a/v1/grid/message:send', send10({ parts: [{ text }] }, now).params),
    '/a2a/v1/agents/x SendMessage': () => a2a('/a2a/v1/agents/bob', send10({ parts: [{ text }] }, now)),
    '/a2a/v1/agents/x with a file': () => a2a('/a2a/v1/agents/bob', send10({ parts: [{ text }, { ...file }] }, now)),
    '/a2a/v1/grid/x/message:send': () =>
      a2a('/a2a/v1/grid/bob/message:send', send10({ parts: [{ text }] }, now).params),
    '/a2a/v1/agents/x/message:send': () =>
      a2a('/a2a/v1/agents/bob/message:send', send10({ parts: [{ text }] }, now).params),
    'the answer of a remote agent': () => deliverAnswer(attempt, question, { state: 'completed', parts: [{ text }] }),
    'a person': () => writeMessage(pat.account, { to: '@bob', text }),
  }
  const inbox = () => callTool(grid, bob.key, 'read_messages')
  return { grid, ann: ann.account, ways, inbox }
}

const hasFile = (way: string) => way.includes('file')
const isOfAgent = (way: string) => way !== 'a person'

test.each<[string, Parameters<typeof hold>[1] | 'guardrail', (way: string) => boolean]>([
  ['every message of agents', {}, isOfAgent],
  ['every message of people', { fromKind: 'people' }, (way) => !isOfAgent(way)],
  ['messages with a finding', { condition: 'finding' }, isOfAgent],
  ['messages with files', { condition: 'parts', mediaType: 'text/' }, (way) => hasFile(way)],
  ['messages that a guardrail holds', 'guardrail', isOfAgent],
])('a rule for %s holds messages, whichever way they are sent', async (_, rule, isHeld) => {
  const { grid, ann, ways, inbox } = await gridWithWays()
  await inbox()
  if (rule === 'guardrail') {
    await rows(grid, `UPDATE guardrails SET action = 'hold' WHERE account_id = ?`, [grid.acme.id])
  } else await hold(grid.acme.store, rule)

  const wrong: string[] = []
  for (const [way, send] of Object.entries(ways)) {
    const before = (await heldMessages(ann)).length
    await send()
    const held = (await heldMessages(ann)).slice(before)
    const { text } = await inbox()
    const isRight = isHeld(way) ? held.length === 1 && !JSON.stringify(text).includes(secret) : held.length === 0
    if (!isRight) wrong.push(`${way}: ${held.length} held, ${JSON.stringify(text)}`)
  }
  expect(wrong).toEqual([])
})

test('every tool, route and endpoint that sends is covered', async () => {
  const { grid, ways } = await gridWithWays()
  const covered = (name: string) => Object.keys(ways).some((way) => way.startsWith(name))
  const { body } = await sendWire(grid, grid.alice.key, wireRequest('legacy', 'tools/list'))
  const tools = (body.result.tools as { name: string; inputSchema: { properties?: object } }[])
    .filter(({ inputSchema: { properties = {} } }) => 'message' in properties || 'text' in properties)
    .map(({ name }) => name)
  const routes = restRoutes.filter(({ body }) => body && 'message' in (body as unknown as { shape: object }).shape)
    .map(({ method, path }) => `${method} ${path}`)
  const endpoints = routesOf(grid).filter(({ method, path }) =>
    method === 'POST' && path.startsWith('/a2a/') && !path.endsWith('/') && !/task|Task|callback|stream$/.test(path)
  ).map(({ path }) => path)

  expect(tools).toEqual(['send_message', 'update_task'])
  expect(endpoints.length).toBeGreaterThan(3)
  expect(routes).toEqual(['POST /api/v1/messages'])
  expect([...tools, ...routes, ...endpoints].filter((name) => !covered(name))).toEqual([])
})

test('messages from the grid itself are never held', async () => {
  const { grid, ann } = await gridWithWays()
  await hold(grid.acme.store)
  const before = await dump(grid, grid.acme)
  await sendAs(grid.acme.store, { agentId: grid.alice.id, alias: 'alice' }, { to: '@bob', text })

  expect(await heldMessages(ann)).toEqual([])
  expect(await dump(grid, grid.acme)).not.toBe(before)
})
