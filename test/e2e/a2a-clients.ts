/** Every task operation with each official A2A client, on both endpoints of a grid known only by its URL. */
import { Role, type SendMessageRequest, type StreamResponse, type Task, taskStateToJSON } from '@a2a-js/sdk'
import * as sdk03 from '@a2a-js/sdk-0.3/client'
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { callTool } from './client.ts'

interface Agent {
  /** The alias, with the `@`. */
  alias: string
  key: string
}

/** A common interface to the official clients. A stream yields an event's state, or the text of its artifact. */
export interface TaskClient {
  /** Sends without waiting. Resolves to the task's id. */
  send(text: string): Promise<string>
  stream(text: string): AsyncGenerator<string>
  /** Returns the task's state and the texts of its artifacts. */
  get(id: string): Promise<[state: string, ...artifacts: string[]]>
  /** Returns the ids of the agent's tasks. Missing if the client has no such call. */
  list?(): Promise<string[]>
  cancel(id: string): Promise<string>
  /** Sets a task's webhook. Resolves to the URLs returned by a read of it, and by a list of the task's webhooks. */
  setWebhook(id: string, url: string): Promise<string[]>
  deleteWebhook(id: string): Promise<unknown>
  subscribe(id: string): AsyncGenerator<string>
}

/** Creates a client for an endpoint. Its messages have `to` in their metadata. */
export type MakeClient = (url: string, key: string, to?: string) => Promise<TaskClient>

export const taskClients: Record<string, MakeClient> = {
  'SDK 0.3': client03,
  'SDK 1.3': (url, key, to) => client10({ url, key, to, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }),
  'SDK 1.3 with legacyCompat': (url, key, to) =>
    client10({ url, key, to, protocolBinding: 'JSONRPC', protocolVersion: '0.3' }),
  'SDK 1.3 over HTTP+JSON': (url, key, to) =>
    client10({ url, key, to, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }),
}

/** Uses each client on an agent's endpoint and on the shared endpoint. `signUp` creates the agents. */
export async function officialClients(base: string, signUp: (name: string) => Promise<Agent>): Promise<void> {
  for (const make of Object.values(taskClients)) {
    const [sender, recipient] = [await signUp('client'), await signUp('worker')]
    const alias = recipient.alias.slice(1)
    await usesTasks(base, await make(`${base}/a2a/v1/agents/${alias}/`, sender.key), recipient, 'task')
    await usesTasks(base, await make(`${base}/a2a/v1/grid`, sender.key, alias), recipient, 'receipt')
  }
}

/** Sends, streams, gets, lists, cancels and subscribes. `plain` is the expected response to a plain send. */
export async function usesTasks(
  base: string,
  client: TaskClient,
  recipient: Agent,
  plain: 'task' | 'receipt',
): Promise<void> {
  const answer = async (task_id: string, text: string) => {
    await callTool(base, recipient.key, 'read_messages')
    await callTool(base, recipient.key, 'update_task', { task_id, text })
  }

  const first = await client.send('first')
  expect(await client.get(first)).toEqual(['submitted'])
  const followed = client.subscribe(first)
  expect((await followed.next()).value).toBe('submitted')
  await answer(first, 'done')
  expect(await all(followed)).toEqual(['working', 'done', 'completed'])
  expect(await client.get(first)).toEqual(['completed', 'done'])

  const second = await client.send('second')
  const webhook = 'https://x.example/hook'
  expect(await client.setWebhook(second, webhook)).toEqual([webhook, webhook])
  await client.deleteWebhook(second)
  await client.deleteWebhook(second)
  expect(await client.cancel(second)).toBe('canceled')
  await expect(client.cancel(second)).rejects.toThrow()
  await expect(client.get(randomUUID())).rejects.toThrow()
  if (client.list) expect(await client.list()).toEqual(expect.arrayContaining([first, second]))

  const stream = client.stream('third')
  const begun = (await stream.next()).value
  if (plain === 'receipt') expect([begun, ...await all(stream)]).toEqual(['message'])
  else {
    expect(begun).toBe('submitted')
    const { messages } = await callTool(base, recipient.key, 'read_messages')
    expect(messages).toMatchObject([{ message: 'third' }])
    expect((await stream.next()).value).toBe('working')
    await answer(messages[0].task_id, 'streamed')
    expect(await all(stream)).toEqual(['streamed', 'completed'])
  }
  await callTool(base, recipient.key, 'read_messages')
}

