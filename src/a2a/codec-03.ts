/** The wire format of A2A 0.3.0: the field `kind` gives the type of an object. */
import type { Part } from '../grid/tasks/task.ts'
import { type A2aReceipt, type Codec, contentOf, readSend, unlessEmpty } from './codec.ts'
import type { ParamReader } from './param-reader.ts'

export const codec03: Codec = {
  version: '0.3',
  extensionsHeader: 'X-A2A-Extensions',
  readSend: (params) => readSend(params, { checkMessage, readPart, readConfiguration }),
  writeReceipt,
}

const contentFields = ['text', 'file', 'data']

function checkMessage(message: ParamReader): void {
  const kind = message.value('kind') ?? 'message'
  if (kind !== 'message') throw message.invalid('kind', 'must be "message"')
}

/** `kind` may be missing, since the content field implies it, or be called `type` as in 0.2. */
function readPart(part: ParamReader): Part {
  const content = contentOf(part, contentFields)
  const kind = part.value('kind') ?? part.value('type') ?? content
  if (kind !== content) throw part.invalid('kind', 'must be "text", "file" or "data", with the field of that name')
  const metadata = part.record('metadata')
  if (content === 'text') return { text: part.text('text')!, metadata }
  if (content === 'data') return { data: part.record('data'), metadata }
  return { ...readFile(part.requiredObject('file')), metadata }
}

function readFile(file: ParamReader): Part {
  const options = { filename: unlessEmpty(file.text('name')), mediaType: unlessEmpty(file.text('mimeType')) }
  return contentOf(file, ['bytes', 'uri']) === 'bytes'
    ? { raw: file.text('bytes')!, ...options }
    : { url: file.text('uri')!, ...options }
}

function readConfiguration(configuration: ParamReader): boolean {
  configuration.flag('blocking')
  configuration.count('historyLength')
  configuration.texts('acceptedOutputModes')
  return configuration.object('pushNotificationConfig') !== undefined
}

function writeReceipt({ messageId, text, contextId, metadata }: A2aReceipt): unknown {
  return { kind: 'message', role: 'agent', messageId, parts: [{ kind: 'text', text }], contextId, metadata }
}
