/** Arguments as models write them, with alternative names. */
import { beforeEach, expect, test } from 'vitest'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, eras, mcp, sendWire, wireRequest } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const asAlice = (name: string, args: Record<string, unknown>) => callTool(grid, grid.alice.key, name, args)
const asBob = (name: string, args: Record<string, unknown> = {}) => callTool(grid, grid.bob.key, name, args)

test.each([
  ['list_agents', { skill: 'faq' }, ['skill']],
  ['send_message', { to: 'bob', message: 'hi', cc: '@carol', subject: 'x' }, ['cc', 'subject']],
  ['list_channels', { toString: 1 }, ['toString']],
  ['list_channels', { wait_seconds: { toString: 1 } }, ['wait_seconds']],
])('%s with %j ignores unknown arguments, and lists them in the result', async (name, args, ignored) => {
  const { code, whole } = await asAlice(name, args)

  expect([code, whole.ignored]).toEqual([undefined, ignored])
})

test('an unknown argument similar to a known one is refused, and the error suggests the known one', async () => {
  const { code, message } = await asAlice('send_message', { to: 'bob', message: 'hi', waitSeconds: 5 })

  expect([code, message]).toEqual([
    'invalid_input',
    'send_message has no argument waitSeconds. Did you mean wait_seconds?',
  ])
})

test('an object is refused for a numeric argument, even if it cannot be converted to a string', async () => {
  expect((await asBob('read_messages', { wait_seconds: { toString: 1 } })).code).toBe('invalid_input')
})

test('a limit above the maximum is reduced to the maximum, and the result says so', async () => {
  expect((await asBob('read_messages', { limit: 1_000 })).whole).toMatchObject({ messages: [], clipped: { limit: 50 } })
})

test('every agent tool lists ignored arguments in its result, and every admin tool refuses unknown ones', async () => {
  const toolsOf = async (key: string) => (await mcp(grid, key, 'tools/list')).body.result.tools as { name: string }[]
  for (const { name } of await toolsOf(grid.acme.adminKey)) {
    const { code, message } = await callTool(grid, grid.acme.adminKey, name, { zzz: 1 })
    expect([name, code, message]).toEqual([
      name,
      'invalid_input',
      expect.stringContaining(`${name} has no argument zzz. It takes `),
    ])
  }
  const given: Record<string, object> = {
    send_message: { to: 'bob', message: 'hi' },
    search_messages: { query: 'hi' },
    set_skills: { skills: ['tax'] },
    reserve: { names: ['src/**'] },
  }
  const needAnId = ['message_status', 'retract_message', 'read_part', 'update_task']
  for (const { name } of await toolsOf(grid.alice.key)) {
    if (needAnId.includes(name)) continue
    const { whole } = await asAlice(name, { ...given[name], zzz: 1 })
    expect([name, whole.ignored]).toEqual([name, ['zzz']])
  }
})

test("null and empty strings in a list's entries count as absent", async () => {
  const skills = [{ name: 'tax', description: null }, { name: 'law', description: '' }, 'art']
  const { code } = await asAlice('set_skills', { skills: JSON.stringify(skills) })
  const { text } = await asAlice('list_skills', {})

  expect([code, text.map(({ name }: { name: string }) => name)]).toEqual([undefined, ['art', 'law', 'tax']])
})

test.each(eras)('in the %s era, a number with too many digits is a tool error that names its path', async (era) => {
  const { headers, body } = wireRequest(era, 'tools/call', {
    name: 'send_message',
    arguments: { to: 'bob', message: 'hi', parts: [{ data: { id: 'ID' } }] },
  })
  const answer = await sendWire(grid, grid.alice.key, {
    headers,
    body: JSON.stringify(body).replace('"ID"', '1915883588174806058'),
  })
  const written = await asAlice('send_message', { to: 'bob', message: 'hi', parts: '[{"data":[1e400]}]' })

  expect(answer).toMatchObject({ status: 200, body: { id: 1, result: { isError: true } } })
  expect(answer.body.result.content[0].text).toContain(
    'parts.0.data.id has more digits than a number keeps. Send it as text.',
  )
  expect(written.message).toBe('parts.0.data.0 has more digits than a number keeps. Send it as text.')
  expect((await asBob('read_messages')).text).toEqual([])
})