async function client03(url: string, key: string, to?: string): Promise<TaskClient> {
  const fetchImpl = fetchAs(key)
  const factory = new sdk03.ClientFactory({ transports: [new sdk03.JsonRpcTransportFactory({ fetchImpl })] })
  const client = await factory.createFromAgentCard({
    ...cardFields,
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
  })
  const params = (text: string) => ({
    message: {
      kind: 'message' as const,
      messageId: randomUUID(),
      role: 'user' as const,
      parts: [{ kind: 'text' as const, text }],
      metadata: to === undefined ? undefined : { to },
    },
  })
  // deno-lint-ignore no-explicit-any -- the union of all events
  const events = async function* (stream: AsyncGenerator<any>) {
    for await (const event of stream) yield event.artifact?.parts[0].text ?? event.status?.state ?? event.kind
  }
  return {
    async send(text) {
      const task = await client.sendMessage({ ...params(text), configuration: { blocking: false } })
      if (task.kind !== 'task') throw new Error(`${JSON.stringify(task)} is no task`)
      return task.id
    },
    stream: (text) => events(client.sendMessageStream(params(text))),
    async get(id) {
      const { status, artifacts = [] } = await client.getTask({ id })
      return [status.state, ...artifacts.map(({ parts: [part] }) => part.kind === 'text' ? part.text : part.kind)]
    },
    cancel: async (id) => (await client.cancelTask({ id })).status.state,
    async setWebhook(taskId, url) {
      await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { id: 'one', url } })
      const one = await client.getTaskPushNotificationConfig({ id: taskId })
      const all = await client.listTaskPushNotificationConfig({ id: taskId })
      return [one, ...all].map(({ pushNotificationConfig }) => pushNotificationConfig.url)
    },
    deleteWebhook: (id) => client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId: 'one' }),
    subscribe: (id) => events(client.resubscribeTask({ id })),
  }
}

interface Interface10 {
  url: string
  key: string
  to?: string
  protocolBinding: 'JSONRPC' | 'HTTP+JSON'
  protocolVersion: '1.0' | '0.3'
}

async function client10({ url, key, to, protocolBinding, protocolVersion }: Interface10): Promise<TaskClient> {
  const options = { fetchImpl: fetchAs(key), legacyCompat: { enabled: true } }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
  })
  const isLegacy = protocolVersion === '0.3'
  const card = {
    ...cardFields,
    supportedInterfaces: [{ url: url.replace(/\/$/, ''), protocolBinding, protocolVersion, tenant: '' }],
  }
  // deno-lint-ignore no-explicit-any -- a card without its optional members
  const client = await factory.createFromAgentCard(card as any)
  expect(client.protocolVersion).toBe(protocolVersion)
  const params = (text: string, returnImmediately: boolean): SendMessageRequest => ({
    tenant: '',
    configuration: {
      returnImmediately,
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      historyLength: undefined,
    },
    metadata: undefined,
    message: {
      messageId: randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: text }, filename: '', mediaType: '', metadata: undefined }],
      metadata: to === undefined ? undefined : { to },
      extensions: [],
      referenceTaskIds: [],
    },
  })
  return {
    async send(text) {
      const task = await client.sendMessage(params(text, true))
      if (!('status' in task)) throw new Error(`${JSON.stringify(task)} is no task`)
      return task.id
    },
    stream: (text) => events10(client.sendMessageStream(params(text, false))),
    async get(id) {
      const task = await client.getTask({ tenant: '', id, historyLength: undefined })
      return [stateOf(task), ...task.artifacts.map(({ parts: [part] }) => textOf(part))]
    },
    list: isLegacy ? undefined : async () => {
      const { tasks } = await client.listTasks({
        ...{ tenant: '', contextId: '', status: 0, pageSize: undefined, pageToken: '', historyLength: undefined },
        ...{ statusTimestampAfter: undefined, includeArtifacts: undefined },
      })
      return tasks.map(({ id }) => id)
    },
    cancel: async (id) => stateOf(await client.cancelTask({ tenant: '', id, metadata: undefined })),
    async setWebhook(taskId, url) {
      const config = { tenant: '', id: 'one', taskId, url, token: '', authentication: undefined }
      await client.createTaskPushNotificationConfig(config)
      const one = await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'one' })
      const { configs } = await client.listTaskPushNotificationConfig({
        tenant: '',
        taskId,
        pageSize: 10,
        pageToken: '',
      })
      return [one, ...configs].map(({ url }) => url)
    },
    deleteWebhook: (taskId) => client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'one' }),
    subscribe: (id) => events10(client.resubscribeTask({ tenant: '', id })),
  }
}

async function* events10(stream: AsyncGenerator<StreamResponse>): AsyncGenerator<string> {
  for await (const { payload } of stream) {
    if (payload?.$case === 'artifactUpdate') yield textOf(payload.value.artifact!.parts[0])
    else if (payload?.$case === 'message') yield 'message'
    else if (payload) yield stateOf(payload.value)
  }
}

/** Converts the state to its 0.3 spelling. */
function stateOf({ status }: Pick<Task, 'status'>): string {
  return taskStateToJSON(status!.state).replace('TASK_STATE_', '').toLowerCase().replace('_', '-')
}

function textOf({ content }: Task['artifacts'][number]['parts'][number]): string {
  return content?.$case === 'text' ? content.value : `${content?.$case}`
}

/** The members that a card must have besides its URL. */
const cardFields = {
  name: 'Bob',
  description: 'Replies.',
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: true, extensions: [] },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}

function fetchAs(key: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('Authorization', `Bearer ${key}`)
    return fetch(input, { ...init, headers })
  }
}

async function all<T>(items: AsyncGenerator<T>): Promise<T[]> {
  const found = []
  for await (const item of items) found.push(item)
  return found
}
