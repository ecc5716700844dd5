/** Finds invisible text. */
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { provider, type Span } from '../provider.ts'
import { joined } from './view.ts'

/** Invisible characters, including those that a script or an emoji requires. */
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cc}]/u
const emoji = /\p{Emoji}(?:[\p{Emoji_Modifier}\ufe0e\ufe0f\u20e3\u200d\u{e0020}-\u{e007f}]|(?<=\u200d)\p{Emoji})+/gu
const needed = /[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu
/** From this number on, and above this share of a text, even characters that scripts may need are suspicious. */
const fewest = 8
const highestShare = 1 / 3

export const invisibleText = provider({
  id: 'invisible-text',
  name: 'Invisible text',
  kind: 'local',
  description:
    'Finds Unicode tags, bidirectional controls and zero-width characters. The grid removes them before any check, except where a script or an emoji needs them; of those it finds so many that they hide a text.',
  config: {},
  prepare: () => ({ text }) => {
    if (!invisible.test(text)) return { kinds: [] }
    const spans = joined([...removed(text), ...hidden(text)])
    return spans.length > 0 ? { kinds: ['invisible text'], spans } : { kinds: [] }
  },
})

/** Returns the positions of the characters that the grid removes from a message. */
function removed(text: string): Span[] {
  const cleaned = withoutInvisible(text)
  if (cleaned === text) return []
  const spans: Span[] = []
  for (let start = 0, kept = 0; start < text.length; start++) {
    if (text[start] === cleaned[kept]) kept++
    else {
      spans.push({ start, end: start + 1 })
      // A line feed has replaced a different line break.
      if (cleaned[kept] === '\n' && /[\r\v\f\x85]/.test(text[start])) kept++
    }
  }
  return spans
}

/** Returns the invisible characters that scripts may need, if a text contains too many. */
function hidden(text: string): Span[] {
  const plain = text.replace(emoji, (found) => ' '.repeat(found.length))
  const found = [...plain.matchAll(needed)]
  if (found.length < fewest || found.length <= highestShare * [...plain].length) return []
  return found.map(({ 0: char, index }) => ({ start: index, end: index + char.length }))
}
