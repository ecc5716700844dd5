/** The official clients over a socket. Each finds the card, sends a message, and understands an error. */
import { Role, type SendMessageRequest } from '@a2a-js/sdk'
import * as sdk03 from '@a2a-js/sdk-0.3/client'
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, withA2AExtensions } from '@a2a-js/sdk/client'
import { beforeEach, expect, test } from 'vitest'
import { inboxOf } from '../support/a2a.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let grid: LiveGrid
beforeEach(async () => {
  grid = await liveGrid()
})

test('the SDK 0.3 A2AClient sends a message, and gets the error for an unknown recipient', async () => {
  const client = await sdk03.A2AClient.fromCardUrl(`${grid.url}/.well-known/agent-card.json`, {
    fetchImpl: fetchAs(grid.alice.key),
  })

  const answer = await client.sendMessage(message03('bob'))
  const refusal = await client.sendMessage(message03('eve'))

  expect(answer).toMatchObject({ result: { kind: 'message', parts: [{ text: 'Message delivered to @bob' }] } })
  expect(refusal).toMatchObject({ error: { code: -32602, message: "Agent '@eve' not found" } })
  expect((await inboxOf(grid, grid.bob)).map(({ message }) => message)).toEqual(['hi'])
})

test('the SDK 0.3 ClientFactory sends a message, and gets its own error classes', async () => {
  const fetchImpl = fetchAs(grid.alice.key)
  const factory = new sdk03.ClientFactory({ transports: [new sdk03.JsonRpcTransportFactory({ fetchImpl })] })
  const client = await factory.createFromUrl(grid.url)

  const answer = await client.sendMessage(message03('bob'))

  expect(answer).toMatchObject({ kind: 'message', role: 'agent' })
  await expect(client.getTask({ id: 't-1' })).rejects.toThrow(sdk03.TaskNotFoundError)
  await expect(client.sendMessage({ message: { ...message03('bob').message, parts: [{ kind: 'data', data: {} }] } }))
    .rejects.toThrow(sdk03.ContentTypeNotSupportedError)
})

test('the streams of SDK 0.3 throw the error of a failed call or of a refused key', async () => {
  const clientOf = async (key: string) => {
    const transports = [new sdk03.JsonRpcTransportFactory({ fetchImpl: fetchAs(key) })]
    return await new sdk03.ClientFactory({ transports }).createFromUrl(grid.url)
  }
  const client = await clientOf(grid.alice.key)

  await expect(client.sendMessageStream(message03('eve')).next()).rejects.toThrow(
    "Agent '@eve' not found (Code: -32602)",
  )
  await expect(client.resubscribeTask({ id: 't-1' }).next()).rejects.toMatchObject({
    cause: expect.any(sdk03.TaskNotFoundError),
  })
  const refused = await clientOf('nonsense')
  await expect(refused.sendMessageStream(message03('bob')).next()).rejects.toThrow(/401.*not a grid key/)
})

test('SDK 1.3 sends a message in 1.0 with an activated extension, and gets the error for a missing recipient', async () => {
  const client = await newFactory(grid.alice.key).createFromUrl(grid.url)

  const answer = await client.sendMessage(message10('bob'), {
    serviceParameters: withExtension(`${grid.url}/a2a/ext/grid-routing/v1`),
  })

  expect(client.protocolVersion).toBe('1.0')
  expect(answer).toMatchObject({
    role: Role.ROLE_AGENT,
    parts: [{ content: { $case: 'text', value: 'Message delivered to @bob' } }],
  })
  await expect(client.sendMessage(message10(undefined))).rejects.toThrow("Missing 'to' in message.metadata")
  await expect(client.getTask({ tenant: '', id: 't-1', historyLength: undefined })).rejects.toMatchObject({
    reason: 'TASK_NOT_FOUND',
  })
  expect((await inboxOf(grid, grid.bob)).map(({ message }) => message)).toEqual(['hi'])
})

test('both official A2A clients report a refused key', async () => {
  const fetchImpl = fetchAs('nonsense')
  const in03 = await new sdk03.ClientFactory({ transports: [new sdk03.JsonRpcTransportFactory({ fetchImpl })] })
    .createFromUrl(grid.url)
  const in10 = await newFactory('nonsense').createFromUrl(grid.url)

  await expect(in03.sendMessage(message03('bob'))).rejects.toThrow(/not a grid key/)
  await expect(in10.sendMessage(message10('bob'))).rejects.toThrow(/not a grid key/)
})

function newFactory(key: string, enabled = false): ClientFactory {
  const options = { fetchImpl: fetchAs(key), legacyCompat: { enabled } }
  return new ClientFactory({
    transports: [new JsonRpcTransportFactory(options)],
    cardResolver: new DefaultAgentCardResolver(options),
  })
}

function fetchAs(key: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('Authorization', `Bearer ${key}`)
    return fetch(input, { ...init, headers })
  }
}

function withExtension(uri: string) {
  const parameters = {}
  withA2AExtensions(uri)(parameters)
  return parameters
}

function message03(to: string) {
  return {
    message: {
      kind: 'message' as const,
      messageId: crypto.randomUUID(),
      role: 'user' as const,
      parts: [{ kind: 'text' as const, text: 'hi' }],
      metadata: { to },
    },
  }
}

function message10(to: string | undefined): SendMessageRequest {
  return {
    tenant: '',
    configuration: undefined,
    metadata: undefined,
    message: {
      messageId: crypto.randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: 'hi' }, filename: '', mediaType: '', metadata: undefined }],
      metadata: to === undefined ? undefined : { to },
      extensions: [],
      referenceTaskIds: [],
    },
  }
}
