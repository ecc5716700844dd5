/** What the output of a child says to whom. */
import type { InboxMessage } from '../grid-client.ts'
import { byThread } from './threads.ts'

/** An answer to some of the messages that a child was given. */
export interface Answer {
  to: string
  replyTo: string
  text: string
  /** What it answers. */
  messageIds: string[]
}

/** The output could not be assigned to the messages. */
export class UnclearOutput extends Error {
  override readonly name = 'UnclearOutput'
}

/** A child that is a model says so if nobody awaits an answer. An empty output means the same. */
export const noReply = 'NO_REPLY'

/** The grid refuses longer messages. In characters. */
export const maxAnswer = 10_000

/**
 * The answers in an output. If all messages are of one thread, the whole output answers the last one. Of several threads,
 * each line is a JSON object `{"reply_to_message_id", "message"}`. Fails with `UnclearOutput`.
 */
export function answersIn(output: string, messages: readonly InboxMessage[]): Answer[] {
  const text = output.trim()
  if (text === '' || text === noReply) return []
  const threads = byThread(messages)
  return threads.length === 1 ? answerTo(threads[0], text) : repliesIn(text, threads)
}

function repliesIn(text: string, threads: InboxMessage[][]): Answer[] {
  const lines = text.split('\n').map((line) => line.trim()).filter((line) => line.startsWith('{'))
  const replies = lines.map(replyOf)
  if (replies.length === 0) throw new UnclearOutput('The output names no message that it answers.')
  return replies.flatMap(({ reply_to_message_id, message }) => {
    const thread = threads.find((messages) => messages.some(({ message_id }) => message_id === reply_to_message_id))
    if (!thread) throw new UnclearOutput(`The output answers ${reply_to_message_id}, which was not given to it.`)
    const named = thread.find(({ message_id }) => message_id === reply_to_message_id)!
    return message.trim() === noReply ? [] : answerTo([named], message.trim())
  })
}

function replyOf(line: string): { reply_to_message_id: string; message: string } {
  let reply
  try {
    reply = JSON.parse(line)
  } catch {
    throw new UnclearOutput('A line of the output is no JSON.')
  }
  if (typeof reply.reply_to_message_id !== 'string' || typeof reply.message !== 'string') {
    throw new UnclearOutput('A line of the output has no reply_to_message_id or no message.')
  }
  return reply
}

/** Nobody reads answers to messages of the grid itself. */
function answerTo(messages: readonly InboxMessage[], text: string): Answer[] {
  const last = messages.findLast(({ type }) => type !== 'system')
  if (!last || text === '') return []
  const messageIds = messages.map(({ message_id }) => message_id)
  const to = typeof last.reply_to === 'string' ? last.reply_to : last.user
  return [{ to, replyTo: last.message_id, text: shortened(text), messageIds }]
}

function shortened(text: string): string {
  const characters = [...text]
  if (characters.length <= maxAnswer) return text
  const note = `\n[Shortened: the answer had ${characters.length} characters.]`
  return characters.slice(0, maxAnswer - note.length).join('') + note
}
