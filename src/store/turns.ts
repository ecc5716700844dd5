/**
 * Finds conversations that run away. A *turn* is a message that answers. They are counted in memory, exactly for this
 * process; once a second what changed is stored, and on a remote database what other processes stored is read. So a
 * send and a read cost no statement, and several processes exceed a limit by what they send in about a second.
 *
 * See docs/delivery.md, "Conversations that run away".
 */
import type { Deps } from '../deps.ts'
import { newId } from '../lib/id.ts'
import { RecentMap } from '../lib/recent-map.ts'
import type { NewPause } from './account/conversations.ts'
import { contextIn, placeOf, type Read, RecentReads } from './turns/recent-reads.ts'
import { type Conversation, hopsBefore, TurnCounts, turnsInHour, turnsOf } from './turns/counts.ts'
import { TurnExchange, type TurnExchangeOptions } from './turns/exchange.ts'
import type { CountedTurn, Pause, ReadTurn, SentTurn, TurnLimits } from './turns/types.ts'

interface TurnsOptions extends TurnExchangeOptions {
  deps: Pick<Deps, 'log' | 'now'>
  /** Runs `exchange` in a second. */
  exchange: { schedule(): void }
}

/** What a message answers. */
interface Answered {
  /** The agents of each conversation that it is a turn of, by its key. */
  keys: Map<string, string[]>
  read?: Read
  /** What was read in its conversation id. */
  place?: Read
  /** The id of the message that it is the first reply to. */
  reply?: string
}

/** The limits of an account that changed none. */
export const defaultTurnLimits: TurnLimits = { warn: 30, perHour: 200, hops: 64 }

/** How many messages that were replied to are remembered. */
const maxReplied = 20_000
/** After the last use there are this many exchanges: others may have stored theirs only after the first one. */
const exchangesAfterUse = 2
const nothing: CountedTurn = { cancel() {} }

/** The conversations of all accounts, as this process knows them. */
export class ConversationTurns {
  readonly #options: TurnsOptions
  readonly #reads = new RecentReads()
  readonly #counts = new TurnCounts()
  /** Messages that were replied to. A second reply to the same one is no answer. */
  readonly #replied = new RecentMap<string, true>(maxReplied)
  readonly #exchange: TurnExchange
  #automated = new Set<string>()
  #limits = new Map<string, TurnLimits>()
  #exchanges = 0

  constructor(options: TurnsOptions) {
    this.#options = options
    const resumed = (...pause: Parameters<ConversationTurns['resumed']>) => this.resumed(...pause)
    this.#exchange = new TurnExchange({ ...options, counts: this.#counts, reads: this.#reads, resumed })
  }

  /** The limits of an account. */
  limitsOf(accountId: string): TurnLimits {
    return this.#limits.get(accountId) ?? defaultTurnLimits
  }

