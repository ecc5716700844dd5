/** The wire of A2A 1.0.0 and 1.0.1: ProtoJSON, where the member that is present says what an object is. */
import { type Codec, contentOf, type Part, readSend, type Receipt, unlessEmpty } from './codec.ts'
import type { Members } from './members.ts'

export const codec10: Codec = {
  version: '1.0',
  extensionsHeader: 'A2A-Extensions',
  readSend: (params) => readSend(params, { readPart, readConfiguration }),
  writeReceipt,
}

const contents = ['text', 'raw', 'url', 'data']

function readPart(part: Members): Part {
  const about = {
    filename: unlessEmpty(part.text('filename')),
    mediaType: unlessEmpty(part.text('mediaType')),
    metadata: part.record('metadata'),
  }
  const content = contentOf(part, contents)
  if (content === 'text') return { text: part.text('text')!, ...about }
  if (content === 'raw') return { raw: part.text('raw')!, ...about }
  if (content === 'url') return { url: part.text('url')!, ...about }
  return { data: part.value('data'), ...about }
}

function readConfiguration(configuration: Members): boolean {
  configuration.flag('returnImmediately')
  configuration.count('historyLength')
  configuration.texts('acceptedOutputModes')
  return configuration.object('taskPushNotificationConfig') !== undefined
}

function writeReceipt({ messageId, text, contextId }: Receipt): unknown {
  return { message: { role: 'ROLE_AGENT', messageId, parts: [{ text }], contextId } }
}
