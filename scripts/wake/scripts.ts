/** What the scripted models do. */
import type { Act, Asked } from './scripted-model.ts'

/** Whether a hook tells of unread messages. The grid tells of them too, when its tools are listed. */
export function isTold({ news }: Asked): boolean {
  return /\d+(?: or more)? unread messages? from @/.test(news)
}

/**
 * Read when told of unread messages, and answer each message that was read. A prompt with `work` makes two calls of a
 * tool, two seconds each, before it ends.
 */
export function readAndAnswer(asked: Asked): Act {
  if (isTold(asked)) return { tool: 'read_messages', arguments: {} }
  const sender = asked.answers.join('\n').match(/"reply_to":"(@[\w-]+)"/)?.[1]
  if (sender !== undefined) return { tool: 'send_message', arguments: { to: sender, message: 'I have read it.' } }
  if (/work twice/.test(asked.news)) return { tool: 'list_agents', arguments: {}, delayMs: 2_000 }
  if (asked.answers.some((answer) => answer.includes('"agents"') || answer.includes('"alias"'))) {
    return { text: 'That was the work.', delayMs: 2_000 }
  }
  return { text: 'All right.' }
}
