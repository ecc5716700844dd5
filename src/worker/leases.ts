/** Gives back what processes handed out and could not answer before they died. Reliability 2.2.3 and 2.2.4. */
import { giveBackOf } from '../grid/messaging/leases.ts'
import { minute } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/**
 * How many beats of ours may pass without one of another process before it counts as dead: 60 s, at 15 s each.
 * No clocks are compared, so it does not matter by how much those of two machines differ; and a machine that
 * was suspended with all its processes counts as one beat, however long that took.
 */
const missedBeats = 4

/**
 * How old an open read of our own is when nobody answers it any more. An answer takes as long as its client needs to
 * read it; but a claim whose own answer got lost may be carried out by the database after it was given back.
 */
const forgottenMs = 5 * minute

type OpenRead = Awaited<ReturnType<Store['global']['instances']['openReads']>>[number]

/** Another process: its number when last seen, and for how many of our beats it has been that. */
interface Seen {
  beats: number | undefined
  missed: number
}

/**
 * Watches over the processes of one database. A process that was only slow and then goes on loses nothing: what was
 * given back comes again flagged, and its own answer neither marks nor unmarks anything, as its batch is gone.
 */
export class OpenReads {
  readonly #store: Store
  #beats = 0
  #others = new Map<string, Seen>()

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Before the process is ready. A local file has one process, so whatever is open there was left by one that
   * died. Elsewhere it says that it lives before it hands anything out.
   */
  async start(): Promise<void> {
    if (this.#store.durability === 'remote') return await this.beat()
    let last: string | undefined
    for (;;) {
      const open = await this.#store.global.instances.openReads()
      // The same again: the database takes no writes, and the next start will find it.
      if (open.length === 0 || open[0].batchId === last) return
      last = open[0].batchId
      await this.#giveBack(open)
    }
  }

  /** Say that we live, and give back what belongs to those that do not, and what we forgot. Remote databases only. */
  async beat(): Promise<void> {
    const { global: { instances }, instanceId, deps: { now } } = this.#store
    await this.#store.write([instances.beat(instanceId, ++this.#beats, now())])
    const open = await instances.openReads()
    const dead = await this.#findDead(open)
    await this.#giveBack(
      open.filter((read) =>
        dead.has(read.instanceId) || (read.instanceId === instanceId && now() - read.createdAt >= forgottenMs)
      ),
    )
    if (dead.size === 0) return
    // One that lives after all makes its row again with its next beat.
    await this.#store.write([...dead].map((id) => instances.remove(id)))
  }

  /** What is still open of this process is given back by others, or by the next on the file. */
  async stop(): Promise<void> {
    const { global: { instances }, instanceId, durability } = this.#store
    if (durability === 'remote') await this.#store.write([instances.remove(instanceId)])
  }

  async #findDead(open: OpenRead[]): Promise<Set<string>> {
    const { global: { instances }, instanceId } = this.#store
    const beats = new Map<string, number | undefined>()
    for (const read of open) beats.set(read.instanceId, undefined)
    for (const instance of await instances.all()) beats.set(instance.id, instance.beats)
    beats.delete(instanceId)

    const others = new Map<string, Seen>()
    for (const [id, seen] of beats) {
      const known = this.#others.get(id)
      others.set(
        id,
        known && known.beats === seen ? { ...known, missed: known.missed + 1 } : { beats: seen, missed: 0 },
      )
    }
    this.#others = others
    return new Set([...others].filter(([, { missed }]) => missed >= missedBeats).map(([id]) => id))
  }

  async #giveBack(open: OpenRead[]): Promise<void> {
    for (const { accountId, agentId, batchId } of open) {
      await giveBackOf(this.#store.account(accountId, { type: 'system', job: 'open reads' }), agentId, batchId)
    }
    if (open.length > 0) {
      this.#store.deps.log.info('Hand-outs that nobody answers any more were given back', { count: open.length })
    }
  }
}
