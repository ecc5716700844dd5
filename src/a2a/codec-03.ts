/** The wire format of A2A 0.3.0, where the field `kind` gives an object's type. */
import type { Part } from '../grid/message/part.ts'
import type { TaskEvent } from '../grid/tasks/task.ts'
import { type Codec, type SendConfiguration, type TaskRef, writeArtifact, writeStatus } from './codec.ts'
import type { ParamReader } from './param-reader.ts'
import { readPushConfig } from './push-config.ts'

export const codec03: Codec = {
  version: '0.3',
  extensionsHeader: 'X-A2A-Extensions',
  checkMessage,
  readPart,
  readConfiguration,
  kind: (kind) => ({ kind }),
  role: { user: 'user', agent: 'agent' },
  writeState: (state) => state,
  writePart,
  asResult: (_, written) => written,
  writeEvent,
}

const contentFields = ['text', 'file', 'data'] as const

function checkMessage(message: ParamReader): void {
  if ((message.text('kind') ?? 'message') !== 'message') throw message.invalid('kind', 'must be "message"')
}

/** Reads a part. `kind` may be missing, because the content field implies it, or be named `type`, as in 0.2. */
function readPart(part: ParamReader): Part {
  const content = part.onlyOf(contentFields)
  const kind = part.text('kind') ?? part.text('type') ?? content
  if (kind !== content) throw part.invalid('kind', 'must be "text", "file" or "data", with the field of that name')
  const metadata = part.record('metadata')
  if (content === 'text') return { text: part.content('text')!, metadata }
  if (content === 'data') return { data: part.record('data'), metadata }
  return { ...readFile(part.requiredObject('file')), metadata }
}

function readFile(file: ParamReader): Part {
  const options = { filename: file.text('name'), mediaType: file.text('mimeType') }
  return file.onlyOf(['bytes', 'uri']) === 'bytes'
    ? { raw: file.bytes('bytes')!, ...options }
    : { url: file.content('uri')!, ...options }
}

function readConfiguration(
  configuration: ParamReader,
): Pick<SendConfiguration, 'returnImmediately' | 'push'> {
  const blocking = configuration.flag('blocking')
  const push = configuration.object('pushNotificationConfig')
  return {
    returnImmediately: blocking === undefined ? undefined : !blocking,
    push: push && readPushConfig(push, '0.3'),
  }
}

function writeEvent(task: TaskRef, event: TaskEvent, closes: boolean): unknown {
  const ref = { taskId: task.id, contextId: task.contextId }
  if (event.type === 'status') {
    return { kind: 'status-update', ...ref, status: writeStatus(task, event.status, codec03), final: closes }
  }
  const artifact = writeArtifact(event.artifact, codec03)
  return { kind: 'artifact-update', ...ref, artifact, append: event.append, lastChunk: event.lastChunk }
}

function writePart(part: Part): unknown {
  const { metadata, filename, mediaType } = part
  if ('text' in part) return { kind: 'text', text: part.text, metadata }
  if ('data' in part) return { kind: 'data', data: asObject(part.data), metadata }
  const content = 'raw' in part ? { bytes: part.raw } : { uri: part.url }
  return { kind: 'file', file: { ...content, name: filename, mimeType: mediaType }, metadata }
}

/** Wraps data other than an object, which 1.0 allows but 0.3 does not. */
function asObject(data: unknown): unknown {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : { value: data }
}
