/**
 * Who read whom lately. A message to somebody whose message its sender has read is an answer, also without a reply id;
 * so are the messages that go round a cycle. Each message that was read is answered once: what a script sends beyond
 * that is one-way.
 *
 * See docs/delivery.md, "Conversations that run away".
 */
import { RecentMap } from '../../lib/recent-map.ts'
import { minute } from '../../lib/time.ts'

/** How long a message that was read can be answered without a reply id. */
export const recentMs = 10 * minute
/** The longest cycle that is found, in agents, and how many reads one search looks at. */
const maxCycle = 8
const maxLooks = 128
/** How many readers, and how many authors of each, are kept; and how many channels and conversation ids of them. */
const maxReaders = 10_000
const maxAuthors = 64
const maxPlaces = 20_000

/** What one agent read of one source: an author, a channel or a conversation id. */
export interface Read {
  /** The account of the reader, which a claim can change. */
  accountId: string
  /** The alias of the agent that read. */
  readonly reader: string
  readonly source: string
  /** The newest, in milliseconds since the epoch. */
  readAt: number
  /** Messages that were read and answered in this process. */
  reads: number
  answered: number
  /** The same of other processes, by counter. */
  others?: Map<string, { reads: number; answered: number }>
}

/** The agents of a cycle, and the read that its last message answers. */
export interface Cycle {
  agents: string[]
  read: Read
}

/** An agent on the way from the sender of a message back to its recipient. */
interface Step {
  agent: string
  read: Read
  previous?: Step
  length: number
}

export class RecentReads {
  readonly #authors = new RecentMap<string, Map<string, Read>>(maxReaders)
  /** By reader and source. */
  readonly #places = new RecentMap<string, Read>(maxPlaces)

  /** Count a message of an author, an alias. */
  readAuthor(accountId: string, reader: string, author: string, at: number): Read {
    return counted(this.ofAuthor(accountId, reader, author), accountId, at)
  }

  /** Count a message in a channel or conversation. */
  readPlace(accountId: string, reader: string, place: string, at: number): Read {
    return counted(this.ofPlace(accountId, reader, place), accountId, at)
  }

  /** What an agent read of an author; new without reads. */
  ofAuthor(accountId: string, reader: string, author: string): Read {
    let authors = this.#authors.get(reader)
    if (!authors) this.#authors.set(reader, authors = new Map())
    let read = authors.get(author)
    if (!read) {
      // The oldest author goes first.
      if (authors.size === maxAuthors) authors.delete(authors.keys().next().value!)
      authors.set(author, read = newRead(accountId, reader, author))
    }
    return read
  }

  /** What an agent read in a channel or conversation; new without reads. */
  ofPlace(accountId: string, reader: string, place: string): Read {
    const key = `${reader} ${place}`
    let read = this.#places.get(key)
    if (!read) this.#places.set(key, read = newRead(accountId, reader, place))
    return read
  }

  /** What the sender read in a channel or conversation and has not answered. */
  unansweredIn(sender: string, place: string, now: number): Read | undefined {
    const read = this.#places.get(`${sender} ${place}`)
    return read && isUnanswered(read, now) ? read : undefined
  }

  /** The shortest cycle that a message closes: what led to it came from its recipient. */
  cycle(sender: string, recipient: string, now: number): Cycle | undefined {
    const authors = this.#authors.get(sender)
    if (!authors) return undefined
    const direct = authors.get(recipient)
    if (direct && isUnanswered(direct, now)) return { agents: [sender, recipient], read: direct }

    const steps: Step[] = []
    const seen = new Set([sender])
    for (const [agent, read] of authors) {
      if (agent === recipient || !isUnanswered(read, now)) continue
      steps.push({ agent, read, length: 2 })
      seen.add(agent)
    }
    let looks = steps.length
    for (let next = 0; next < steps.length && looks < maxLooks; next++) {
      const step = steps[next]
      if (step.length === maxCycle) return undefined
      for (const [agent, { readAt }] of this.#authors.get(step.agent) ?? []) {
        if (++looks > maxLooks) return undefined
        if (!isRecent(readAt, now) || seen.has(agent)) continue
        const found = { agent, read: step.read, previous: step, length: step.length + 1 }
        if (agent === recipient) return { agents: [sender, ...agentsOf(found)], read: step.read }
        seen.add(agent)
        steps.push(found)
      }
    }
    return undefined
  }
}

function newRead(accountId: string, reader: string, source: string): Read {
  return { accountId, reader, source, readAt: 0, reads: 0, answered: 0 }
}

function counted(read: Read, accountId: string, at: number): Read {
  // What nobody answered in time is not answered any more.
  if (!isRecent(read.readAt, at)) forgetUnanswered(read)
  read.accountId = accountId
  read.reads++
  read.readAt = at
  return read
}

function forgetUnanswered(read: Read): void {
  read.answered += Math.max(0, unanswered(read))
}

function isUnanswered(read: Read, now: number): boolean {
  return isRecent(read.readAt, now) && unanswered(read) > 0
}

function isRecent(readAt: number, now: number): boolean {
  return now - readAt <= recentMs
}

function unanswered({ reads, answered, others }: Read): number {
  let open = reads - answered
  for (const other of others?.values() ?? []) open += other.reads - other.answered
  return open
}

function agentsOf(last: Step): string[] {
  const agents = []
  for (let step: Step | undefined = last; step; step = step.previous) agents.push(step.agent)
  return agents
}

/** A conversation id as a source. Channels begin with `#`, and authors are aliases. */
export function placeOf(conversationId: string): string {
  return `id ${conversationId}`
}

/** Whether a source is a channel or a conversation id. */
export function isPlace(source: string): boolean {
  return source.startsWith('#') || source.startsWith('id ')
}

/**
 * What the client of an A2A message calls its conversation; undefined for other messages. It counts beside the id of the
 * grid, which is another for each two agents: a conversation over several of them has only this name in common.
 */
export function contextIn(a2a: string | null): string | undefined {
  if (a2a === null) return undefined
  try {
    const { contextId } = JSON.parse(a2a)
    return typeof contextId === 'string' ? contextId : undefined
  } catch {
    return undefined
  }
}
