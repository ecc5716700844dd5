/** Remote agents that report a message's progress. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { callTool } from '../../support/mcp.ts'
import { type Answer, type RemoteAgent, remoteAgent, type RemoteCall, taskResult } from '../../support/remote-agent.ts'
import { sdkAgent, type SdkAgentOptions, sdkCompleted, sdkMessage, sdkTask } from '../../support/sdk-agent.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

let grid: LiveGrid
let outboxes: TestOutboxes

beforeEach(async () => {
  grid = await liveGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  outboxes = new TestOutboxes(grid.store)
})
afterEach(async () => {
  await outboxes.stop()
  await grid.close()
})

async function send(remoteUrl: string): Promise<string> {
  await callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias: 'robot', type: 'a2a', remoteUrl })
  return (await callTool(grid, grid.alice.key, 'send_message', { to: '@robot', message: 'hi' })).text.message_id
}

async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  await outboxes.run()
  await outboxes.settled()
}

const read = async () => (await callTool(grid, grid.alice.key, 'read_messages')).text

const variants: SdkAgentOptions[] = [{}, { streaming: false }, { binding: 'HTTP+JSON' }, { version: '0.3' }]

test.each(variants)(
  'an agent built with the official SDK (%j) reports a change of its task, and is polled immediately',
  async (options) => {
    let finish = () => {}
    const finishing = new Promise<void>((resolve) => finish = resolve)
    const remote = await sdkAgent(async (context, bus) => {
      bus.publish(sdkTask(context))
      await finishing
      bus.publish(sdkCompleted('done', context))
      bus.finished()
    }, options)
    const message_id = await send(remote.url)
    await step()
    await step()
    expect(await read()).toEqual([])

    finish()
    // The clock does not advance, so only a callback can make a poll due.
    const answers = await waitFor('the answer', async () => {
      await step()
      const messages = await read()
      return messages.length > 0 && messages
    })

    expect(answers).toMatchObject([{ message: 'done', reply_to_message_id: message_id }])
    await remote.close()
  },
)

test.each(variants)('an agent built with the official SDK (%j) answers with a message', async (options) => {
  const remote = await sdkAgent((context, bus) => {
    bus.publish(sdkMessage('at once', context))
    bus.finished()
    return Promise.resolve()
  }, options)
  const message_id = await send(remote.url)

  await step()

  expect(await read()).toMatchObject([{ message: 'at once', reply_to_message_id: message_id }])
  await remote.close()
})

/** Starts a remote agent whose task keeps working until a test ends it. Only the tests send the agent's callbacks. */
async function working() {
  const state: { isDone: boolean; looks: number; duringLook?: () => Promise<void> } = { isDone: false, looks: 0 }
  const answer = async ({ method }: RemoteCall): Promise<Answer> => {
    if (method === 'SendMessage') return taskResult('t1', 'WORKING')
    state.looks++
    const is = state.isDone ? 'COMPLETED' : 'WORKING'
    await state.duringLook?.()
    return taskResult('t1', is, { isLook: true, said: 'done' })
  }
  const remote = await remoteAgent(answer, { capabilities: { pushNotifications: true } })
  const message = await send(remote.url)
  await step()
  return { remote, state, message, ...configOf(remote) }
}

function configOf(remote: RemoteAgent): { url: string; token: string } {
  const { configuration } = remote.calls.at(-1)!.params as {
    configuration?: { taskPushNotificationConfig?: { url: string; token: string } }
  }
  return configuration?.taskPushNotificationConfig ?? { url: '', token: '' }
}

const post = (url: string, headers: Record<string, string>, body = '{"statusUpdate":{"status":"COMPLETED"}}') =>
  fetch(url, { method: 'POST', headers, body })

test.each(['Authorization', 'X-A2A-Notification-Token'])(
  'a callback with its token in %s only triggers a poll',
  async (name) => {
    const { remote, state, url, token } = await working()
    const headers = { [name]: name === 'Authorization' ? `Bearer ${token}` : token }

    const answer = await post(url, headers)
    await step()
    expect([answer.status, await answer.text(), state.looks]).toEqual([204, '', 1])
    expect(await read()).toEqual([])

    state.isDone = true
    await post(url, headers)
    await step()
    expect(await read()).toMatchObject([{ message: 'done' }])
    // A task that has ended is not polled again.
    expect((await post(url, headers)).status).toBe(204)
    await step()
    expect(state.looks).toBe(2)
    await remote.close()
  },
)

