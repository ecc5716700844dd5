/** An A2A agent outside the grid that uses the official SDK's server. */
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { AgentCard, Message, Task, TaskStatusUpdateEvent } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'

/** Loads modules from the SDK's dependencies, such as its copy of express. */
const require = createRequire(createRequire(import.meta.url).resolve('@a2a-js/sdk/server/express'))

export interface SdkAgentOptions {
  binding?: 'JSONRPC' | 'HTTP+JSON'
  version?: '1.0' | '0.3'
  streaming?: boolean
}

/** Handles a message by publishing events. */
export type Execute = (context: RequestContext, bus: ExecutionEventBus) => Promise<void>

/** Starts an agent on a free port, with one binding and one version. It pushes to callbacks. */
export async function sdkAgent(
  execute: Execute,
  { binding = 'JSONRPC', version = '1.0', streaming = true }: SdkAgentOptions = {},
) {
  const express = require('express')
  const app = express()
  const server = createServer(app as RequestListener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = {
    name: 'Official',
    description: 'Answers',
    version: '1',
    capabilities: { streaming, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: binding, protocolVersion: version }],
  }
  const pushes = new InMemoryPushNotificationStore()
  const requestHandler = new DefaultRequestHandler(
    AgentCard.fromJSON(card),
    new InMemoryTaskStore(),
    { execute, cancelTask: async () => {} },
    new DefaultExecutionEventBusManager(),
    pushes,
    new DefaultPushNotificationSender(pushes),
  )
  const shown = version === '1.0'
    ? card
    : { ...card, supportedInterfaces: undefined, protocolVersion: '0.3.0', url: `${url}/rpc` }
  app.get('/.well-known/agent-card.json', (_: unknown, response: { json(body: unknown): void }) => response.json(shown))
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: true } }
  app.use('/rpc', binding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options))
  return {
    url,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Creates a message event as the answer. */
export function sdkMessage(text: string, { contextId }: RequestContext) {
  return AgentEvent.message(
    Message.fromJSON({ messageId: crypto.randomUUID(), contextId, role: 'ROLE_AGENT', parts: [{ text }] }),
  )
}

/** Creates the event of a task in progress. */
export function sdkTask({ taskId: id, contextId }: RequestContext) {
  return AgentEvent.task(Task.fromJSON({ id, contextId, status: { state: 'TASK_STATE_WORKING' } }))
}

/** Creates the event of a completed task. */
export function sdkCompleted(text: string, { taskId, contextId }: RequestContext) {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts: [{ text }] }
  return AgentEvent.statusUpdate(
    TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state: 'TASK_STATE_COMPLETED', message } }),
  )
}
