/** Exports a complete conversation as a file. Each page of messages is read after the previous one has been sent. */
import { type OpenConversation, type OpenMessage, wholeConversation } from '../../grid/conversations/open.ts'
import { downloadBody } from '../../answers/downloads.ts'
import { downloadHeaders } from '../../lib/http/download.ts'
import { isoTime } from '../../lib/time.ts'
import type { PageResult, Visit } from '../visit.ts'
import { threadIn } from './list-pane.tsx'
import { labelOf, namesOf, shownMessage, titleOf } from './shown.ts'

/** A file format: its beginning, each message, the separator between messages, and its end. */
interface Format {
  mediaType: string
  begin(open: OpenConversation, at: string): string
  message(message: ExportedMessage): string
  between: string
  end: string
}

const formats: Record<string, Format> = {
  md: {
    mediaType: 'text/markdown',
    begin: (open, at) => {
      const label = labelOf(open.thread)
      return `# ${titleOf(open.thread)}${label ? ` ${code(label)}` : ''}\n\nExported ${at}.\n\n`
    },
    message: inMarkdown,
    between: '\n',
    end: '',
  },
  json: {
    mediaType: 'application/json',
    begin: ({ thread }, at) => {
      const { kind, conversationId } = thread
      const head = JSON.stringify({ names: namesOf(thread), kind, conversation_id: conversationId, exported_at: at })
      return `${head.slice(0, -1)},"messages":[\n`
    },
    message: (message) => JSON.stringify(message),
    between: ',\n',
    end: '\n]}\n',
  },
}

/** Sends the conversation as a file: `?as=md` or `?as=json`. */
export async function exportConversation(visit: Visit): Promise<PageResult> {
  const { account, connection, requestId, query } = visit
  const extension = query.get('as') === 'json' ? 'json' : 'md'
  const format = formats[extension]
  const pages = wholeConversation(account, threadIn(visit), requestId)
  // Read the first page before the response begins, so that an error can still be shown as a page.
  const first = (await pages.next()).value as OpenConversation
  const names = namesOf(first.thread).map((name) => name.replace(/[^a-z0-9-]/gi, '')).join('-')
  return new Response(downloadBody(account, connection, written(visit, format, first, pages)), {
    headers: downloadHeaders({
      mediaType: format.mediaType,
      filename: `conversation-${first.thread.id}-${names}.${extension}`,
      isText: true,
    }),
  })
}

async function* written(
  visit: Visit,
  format: Format,
  first: OpenConversation,
  rest: AsyncIterable<OpenConversation>,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  yield encoder.encode(format.begin(first, isoTime(visit.account.deps.now())))
  let isFirst = true
  const textOf = (page: OpenConversation) =>
    page.messages.map((message) => {
      const before = isFirst ? '' : format.between
      isFirst = false
      return before + format.message(exported(visit, message))
    }).join('')
  yield encoder.encode(textOf(first))
  for await (const page of rest) yield encoder.encode(textOf(page))
  yield encoder.encode(format.end)
}

type ExportedMessage = ReturnType<typeof exported>

function exported({ account, path }: Visit, message: OpenMessage) {
  const { receipts, verdicts, parts } = shownMessage(message, path, account.deps.now(), true)
  const origin = account.deps.config.appUrl
  const { recipient: _, ...counts } = message.receipts ?? { recipient: null }
  return {
    message_id: message.id,
    timestamp: isoTime(message.createdAt),
    from: `@${message.fromAlias}`,
    to: message.recipient,
    type: message.type,
    via: message.via ?? undefined,
    reply_to_message_id: message.replyToMessageId,
    text: message.body,
    parts: parts.map(({ name, type, size, href }) => ({ name, type, size, url: `${origin}${href}` })),
    // For a single recipient, the times of each event; for a post, the number of members who have read it.
    delivery: receipts.length > 0
      ? Object.fromEntries([
        ['state', receipts[0].state],
        ...receipts[0].events.map(({ event, at }) => [event, isoTime(at)]),
      ])
      : counts,
    task: message.task?.state ?? null,
    notes: verdicts.map(({ text }) => text),
  }
}

function inMarkdown(message: ExportedMessage): string {
  const { from, to, timestamp, message_id: id, reply_to_message_id: repliedTo, text, parts, delivery, task, notes } =
    message
  const facts = [
    `Id: ${code(id)}`,
    ...(repliedTo === null ? [] : [`answers: ${code(repliedTo)}`]),
    ...Object.entries(delivery).map(([name, value]) => `${name}: ${value}`),
    ...(task === null ? [] : [`task: ${task}`]),
    ...notes.map(code),
  ]
  const files = parts.map(({ name, type, size, url }) => `* ${code(name)} (${code(type)}, ${size}): <${url}>\n`)
  return `## ${timestamp} ${from} to ${to}\n\n${facts.join(', ')}\n\n${fenced(text)}\n${
    files.length > 0 ? `\n${files.join('')}` : ''
  }`
}

/** Returns a fenced block that no line of the text can close. @see CommonMark 0.31 §4.5 */
function fenced(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return `${fence}text\n${text}\n${fence}`
}

/** Returns a single-line code span that no part of the text can close. @see CommonMark 0.31 §6.1 */
function code(text: string): string {
  const fence = '`'.repeat(longestRun(text) + 1)
  return `${fence} ${text.replace(/[\p{Cc}\u2028\u2029\s]+/gu, ' ')} ${fence}`
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}
