/** The version-independent model of A2A requests and results. See docs/protocol/a2a.md, "Versions". */
import type { PushConfigInput } from '../grid/tasks/push-configs.ts'
import type { Part } from '../grid/message/part.ts'
import type { Task, TaskEvent, TaskMessage, TaskState } from '../grid/tasks/task.ts'
import { isoTime } from '../lib/time.ts'
import { ParamReader } from './param-reader.ts'

export type A2aVersion = '0.3' | '1.0'

export interface ClientMessage extends Omit<TaskMessage, 'role'> {
  contextId?: string
  taskId?: string
}

/** How the client wants the grid to respond to a send. */
export interface SendConfiguration {
  /** Undefined if the client does not specify it. */
  returnImmediately?: boolean
  /** Maximum number of messages in the answer. Default: all. */
  historyLength?: number
  acceptedOutputModes?: string[]
  /** Where the task's events are pushed. */
  push?: PushConfigInput
}

export interface SendRequest {
  message: ClientMessage
  metadata?: Record<string, unknown>
  /** The recipient's alias, in A2A's own field for tenants. */
  tenant?: string
  configuration: SendConfiguration
}

/** A task reference. An agent's message may have no task, for example a plain confirmation. */
export type TaskRef = Partial<Pick<Task, 'id' | 'contextId'>>

/** The version-specific parts of the wire format. Readers fail with `invalid_input`. */
export interface Codec {
  version: A2aVersion
  /** The name of the header that lists activated extensions. */
  extensionsHeader: string
  /** Refuses an object that is not marked as a message. */
  checkMessage?(message: ParamReader): void
  readPart(part: ParamReader): Part
  readConfiguration(configuration: ParamReader): Pick<SendConfiguration, 'returnImmediately' | 'push'>
  /** The discriminator of an object. Empty in 1.0. */
  kind(name: 'message' | 'task'): { kind?: string }
  role: Record<TaskMessage['role'], string>
  writeState(state: TaskState): string
  writePart(part: Part): unknown
  /** Wraps a written message or task as the `result` of a send or as a stream event. */
  asResult(name: 'message' | 'task', written: unknown): unknown
  /** `closes` means that the stream ends after this event. */
  writeEvent(task: TaskRef, event: TaskEvent, closes: boolean): unknown
}

/** Both versions accept the role names of either version, because clients mix them up. The agent role is refused. */
const roles: ReadonlyMap<string, 'user'> = new Map([['user', 'user'], ['ROLE_USER', 'user'], ['1', 'user']])
const roleRule = 'must be "user" in A2A 0.3 and "ROLE_USER" in A2A 1.0'

export function readSend(params: unknown, codec: Codec): SendRequest {
  const send = new ParamReader(params, '')
  const message = readMessage(send.requiredObject('message'), codec)
  const configuration = send.object('configuration')
  return {
    message,
    metadata: send.record('metadata'),
    tenant: send.id('tenant'),
    configuration: configuration
      ? {
        ...codec.readConfiguration(configuration),
        historyLength: configuration.count('historyLength'),
        acceptedOutputModes: configuration.texts('acceptedOutputModes'),
      }
      : {},
  }
}

function readMessage(message: ParamReader, codec: Codec): ClientMessage {
  codec.checkMessage?.(message)
  if (!message.oneOf('role', roles, roleRule)) throw message.invalid('role', roleRule)
  const parts = message.list('parts')
  if (parts.length === 0) throw message.invalid('parts', 'must be an array of at least one part')
  return {
    messageId: message.requiredId('messageId'),
    contextId: message.id('contextId'),
    taskId: message.id('taskId'),
    parts: parts.map((part, n) => codec.readPart(new ParamReader(part, `${message.pathOf('parts')}[${n}]`))),
    metadata: message.record('metadata'),
    extensions: message.texts('extensions'),
    referenceTaskIds: message.texts('referenceTaskIds'),
  }
}

/** Returns undefined for an empty string, because no written field may be empty. */
export function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

export function writeTask(task: Task, codec: Codec): Record<string, unknown> {
  const { id, contextId, history, artifacts } = task
  return {
    ...codec.kind('task'),
    id,
    contextId,
    status: writeStatus(task, task.status, codec),
    history: unlessNone(history.map((message) => writeMessage(task, message, codec))),
    artifacts: unlessNone(artifacts.map((artifact) => writeArtifact(artifact, codec))),
  }
}

export function writeStatus(task: TaskRef, { state, message, at }: Task['status'], codec: Codec): unknown {
  return {
    state: codec.writeState(state),
    message: message && writeMessage(task, message, codec),
    timestamp: isoTime(at),
  }
}

export function writeArtifact(artifact: Task['artifacts'][number], codec: Codec): unknown {
  const { artifactId, name, description, parts, metadata, extensions } = artifact
  return {
    artifactId,
    name: unlessEmpty(name),
    description: unlessEmpty(description),
    parts: parts.map((part) => codec.writePart(part)),
    metadata,
    extensions: unlessNone(extensions),
  }
}

/** Writes a message as the `result` of a send or as the only event of a stream. */
export function writeReply(task: TaskRef, reply: TaskMessage, codec: Codec): unknown {
  return codec.asResult('message', writeMessage(task, reply, codec))
}

/** Writes a task as the `result` of a send or as the first event of a stream. */
export function writeSentTask(task: Task, codec: Codec, metadata?: Record<string, unknown>): unknown {
  return codec.asResult('task', { ...writeTask(task, codec), metadata })
}

export function writeMessage(task: TaskRef, message: TaskMessage, codec: Codec): unknown {
  const { messageId, role, parts, metadata, extensions, referenceTaskIds } = message
  return {
    ...codec.kind('message'),
    messageId,
    role: codec.role[role],
    parts: parts.map((part) => codec.writePart(part)),
    contextId: task.contextId,
    taskId: task.id,
    metadata,
    extensions: unlessNone(extensions),
    referenceTaskIds: unlessNone(referenceTaskIds),
  }
}

function unlessNone<T>(list: T[] | undefined): T[] | undefined {
  return list && list.length > 0 ? list : undefined
}