  /** Count a message about to be committed, if it is a turn. Returns why it is refused instead. */
  send(accountId: string, sent: SentTurn): CountedTurn | Pause {
    const recipient = sent.to.slice(1)
    if (this.#automated.has(sent.from) || this.#automated.has(recipient)) return nothing
    const now = this.#options.deps.now()
    const answered = this.#answered(sent, recipient, now)
    const limits = this.limitsOf(accountId)
    const isTooLong = limits.hops > 0 && sent.hops > limits.hops
    if (!answered && !isTooLong) return nothing
    const pair = [sent.from, recipient]
    const { keys, read, place, reply }: Answered = answered ?? { keys: new Map([[keyOf(pair), pair]]) }

    for (const [key, agents] of keys) {
      const conversation = isTooLong ? this.#counts.of(accountId, key) : this.#counts.get(accountId, key)
      const pause = conversation && this.#pauseOf(conversation, agents, sent.hops, limits, now)
      if (pause) return pause
    }
    if (read) this.#answer(read, 1)
    if (place) this.#answer(place, 1)
    if (reply !== undefined) this.#replied.set(reply, true)
    const counted = this.#count(accountId, keys, now)
    // The account of the recipient counts too, because its limits may be others.
    const there = sent.home === undefined ? [] : this.#count(sent.home, keys, now)
    const turns = Math.max(...counted.map(turnsOf))
    return {
      ...(limits.warn > 0 && turns >= limits.warn && { turns }),
      cancel: () => {
        for (const conversation of [...counted, ...there]) this.#counts.count(conversation, [], now, -1)
        if (read) this.#answer(read, -1)
        if (place) this.#answer(place, -1)
        if (reply !== undefined) this.#replied.delete(reply)
      },
    }
  }

  /**
   * Note what an agent has read. Input from outside begins the count of its conversations again. Returns the turns of
   * its conversation with the authors, if it is to be told.
   */
  read(accountId: string, reader: string, messages: readonly ReadTurn[]): number | undefined {
    if (messages.length === 0 || this.#automated.has(reader)) return undefined
    const now = this.#options.deps.now()
    for (const message of messages) this.#readOne(accountId, reader, message, now)
    const { warn } = this.limitsOf(accountId)
    let most = 0
    for (const conversation of this.#counts.ofAgent(reader)) {
      if (conversation.accountId !== accountId) continue
      if (messages.some(({ fromAlias }) => conversation.agents.has(fromAlias))) {
        most = Math.max(most, turnsOf(conversation))
      }
    }
    return warn > 0 && most >= warn ? most : undefined
  }

  /**
   * A paused conversation goes on: its hops are counted from now, and so are the turns of all conversations of its
   * agents, or the next of them would be paused with the next message.
   */
  resumed(accountId: string, key: string, agents: readonly string[], hops: number): void {
    const now = this.#options.deps.now()
    const conversation = this.#counts.of(accountId, key)
    conversation.isPaused = false
    conversation.hopsBefore = hopsBefore(hops)
    this.#reset(conversation, now)
    for (const agent of agents) for (const other of this.#counts.ofAgent(agent)) this.#reset(other, now)
  }

  /** Read what accounts have set: their limits and their automated agents. */
  async loadSettings(): Promise<void> {
    const { global } = this.#options
    const [automated, limits] = await Promise.all([global.automated(), global.limits()])
    this.#automated = new Set(automated)
    this.#limits = new Map(limits.map((row) => [row.accountId, { ...defaultTurnLimits, ...row.limits }]))
  }

  /** Read what is stored: at the start, and on a remote database with every exchange. */
  async load(): Promise<void> {
    await this.loadSettings()
    await this.#exchange.load()
  }

  /** Store what was counted, and read what others have stored. Returns whether another exchange must follow. */
  async exchange(): Promise<boolean> {
    this.#exchange.store()
    if (this.#options.isAlone) return false
    this.#exchanges--
    try {
      await this.load()
    } catch (error) {
      this.#options.deps.log.warn('The conversations of other processes could not be read', { error })
      return true
    }
    return this.#exchanges > 0
  }

  /** Store what was counted with the last commits. */
  close(): void {
    this.#exchange.store()
  }

  /** The conversations that a message is a turn of, by their keys, and what it answers. */
  #answered(
    { from, to, home, reply, conversationId, a2a }: SentTurn,
    recipient: string,
    now: number,
  ): Answered | undefined {
    const isPost = to.startsWith('#')
    // A message is answered by the first reply to it that goes back to where it came from.
    const isReply = reply !== undefined && reply.from !== from && (isPost || reply.from === recipient) &&
      this.#replied.get(reply.id) === undefined
    const cycle = isPost ? undefined : this.#reads.cycle(from, recipient, now)
    const post = isPost ? this.#reads.unansweredIn(from, to, now) : undefined
    // A stranger could guess the id of a conversation, so it names one only within the account.
    const name = home === undefined ? contextIn(a2a) ?? conversationId : null
    const conversation = name === null ? undefined : placeOf(name)
    const place = conversation === undefined ? undefined : this.#reads.unansweredIn(from, conversation, now)
    if (!isReply && !cycle && !post && !place) return undefined

    const keys = new Map<string, string[]>()
    if (isPost && (post || isReply)) keys.set(to, [from])
    else if (cycle && !(isReply && cycle.agents.length > 2)) keys.set(keyOf(cycle.agents), cycle.agents)
    else if (isReply) keys.set(keyOf([from, recipient]), [from, recipient])
    if (conversation !== undefined && (place || isReply)) keys.set(conversation, [from])
    return { keys, read: post ?? cycle?.read, place, reply: isReply ? reply.id : undefined }
  }

  #count(accountId: string, keys: Map<string, string[]>, now: number): Conversation[] {
    return Array.from(keys, ([key, agents]) => {
      const conversation = this.#counts.of(accountId, key)
      this.#counts.count(conversation, agents, now)
      this.#hasChanged(conversation)
      return conversation
    })
  }

  /** Why a conversation takes no further turn. */
  #pauseOf(
    conversation: Conversation,
    agents: string[],
    hops: number,
    limits: TurnLimits,
    now: number,
  ): Pause | undefined {
    const { isPaused, accountId, key } = conversation
    const isTooLong = limits.hops > 0 && hops > conversation.hopsBefore + limits.hops
    const turns = turnsInHour(conversation, now)
    if (!isPaused && !isTooLong && (limits.perHour === 0 || turns < limits.perHour)) return undefined
    const reason = isTooLong ? 'hops' : 'turns'
    const all = [...new Set([...conversation.agents, ...agents])].sort()
    if (!isPaused) {
      conversation.isPaused = true
      const row: NewPause = { id: newId(), key, agents: JSON.stringify(all), reason, turns, hops, at: now }
      const { tablesOf, writeLater } = this.#options
      writeLater([tablesOf(accountId).change.conversations.addPause(row)])
    }
    return { agents: all, reason, limit: reason === 'hops' ? limits.hops : limits.perHour }
  }

  #readOne(accountId: string, reader: string, message: ReadTurn, now: number): void {
    const { fromAlias: author, type, recipient, conversationId, a2a } = message
    const names = new Set([conversationId, contextIn(a2a)].filter((name) => name != null))
    const places = Array.from(names, placeOf)
    for (const conversation of this.#counts.ofAgent(reader)) {
      const { agents, key } = conversation
      const isInside = agents.has(author) || key === recipient || places.includes(key)
      if (type !== 'agent' || !isInside) this.#reset(conversation, now)
    }
    if (type !== 'agent' || author === reader || this.#automated.has(author)) return
    this.#hasRead(this.#reads.readAuthor(accountId, reader, author, now))
    if (recipient.startsWith('#')) this.#hasRead(this.#reads.readPlace(accountId, reader, recipient, now))
    for (const place of places) this.#hasRead(this.#reads.readPlace(accountId, reader, place, now))
  }

  #reset(conversation: Conversation, now: number): void {
    this.#counts.reset(conversation, now)
    this.#hasChanged(conversation)
  }

