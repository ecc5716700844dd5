/** Follows the log of messages for the pages of people and for searches. */
import { listParts } from '../grid/conversations/open-message.ts'
import { isStorageFull } from '../errors.ts'
import { isShortened } from '../grid/messaging/long-text.ts'
import { namedAliases } from '../lib/names.ts'
import { Debounced } from '../lib/debounced.ts'
import { searchWords } from '../lib/search-words.ts'
import { second } from '../lib/time.ts'
import { ownLink, ownWord } from '../store/account/search.ts'
import type { ChangedText } from '../store/global/search-index.ts'
import type { Store } from '../store/store.ts'
import { quietMs } from './push.ts'

/** How many messages one unit takes in, or empties. Others are served between two units. */
const unitSize = 500
/** The same of the search index, which costs more for each. */
const wordsUnitSize = 100
/** How many words of one message are stored for recipients with a text of their own. */
const maxOwnWords = 20_000
/** How long a message waits for others, so that one unit takes in many of them. */
const delayMs = 40
/** From so many messages on, the log tells of the progress, and how often. */
const manyMessages = 10_000
const progressMs = 10 * second

/** Take in everything that is stored. `isStopped` ends it early, between two units. */
export async function followLog(store: Store, isStopped = () => false): Promise<void> {
  while (!isStopped() && await followSome(store)) { /* There is more. */ }
}

/** Commit one unit of each projection that is behind. Resolves to whether there may be more. */
async function followSome(store: Store): Promise<boolean> {
  const hasMorePlaces = await placeSome(store)
  return await indexSome(store) || hasMorePlaces
}

async function placeSome(store: Store): Promise<boolean> {
  const { threadProjection } = store.global
  const { seq, newest } = await threadProjection.position()
  store.projection.behind = Math.max(0, newest - Math.max(0, seq))
  if (seq < 0) await store.write(threadProjection.empty(unitSize))
  else if (seq < newest) await store.write(threadProjection.follow(unitSize))
  return seq < newest || seq < 0
}

const link = /https?:\/\//i

async function indexSome(store: Store): Promise<boolean> {
  const { searchIndex } = store.global
  const found = await searchIndex.next(wordsUnitSize)
  if (found.length === 0) return false
  const rows = await Promise.all(found.map(async ({ seq, id, body, a2a, channelId, changed }) => ({
    seq,
    channelId,
    names: namedAliases(body),
    words: searchWords(isShortened(body) ? `${body} ${await searchIndex.wholeText(seq)}` : body),
    has: [...listParts({ id, a2a, body }).length > 0 ? ['file'] : [], ...link.test(body) ? ['link'] : []],
    own: ownWords(JSON.parse(changed)),
  })))
  await store.write(searchIndex.add(rows, found[0].after, { at: store.deps.now(), quietMs }))
  return found.length === wordsUnitSize
}

/** Each agent finds what it was given. Those for whom there is no room find nothing. */
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

/** Runs soon after each message that this process stores or hears of; `run` finds those of killed processes. */
export class LogFollower {
  readonly #store: Store
  readonly #debounced: Debounced
  readonly #unsubscribe: () => void
  #running: Promise<void> = Promise.resolve()
  #isStopped = false
  /** When the log last told of the progress, while there is a lot to do. */
  #toldAt: number | undefined

  constructor(store: Store) {
    this.#store = store
    this.#debounced = new Debounced(() => this.#step(), delayMs)
    this.#unsubscribe = store.waiting.notifier.onEach(() => this.#debounced.schedule())
  }

  run(): Promise<void> {
    this.#debounced.schedule()
    return Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unsubscribe()
    this.#debounced.close()
    await this.#running
  }

  #step(): Promise<boolean> {
    const step = this.#isStopped ? Promise.resolve(false) : followSome(this.#store)
    const caught = step.catch((error) => {
      // The storage has said so. In any case it is tried again, with the next message or after a while.
      if (!isStorageFull(error)) this.#store.deps.log.warn('New messages were not placed in conversations', { error })
      return false
    })
    this.#running = caught.then(() => this.#tell())
    return caught
  }

  #tell(): void {
    const { projection: { behind }, deps: { log } } = this.#store
    const now = performance.now()
    if (this.#toldAt === undefined ? behind >= manyMessages : behind > 0 && now - this.#toldAt >= progressMs) {
      log.info('Stored messages are being placed in conversations', { left: behind })
      this.#toldAt = now
    } else if (this.#toldAt !== undefined && behind === 0) {
      log.info('All stored messages are placed in conversations')
      this.#toldAt = undefined
    }
  }
}
