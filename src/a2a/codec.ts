/** The version-independent model of A2A requests and results. See docs/protocol/a2a.md, "Versions". */
import type { Part, Task, TaskEvent, TaskMessage, TaskState } from '../grid/tasks/task.ts'
import type { TaskPage } from '../grid/tasks/tasks.ts'
import { isoTime } from '../lib/time.ts'
import { ParamReader } from './param-reader.ts'

export type A2aVersion = '0.3' | '1.0'

export interface ClientMessage {
  messageId: string
  contextId?: string
  taskId?: string
  parts: Part[]
  metadata?: Record<string, unknown>
  extensions?: string[]
  referenceTaskIds?: string[]
}

/** How a client wants its send to be answered. */
export interface SendConfiguration {
  /** Undefined if the client does not say. */
  returnImmediately?: boolean
  /** The most messages that the answer has. Default: all. */
  historyLength?: number
  acceptedOutputModes?: string[]
  /** Whether the client asks for push notifications to a webhook. */
  push: boolean
}

export interface SendRequest {
  message: ClientMessage
  metadata?: Record<string, unknown>
  /** The alias of the recipient, in the field that A2A defines for it. */
  tenant?: string
  configuration: SendConfiguration
}

/** The confirmation of a delivered message. */
export interface A2aReceipt {
  /** The grid's `message_id`. */
  messageId: string
  text: string
  contextId?: string
  taskId?: string
  metadata?: Record<string, unknown>
}

export type TaskRef = Pick<Task, 'id' | 'contextId'>

/** The wire format of one version. Readers fail with `invalid_input`. */
export interface Codec {
  version: A2aVersion
  /** The header that names activated extensions. */
  extensionsHeader: string
  readSend(params: unknown): SendRequest
  writeReceipt(receipt: A2aReceipt): unknown
  /** A reply as the `result` of a send, or as the only event of a stream. */
  writeReply(task: TaskRef, reply: TaskMessage): unknown
  writeTask(task: Task): unknown
  /** The task as the `result` of a send, or as the first event of a stream. */
  writeSentTask(task: Task): unknown
  /** `closes`: the stream ends after this event. */
  writeEvent(task: TaskRef, event: TaskEvent, closes: boolean): unknown
  writeList(page: TaskPage): unknown
}

/** What differs between the versions in a send. */
export interface SendDialect {
  /** Refuses an object that is marked as something other than a message. */
  checkMessage?(message: ParamReader): void
  readPart(part: ParamReader): Part
  readConfiguration(configuration: ParamReader): Pick<SendConfiguration, 'returnImmediately' | 'push'>
}

/** Both versions accept both spellings, because clients mix them up. The role of an agent is refused. */
const roles = ['user', 'ROLE_USER']

export function readSend(params: unknown, dialect: SendDialect): SendRequest {
  const send = new ParamReader(params, '')
  const message = readMessage(send.requiredObject('message'), dialect)
  const configuration = send.object('configuration')
  return {
    message,
    metadata: send.record('metadata'),
    tenant: send.id('tenant'),
    configuration: configuration
      ? {
        ...dialect.readConfiguration(configuration),
        historyLength: configuration.count('historyLength'),
        acceptedOutputModes: configuration.texts('acceptedOutputModes'),
      }
      : { push: false },
  }
}

function readMessage(message: ParamReader, dialect: SendDialect): ClientMessage {
  dialect.checkMessage?.(message)
  const role = message.value('role')
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

export function contentOf(part: ParamReader, names: readonly string[]): string {
  const present = names.filter((name) => part.has(name))
  if (present.length !== 1) throw part.invalid(undefined, `must have exactly one of ${names.join(', ')}`)
  return present[0]
}

/** Undefined for the empty string, which is how ProtoJSON clients send an unset field. */
export function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

/** What differs between the versions in what the grid writes. */
export interface WriteDialect {
  /** The discriminator of an object; none in 1.0. */
  kind(name: 'message' | 'task'): { kind?: string }
  role: Record<TaskMessage['role'], string>
  writeState(state: TaskState): string
  writePart(part: Part): unknown
}

export function writeTask(task: Task, dialect: WriteDialect): Record<string, unknown> {
  const { id, contextId, history, artifacts } = task
  return {
    ...dialect.kind('task'),
    id,
    contextId,
    status: writeStatus(task, task.status, dialect),
    history: unlessNone(history.map((message) => writeMessage(task, message, dialect))),
    artifacts: unlessNone(artifacts.map((artifact) => writeArtifact(artifact, dialect))),
  }
}

export function writeStatus(task: TaskRef, { state, message, at }: Task['status'], dialect: WriteDialect): unknown {
  return {
    state: dialect.writeState(state),
    message: message && writeMessage(task, message, dialect),
    timestamp: isoTime(at),
  }
}

export function writeArtifact(artifact: Task['artifacts'][number], dialect: WriteDialect): unknown {
  const { artifactId, name, description, parts, metadata, extensions } = artifact
  return {
    artifactId,
    name: unlessEmpty(name),
    description: unlessEmpty(description),
    parts: parts.map((part) => dialect.writePart(part)),
    metadata,
    extensions: unlessNone(extensions),
  }
}

export function writeMessage(task: TaskRef, message: TaskMessage, dialect: WriteDialect): unknown {
  const { messageId, role, parts, metadata, extensions, referenceTaskIds } = message
  return {
    ...dialect.kind('message'),
    messageId,
    role: dialect.role[role],
    parts: parts.map((part) => dialect.writePart(part)),
    contextId: task.contextId,
    taskId: task.id,
    metadata,
    extensions: unlessNone(extensions),
    referenceTaskIds: unlessNone(referenceTaskIds),
  }
}

export function writeList({ tasks, nextPageToken, pageSize, totalSize }: TaskPage, write: (task: Task) => unknown) {
  return { tasks: tasks.map(write), nextPageToken, pageSize, totalSize }
}

function unlessNone<T>(list: T[] | undefined): T[] | undefined {
  return list && list.length > 0 ? list : undefined
}
