/** The wire of A2A 0.3.0: `kind` names what an object is. */
import { type Codec, contentOf, type Part, readSend, type Receipt, unlessEmpty } from './codec.ts'
import type { Members } from './members.ts'

export const codec03: Codec = {
  version: '0.3',
  extensionsHeader: 'X-A2A-Extensions',
  readSend: (params) => readSend(params, { checkMessage, readPart, readConfiguration }),
  writeReceipt,
}

const contents = ['text', 'file', 'data']

function checkMessage(message: Members): void {
  const kind = message.value('kind') ?? 'message'
  if (kind !== 'message') throw message.fault('kind', 'must be "message"')
}

/** `kind` may be missing, as the content says it too, or be spelled `type` as in 0.2. */
function readPart(part: Members): Part {
  const content = contentOf(part, contents)
  const kind = part.value('kind') ?? part.value('type') ?? content
  if (kind !== content) throw part.fault('kind', 'must be "text", "file" or "data", with the member of that name')
  const metadata = part.record('metadata')
  if (content === 'text') return { text: part.text('text')!, metadata }
  if (content === 'data') return { data: part.record('data'), metadata }
  return { ...readFile(part.requiredObject('file')), metadata }
}

function readFile(file: Members): Part {
  const about = { filename: unlessEmpty(file.text('name')), mediaType: unlessEmpty(file.text('mimeType')) }
  return contentOf(file, ['bytes', 'uri']) === 'bytes'
    ? { raw: file.text('bytes')!, ...about }
    : { url: file.text('uri')!, ...about }
}

function readConfiguration(configuration: Members): boolean {
  configuration.flag('blocking')
  configuration.count('historyLength')
  configuration.texts('acceptedOutputModes')
  return configuration.object('pushNotificationConfig') !== undefined
}

function writeReceipt({ messageId, text, contextId }: Receipt): unknown {
  return { kind: 'message', role: 'agent', messageId, parts: [{ kind: 'text', text }], contextId }
}