  #answer(read: Read, by: 1 | -1): void {
    read.answered += by
    this.#hasRead(read)
  }

  #hasRead(read: Read): void {
    if (this.#options.isAlone) return
    this.#exchange.hasRead(read)
    this.#use()
  }

  #hasChanged(conversation: Conversation): void {
    this.#exchange.hasCounted(conversation)
    this.#use()
  }

  #use(): void {
    this.#exchanges = exchangesAfterUse
    this.#options.exchange.schedule()
  }
}

/** The turns of one account. */
export class AccountTurns {
  readonly #turns: ConversationTurns
  readonly #accountId: string

  constructor(turns: ConversationTurns, accountId: string) {
    this.#turns = turns
    this.#accountId = accountId
  }

  get limits(): TurnLimits {
    return this.#turns.limitsOf(this.#accountId)
  }

  /** Count a message about to be committed, if it is a turn. Returns why it is refused instead. */
  send(sent: SentTurn): CountedTurn | Pause {
    return this.#turns.send(this.#accountId, sent)
  }

  /** Note what an agent has read. Returns the turns of its conversation, if it is to be told. */
  read(reader: string, messages: readonly ReadTurn[]): number | undefined {
    return this.#turns.read(this.#accountId, reader, messages)
  }

  /** A paused conversation goes on. */
  resumed(key: string, agents: readonly string[], hops: number): void {
    this.#turns.resumed(this.#accountId, key, agents, hops)
  }

  /** Use changed limits and automated agents. */
  settingsChanged(): Promise<void> {
    return this.#turns.loadSettings()
  }
}

/** The key of a pair or a cycle. */
function keyOf(agents: readonly string[]): string {
  return agents.map((alias) => `@${alias}`).sort().join(' ')
}
