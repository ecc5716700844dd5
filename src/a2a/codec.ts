/** A2A without a version: what requests mean and answers say, whichever wire carries them. a2a.md, section 2. */
import { Members } from './members.ts'

export type Version = '0.3' | '1.0'

/** Content of a message, in 1.0 form. */
export type Part = ({ text: string } | { raw: string } | { url: string } | { data: unknown }) & {
  mediaType?: string
  filename?: string
  metadata?: Record<string, unknown>
}

/** A message as a client sent it. */
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
  /** The alias of the recipient, in the standard's own member. */
  tenant?: string
  /** Whether the client wants to be told of the task's progress by a webhook. */
  push: boolean
}

/** The answer to a message that was delivered. */
export interface Receipt {
  /** The grid's `message_id`. */
  messageId: string
  text: string
  contextId?: string
}

/** One version of the wire. Readers fail with `invalid_input`. */
export interface Codec {
  version: Version
  /** The header that names activated extensions. */
  extensionsHeader: string
  readSend(params: unknown): SendRequest
  /** The `result` of a send that is answered by a message. */
  writeReceipt(receipt: Receipt): unknown
}

/** Where the two versions differ inside a send. */
export interface SendDialect {
  /** Refuses a message that is marked as something else. */
  checkMessage?(message: Members): void
  readPart(part: Members): Part
  /** Checks the shape of the configuration; answers whether it holds a push configuration. */
  readConfiguration(configuration: Members): boolean
}

const roles = ['user', 'agent', 'ROLE_USER', 'ROLE_AGENT']

export function readSend(params: unknown, dialect: SendDialect): SendRequest {
  const send = new Members(params, '')
  const message = readMessage(send.requiredObject('message'), dialect)
  const configuration = send.object('configuration')
  return {
    message,
    metadata: send.record('metadata'),
    tenant: send.id('tenant'),
    push: configuration !== undefined && dialect.readConfiguration(configuration),
  }
}

function readMessage(message: Members, dialect: SendDialect): ClientMessage {
  dialect.checkMessage?.(message)
  const role = message.value('role')
  // Either spelling on both wires: clients mix them up.
  if (typeof role !== 'string' || !roles.includes(role)) {
    throw message.fault('role', 'must be "user" in A2A 0.3 and "ROLE_USER" in A2A 1.0')
  }
  const parts = message.list('parts')
  if (parts.length === 0) throw message.fault('parts', 'must be an array of at least one part')
  return {
    messageId: message.requiredId('messageId'),
    contextId: message.id('contextId'),
    taskId: message.id('taskId'),
    parts: parts.map((part, n) => dialect.readPart(new Members(part, `${message.pathOf('parts')}[${n}]`))),
    metadata: message.record('metadata'),
    extensions: message.texts('extensions'),
    referenceTaskIds: message.texts('referenceTaskIds'),
  }
}

/** The name of the one content member that a part has. */
export function contentOf(part: Members, names: readonly string[]): string {
  const present = names.filter((name) => part.has(name))
  if (present.length !== 1) throw part.fault(undefined, `must have exactly one of ${names.join(', ')}`)
  return present[0]
}

/** A text that proto leaves empty when it is not set. */
export function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
