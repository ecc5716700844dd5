/** The version-independent model of A2A requests and results. See docs/protocol.md, "A2A versions". */
import type { Part } from '../grid/tasks/task.ts'
import { ParamReader } from './param-reader.ts'

export type A2aVersion = '0.3' | '1.0'

/** A message as the client sent it. */
export interface ClientMessage {
  messageId: string
  contextId?: string
  taskId?: string
  parts: Part[]
  metadata?: Record<string, unknown>
  extensions?: string[]
  referenceTaskIds?: string[]
}

export interface SendRequest {
  message: ClientMessage
  metadata?: Record<string, unknown>
  /** The alias of the recipient, in the field that A2A defines for it. */
  tenant?: string
  /** Whether the client asks for push notifications to a webhook. */
  push: boolean
}

/** The confirmation of a delivered message. */
export interface A2aReceipt {
  /** The grid's `message_id`. */
  messageId: string
  text: string
  contextId?: string
  metadata?: Record<string, unknown>
}

/** The wire format of one version. Readers fail with `invalid_input`. */
export interface Codec {
  version: A2aVersion
  /** The header that names activated extensions. */
  extensionsHeader: string
  readSend(params: unknown): SendRequest
  /** The `result` of a successful send. */
  writeReceipt(receipt: A2aReceipt): unknown
}

/** The parts of a send whose wire format differs between the versions. */
export interface SendDialect {
  /** Refuses an object that is marked as something other than a message. */
  checkMessage?(message: ParamReader): void
  readPart(part: ParamReader): Part
  /** Checks the shape of the configuration. True if it holds a push configuration. */
  readConfiguration(configuration: ParamReader): boolean
}

/** Requests come from a client, never in the role of the agent that they are for. */
const roles = ['user', 'ROLE_USER']

export function readSend(params: unknown, dialect: SendDialect): SendRequest {
  const send = new ParamReader(params, '')
  const message = readMessage(send.requiredObject('message'), dialect)
  const configuration = send.object('configuration')
  return {
    message,
    metadata: send.record('metadata'),
    tenant: send.id('tenant'),
    push: configuration !== undefined && dialect.readConfiguration(configuration),
  }
}

function readMessage(message: ParamReader, dialect: SendDialect): ClientMessage {
  dialect.checkMessage?.(message)
  const role = message.value('role')
  // Both versions accept both spellings, because clients mix them up.
  if (typeof role !== 'string' || !roles.includes(role)) {
    throw message.invalid('role', 'must be "user" in A2A 0.3 and "ROLE_USER" in A2A 1.0')
  }
  const parts = message.list('parts')
  if (parts.length === 0) throw message.invalid('parts', 'must be an array of at least one part')
  return {
    messageId: message.requiredId('messageId'),
    contextId: message.id('contextId'),
    taskId: message.id('taskId'),
    parts: parts.map((part, n) => dialect.readPart(new ParamReader(part, `${message.pathOf('parts')}[${n}]`))),
    metadata: message.record('metadata'),
    extensions: message.texts('extensions'),
    referenceTaskIds: message.texts('referenceTaskIds'),
  }
}

/** The name of the one content field that a part has. */
export function contentOf(part: ParamReader, names: readonly string[]): string {
  const present = names.filter((name) => part.has(name))
  if (present.length !== 1) throw part.invalid(undefined, `must have exactly one of ${names.join(', ')}`)
  return present[0]
}

/** Undefined for the empty string, which is how ProtoJSON clients send an unset field. */
export function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
