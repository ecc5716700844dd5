/** The wire format of A2A 1.0.0 and 1.0.1: ProtoJSON, where the field that is present gives the type of an object. */
import type { Part } from '../grid/tasks/task.ts'
import { type A2aReceipt, type Codec, contentOf, readSend, unlessEmpty } from './codec.ts'
import type { ParamReader } from './param-reader.ts'

export const codec10: Codec = {
  version: '1.0',
  extensionsHeader: 'A2A-Extensions',
  readSend: (params) => readSend(params, { readPart, readConfiguration }),
  writeReceipt,
}

const contentFields = ['text', 'raw', 'url', 'data']

function readPart(part: ParamReader): Part {
  const options = {
    filename: unlessEmpty(part.text('filename')),
    mediaType: unlessEmpty(part.text('mediaType')),
    metadata: part.record('metadata'),
  }
  const content = contentOf(part, contentFields)
  if (content === 'text') return { text: part.text('text')!, ...options }
  if (content === 'raw') return { raw: part.text('raw')!, ...options }
  if (content === 'url') return { url: part.text('url')!, ...options }
  return { data: part.value('data'), ...options }
}

function readConfiguration(configuration: ParamReader): boolean {
  configuration.flag('returnImmediately')
  configuration.count('historyLength')
  configuration.texts('acceptedOutputModes')
  return configuration.object('taskPushNotificationConfig') !== undefined
}

function writeReceipt({ messageId, text, contextId, metadata }: A2aReceipt): unknown {
  return { message: { role: 'ROLE_AGENT', messageId, parts: [{ text }], contextId, metadata } }
}