test("a callback that arrives before the send's response is stored is accepted", async () => {
  const statuses: number[] = []
  const remote = await remoteAgent(async ({ method, params: { configuration } }) => {
    if (method !== 'SendMessage') return taskResult('t1', 'COMPLETED', { isLook: true, said: 'done' })
    const { taskPushNotificationConfig: { url, token } } = configuration as Record<string, Record<string, string>>
    for (const shown of [token, `${token.slice(0, -1)}-`]) {
      statuses.push((await post(url, { Authorization: `Bearer ${shown}` })).status)
    }
    return taskResult('t1', 'WORKING')
  }, { capabilities: { pushNotifications: true } })
  await send(remote.url)

  await step()
  await step(1_000)

  expect(statuses).toEqual([204, 404])
  expect(await read()).toMatchObject([{ message: 'done' }])
  await remote.close()
})

test('a callback with a missing or wrong token or message gets the response for an unknown message', async () => {
  const { remote, state, url, token } = await working()
  const unknown = crypto.randomUUID()

  const answers = await Promise.all([
    post(url, {}),
    post(url, { Authorization: 'Bearer nonsense' }),
    post(url.replace(/[^/]*$/, unknown), { Authorization: `Bearer ${token}` }),
    post(url.replace(/[^/]*$/, unknown), { Authorization: 'Bearer nonsense' }, 'x'.repeat(1_000_000)),
  ])
  await step()

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404])
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(['', '', '', ''])
  expect(state.looks).toBe(0)
  await remote.close()
})

test('a callback during a poll triggers another poll', async () => {
  const { remote, state, url, token } = await working()
  state.duringLook = async () => {
    state.duringLook = undefined
    // The task ends only after the response to this poll, which therefore still reports it as working.
    grid.clock.now++
    await post(url, { Authorization: `Bearer ${token}` })
    state.isDone = true
  }
  await step(1_000)
  expect(state.looks).toBe(1)

  await step()

  expect(await read()).toMatchObject([{ message: 'done' }])
  await remote.close()
})

test('a server that refuses callbacks gets the message without a callback', async () => {
  const remote = await remoteAgent(
    ({ params }) =>
      params.configuration && 'taskPushNotificationConfig' in (params.configuration as object)
        ? { error: { code: -32602, message: 'This address is not allowed' } }
        : taskResult('t1', 'COMPLETED', { said: 'ok' }),
    { capabilities: { pushNotifications: true } },
  )
  await send(remote.url)

  await step()

  expect(await read()).toMatchObject([{ message: 'ok' }])
  await remote.close()
})

test('every attempt to send a message uses the same callback', async () => {
  const remote = await remoteAgent(() => ({ status: 503 }), { capabilities: { pushNotifications: true } })
  await send(remote.url)
  await step()
  const first = configOf(remote)
  await step(5_000)

  expect(remote.calls).toHaveLength(2)
  expect([first.token, configOf(remote)]).toEqual([expect.stringMatching(/^[\w-]{43}$/), first])
  await remote.close()
})

test.each([
  ['an agent that does not push', {}, undefined],
  ['a grid that others cannot reach', { capabilities: { pushNotifications: true } }, 'http://127.0.0.1:1'],
])('no callback is given to %s', async (_, card, baseUrl) => {
  const remote = await remoteAgent(() => taskResult('t1', 'WORKING'), card)
  await send(remote.url)
  // Private addresses are allowed in tests, so a URL that is never allowed stands for one that others cannot reach.
  if (baseUrl !== undefined) {
    Object.assign(grid.deps, { config: { ...grid.deps.config, baseUrl: 'http://user@127.0.0.1' } })
  }

  await step()

  expect(configOf(remote).url).toBe('')
  await remote.close()
})
