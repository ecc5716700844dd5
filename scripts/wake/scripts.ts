/** What the scripted models do. */
import type { Act, Asked } from './scripted-model.ts'

/** Read when told of unread messages; anything else gets a word. */
export function readWhenTold({ news, answers }: Asked): Act {
  if (answers.length > 0) return { text: 'I have read it.' }
  return /\d+( or more)? unread/.test(news) ? { tool: 'read_messages', arguments: {} } : { text: 'All right.' }
}