test("an admin call whose number has too many digits is logged as refused, and other methods get an error with the request's id", async () => {
  const send = (key: string, message: string) =>
    sendWire(grid, key, { headers: wireRequest('legacy', 'ping').headers, body: message })
  const call = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"admin_delete_agent","arguments":'
  const refused = await send(grid.acme.adminKey, `${call}{"id":1915883588174806058}}}`)
  const prompt = await send(
    grid.alice.key,
    '{"jsonrpc":"2.0","id":8,"method":"prompts/list","params":{"_meta":{"n":1915883588174806058}}}',
  )
  const text = await send(grid.alice.key, `${call.replace('admin_delete_agent', 'list_agents')}"{\\"n\\":1e999}"}}`)

  expect(refused.body).toMatchObject({ id: 7, result: { isError: true } })
  expect(
    await rows(grid, "SELECT outcome FROM activity WHERE account_id = ? AND tool = 'admin_delete_agent'", [
      grid.acme.id,
    ]),
  )
    .toMatchObject([{ outcome: 'invalid_input' }])
  expect(prompt.body).toMatchObject({
    id: 8,
    error: { code: -32602, message: 'params._meta.n has more digits than a number keeps. Send it as text.' },
  })
  expect(text.body).toMatchObject({ id: 7, error: { code: -32602 } })
})

test('the error for an unknown argument of a tool without arguments says that it takes none', async () => {
  const { message } = await callTool(grid, grid.acme.adminKey, 'admin_list_guardrail_providers', { all: true })

  expect(message).toBe('admin_list_guardrail_providers has no argument all. It takes none.')
})

test('agent and admin tools accept a number or a boolean given as a string', async () => {
  for (const message of ['one', 'two']) await asAlice('send_message', { to: 'bob', message })

  expect((await asBob('read_messages', { limit: '1', peek: 'true' })).text).toHaveLength(1)
  expect((await asBob('read_messages', { limit: '1' })).text).toMatchObject([{ message: 'one' }])
  expect((await callTool(grid, grid.acme.adminKey, 'admin_list_agents', { limit: '1' })).text.agents).toHaveLength(1)
})

test.each([['limit', '0'], ['limit', '-1'], ['limit', '1e1'], ['peek', 'yes']])(
  'the argument %s is still refused with the string %j',
  async (name, value) => {
    expect((await asBob('read_messages', { [name]: value })).code).toBe('invalid_input')
  },
)

test('a string of digits stays a string where a string is expected', async () => {
  await asAlice('send_message', { to: 'bob', message: '5' })

  expect((await asBob('read_messages')).text).toMatchObject([{ message: '5' }])
})

test('send_message accepts an alias in reply_to as the recipient, and an id in reply_to as reply_to_message_id', async () => {
  const { text: sent } = await asAlice('send_message', { to: 'bob', message: 'question' })
  await asBob('send_message', { reply_to: '@alice', message: 'to' })
  await asBob('send_message', { to: '@alice', reply_to: sent.message_id, message: 'id' })

  expect((await asAlice('read_messages', {})).text).toMatchObject([
    { message: 'to', reply_to: '@bob' },
    { message: 'id', reply_to_message_id: sent.message_id },
  ])
})

test('send_message refuses a reply_to that differs from to', async () => {
  const { code, message } = await asAlice('send_message', { to: 'bob', reply_to: '@eve', message: 'hi' })

  expect([code, message]).toEqual(['invalid_input', 'reply_to and to differ. Give to alone.'])
})

