/** The follower `search`: indexes the words of messages and records who should be notified of them. */
import { features } from '../features.ts'
import { fileNames, listParts } from '../grid/conversations/open-message.ts'
import { isShortened } from '../grid/message/long-text.ts'
import { namedAliases } from '../aliases.ts'
import { searchWords } from '../lib/search-words.ts'
import { ownLink, ownWord } from '../store/account/search.ts'
import { isPossibleNews } from '../store/global/news.ts'
import type { ChangedText } from '../store/global/search-index.ts'
import type { Batch } from '../store/loop.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'

/** Maximum number of characters per batch, because they determine the time to index it. */
export const searchBatchChars = 400_000
/** Maximum number of words per message that are indexed for recipients with their own version of the text. */
const maxOwnWords = 20_000
/** Maximum number of characters of a message's file names that are indexed. */
const maxFileNameChars = 2_000

const link = /https?:\/\//i

/** Returns the statements that index a batch, if no process has done so yet. */
export async function addToSearch(store: Store, batch: Batch): Promise<Statement[]> {
  const { searchIndex } = store.global
  const found = await searchIndex.texts(batch)
  const rows = await Promise.all(found.map(async ({ seq, id, body, a2a, channelId, changed }) => {
    const parts = listParts({ id, a2a, body })
    const files = fileNames(parts).slice(0, maxFileNameChars)
    return {
      seq,
      channelId,
      names: namedAliases(body),
      words: searchWords(`${body} ${files} ${isShortened(body) ? await searchIndex.wholeText(seq) : ''}`),
      has: [...parts.length > 0 ? ['file'] : [], ...link.test(body) ? ['link'] : []],
      own: ownWords(JSON.parse(changed)),
    }
  }))
  const { after } = batch
  const words = searchIndex.add(rows, after)
  const possible = rows.filter(isPossibleNews)
  if (possible.length === 0) return [words]
  const at = store.deps.now()
  const ofFeatures = features.flatMap(({ news }) => news?.(store, possible, { after, at }) ?? [])
  return [words, searchIndex.noteNews(possible, { after, at }), ...ofFeatures]
}

/**
 * Returns the words by which agents with their own version of a message find it. Agents above the limit never find it.
 */
function ownWords(texts: ChangedText[]): string[] {
  const own: string[] = []
  for (const { agents, body } of texts) {
    const words = searchWords(body)
    for (const agent of agents) {
      if (own.length + words.length > maxOwnWords) continue
      own.push(...words.map((word) => ownWord(agent, word)), ...link.test(body) ? [ownLink(agent)] : [])
    }
  }
  return own
}
