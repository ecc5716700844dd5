/** The wire format of A2A 1.0.0 and 1.0.1: ProtoJSON, where the field that is present gives an object's type. */
import type { Part } from '../grid/message/part.ts'
import type { TaskEvent, TaskState } from '../grid/tasks/task.ts'
import { type Codec, type SendConfiguration, type TaskRef, unlessEmpty, writeArtifact, writeStatus } from './codec.ts'
import type { ParamReader } from './param-reader.ts'
import { readPushConfig } from './push-config.ts'

export const codec10: Codec = {
  version: '1.0',
  extensionsHeader: 'A2A-Extensions',
  readPart,
  readConfiguration,
  kind: () => ({}),
  role: { user: 'ROLE_USER', agent: 'ROLE_AGENT' },
  writeState: stateOf10,
  writePart,
  asResult: (name, written) => ({ [name]: written }),
  writeEvent,
}

/** Returns a state's name in 1.0. */
export function stateOf10(state: TaskState): string {
  return `TASK_STATE_${state.toUpperCase().replace('-', '_')}`
}

const contentFields = ['text', 'raw', 'url', 'data'] as const

function readPart(part: ParamReader): Part {
  const options = {
    filename: part.text('filename'),
    mediaType: part.text('mediaType'),
    metadata: part.record('metadata'),
  }
  const content = part.onlyOf(contentFields)
  if (content === 'text') return { text: part.content('text')!, ...options }
  if (content === 'raw') return { raw: part.bytes('raw')!, ...options }
  if (content === 'url') return { url: part.content('url')!, ...options }
  return { data: part.value('data'), ...options }
}

function readConfiguration(
  configuration: ParamReader,
): Pick<SendConfiguration, 'returnImmediately' | 'push'> {
  const push = configuration.object('taskPushNotificationConfig')
  return {
    returnImmediately: configuration.flag('returnImmediately'),
    push: push && readPushConfig(push, '1.0'),
  }
}

function writeEvent(task: TaskRef, event: TaskEvent): unknown {
  const ref = { taskId: task.id, contextId: task.contextId }
  if (event.type === 'status') return { statusUpdate: { ...ref, status: writeStatus(task, event.status, codec10) } }
  // ProtoJSON omits false values.
  const flags = { append: event.append || undefined, lastChunk: event.lastChunk || undefined }
  return { artifactUpdate: { ...ref, artifact: writeArtifact(event.artifact, codec10), ...flags } }
}

function writePart({ filename, mediaType, ...part }: Part): unknown {
  return { ...part, filename: unlessEmpty(filename), mediaType: unlessEmpty(mediaType) }
}
