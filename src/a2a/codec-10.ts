/** The wire format of A2A 1.0.0 and 1.0.1: ProtoJSON, where the field that is present gives the type of an object. */
import type { Part, TaskEvent, TaskState } from '../grid/tasks/task.ts'
import {
  type A2aReceipt,
  type Codec,
  contentOf,
  readSend,
  type SendConfiguration,
  type TaskRef,
  unlessEmpty,
  writeArtifact,
  type WriteDialect,
  writeList,
  writeMessage,
  writeStatus,
  writeTask,
} from './codec.ts'
import type { ParamReader } from './param-reader.ts'

const dialect: WriteDialect = {
  kind: () => ({}),
  role: { user: 'ROLE_USER', agent: 'ROLE_AGENT' },
  writeState: (state) => stateOf10(state),
  writePart,
}

export const codec10: Codec = {
  version: '1.0',
  extensionsHeader: 'A2A-Extensions',
  readSend: (params) => readSend(params, { readPart, readConfiguration }),
  writeReceipt,
  writeReply: (task, reply) => ({ message: writeMessage(task, reply, dialect) }),
  writeTask: (task) => writeTask(task, dialect),
  writeSentTask: (task) => ({ task: writeTask(task, dialect) }),
  writeEvent,
  writeList: (page) => writeList(page, (task) => writeTask(task, dialect)),
}

/** The spelling of a state in 1.0. */
export function stateOf10(state: TaskState): string {
  return `TASK_STATE_${state.toUpperCase().replace('-', '_')}`
}

const contentFields = ['text', 'raw', 'url', 'data']

function readPart(part: ParamReader): Part {
  const options = {
    filename: unlessEmpty(part.text('filename')),
    mediaType: unlessEmpty(part.text('mediaType')),
    metadata: part.record('metadata'),
  }
  const content = contentOf(part, contentFields)
  if (content === 'text') return { text: part.content('text')!, ...options }
  if (content === 'raw') return { raw: part.content('raw')!, ...options }
  if (content === 'url') return { url: part.content('url')!, ...options }
  return { data: part.value('data'), ...options }
}

function readConfiguration(
  configuration: ParamReader,
): Pick<SendConfiguration, 'returnImmediately' | 'push'> {
  return {
    returnImmediately: configuration.flag('returnImmediately'),
    push: configuration.object('taskPushNotificationConfig') !== undefined,
  }
}

function writeReceipt({ messageId, text, contextId, taskId, metadata }: A2aReceipt): unknown {
  return { message: { role: 'ROLE_AGENT', messageId, parts: [{ text }], contextId, taskId, metadata } }
}

function writeEvent(task: TaskRef, event: TaskEvent): unknown {
  const ref = { taskId: task.id, contextId: task.contextId }
  if (event.type === 'status') return { statusUpdate: { ...ref, status: writeStatus(task, event.status, dialect) } }
  // ProtoJSON leaves out what is false.
  const flags = { append: event.append || undefined, lastChunk: event.lastChunk || undefined }
  return { artifactUpdate: { ...ref, artifact: writeArtifact(event.artifact, dialect), ...flags } }
}

function writePart({ filename, mediaType, ...part }: Part): unknown {
  return { ...part, filename: unlessEmpty(filename), mediaType: unlessEmpty(mediaType) }
}