test('admin tools accept an id under the name that creation results use', async () => {
  const admin = (name: string, args: object = {}) => callTool(grid, grid.acme.adminKey, name, { ...args })
  const { agent_id } = (await admin('admin_create_agent', { alias: 'carol' })).text
  const { channel_id } = (await admin('admin_create_channel', { name: 'general' })).text

  const members = await admin('admin_set_channel_members', { channel_id, members: [agent_id] })
  const skills = await admin('admin_set_agent_skills', { agent_id, skills: ['tax'] })
  const guardrails = await admin('admin_set_agent_guardrails', { agent_id, guardrails: [] })
  const foreign = await callTool(grid, grid.evil.adminKey, 'admin_delete_agent', { agent_id })
  const deleted = [
    await admin('admin_delete_channel', { channel_id }),
    await admin('admin_delete_agent', { agent_id }),
  ]

  expect(members.text).toMatchObject({ channel: { id: channel_id }, members: ['@carol'] })
  expect([skills.text.agent.alias, guardrails.text.agent.alias]).toEqual(['@carol', '@carol'])
  expect(foreign.code).toBe('agent_not_found')
  expect(deleted.map(({ text }) => text.id)).toEqual([channel_id, agent_id])
})

test('admin tools accept a new alias with @ and spaces, and their schemas say so', async () => {
  const { text } = await callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias: ' @carol ' })
  const { body } = await mcp(grid, grid.acme.adminKey, 'tools/list')
  const patternOf = (tool: string, parameter: string) =>
    new RegExp(
      body.result.tools.find(({ name }: { name: string }) => name === tool).inputSchema.properties[parameter].pattern,
    )

  expect(text.agent.alias).toBe('@carol')
  expect(patternOf('admin_create_agent', 'alias').test('@carol')).toBe(true)
  expect(patternOf('admin_create_channel', 'name').test('#general')).toBe(true)
  expect(patternOf('admin_create_agent', 'alias').test('Carol')).toBe(false)
})

test('a null argument counts as absent', async () => {
  await asAlice('send_message', { to: 'bob', message: 'one', reply_to: null, idempotency_key: null })

  expect((await asBob('read_messages', { since: null, limit: null, message_id: null })).text).toHaveLength(1)
  expect(await asAlice('send_message', { to: null, message: 'two' })).toMatchObject({ message: 'to is missing.' })
})

test.each([
  ['1h', ['new', 'newest']],
  ['60 Minutes', ['new', 'newest']],
  ['1 hour ago', ['new', 'newest']],
  ['2 days', ['old', 'new', 'newest']],
  ['2026-11-21T09:30:00+01:00', ['new', 'newest']],
  ['2026-11-21 08:30', ['new', 'newest']],
  ['2026-11-21', ['old', 'new', 'newest']],
])('read_messages understands since %s', async (since, expected) => {
  const noon = Date.parse('2026-11-21T09:00:00Z')
  for (const [message, at] of [['old', noon - 7_200_000], ['new', noon - 60_000], ['newest', noon]] as const) {
    grid.clock.now = at
    await asAlice('send_message', { to: 'bob', message })
  }
  const { text } = await asBob('read_messages', { since })

  expect(text.map(({ message }: { message: string }) => message)).toEqual(expected)
})

test('read_messages with a message id as since returns the later messages', async () => {
  const { text: first } = await asAlice('send_message', { to: 'bob', message: 'one' })
  await asAlice('send_message', { to: 'bob', message: 'two' })
  const { text } = await asBob('read_messages', { since: first.message_id })
  const foreign = await callTool(grid, grid.eve.key, 'read_messages', { since: first.message_id })

  expect(text).toMatchObject([{ message: 'two' }])
  expect(foreign.code).toBe('message_not_found')
})

test.each(eras)(
  'in the %s era, the instructions tell the agent its name and its number of unread messages',
  async (era) => {
    const instructions = async () => {
      const connecting = era === 'modern'
        ? await mcp(grid, grid.bob.key, 'server/discover', {}, era)
        : await mcp(grid, grid.bob.key, 'initialize', {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'demo', version: '1' },
        })
      return connecting.body.result.instructions as string
    }

    expect(await instructions()).toContain('You are @bob. You have no unread messages.')
    await asAlice('send_message', { to: 'bob', message: 'one' })
    expect(await instructions()).toContain('You are @bob. You have 1 unread message.')
    await asAlice('send_message', { to: 'bob', message: 'two' })
    expect(await instructions()).toContain('You are @bob. You have 2 unread messages.')
  },
)
