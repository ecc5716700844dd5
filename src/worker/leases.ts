/**
 * Releases expired leases and leases whose holders are dead. Reports to other processes that this one is alive, and
 * which clients are active for its agents.
 */
import { releaseAbandoned } from '../grid/messaging/read-messages.ts'
import { minute } from '../lib/time.ts'
import { instanceOf, leasesOf } from '../store/global/backups.ts'
import { tokensByKey } from '../store/global/sealed-tokens.ts'
import type { Store } from '../store/store.ts'

/**
 * Number of own heartbeats after which another process without a heartbeat counts as dead: 60 s at 15 s each. No clocks
 * are compared, so clock differences between machines do not matter. If a machine is suspended with all its processes,
 * the suspension counts as one heartbeat, regardless of its duration.
 */
const maxMissedHeartbeats = 4

/**
 * The age at which a lease of this process counts as abandoned. It is high, because clients may read slowly, and the
 * database may create a lease long after the process lost the result and gave up.
 */
const forgottenMs = 5 * minute

type FoundLease = Awaited<ReturnType<Store['global']['instances']['leases']>>[number]

/** Another process: its last known heartbeat number, and the number of own heartbeats since it changed. */
interface SeenInstance {
  heartbeats: number | undefined
  missed: number
}

/** Monitors the leases in a database. Messages of a process that was only slow are redelivered, so nothing is lost. */
export class LeaseRecovery {
  readonly #store: Store
  #heartbeats = 0
  #others = new Map<string, SeenInstance>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Runs before the process is ready. All leases in a local file are released, because their holders are gone. */
  async start(): Promise<void> {
    if (this.#store.durability === 'remote') return await this.heartbeat()
    const { global: { instances }, deps: { now } } = this.#store
    let last: string | undefined
    for (;;) {
      const left = await instances.leases(now())
      // If the same lease is returned again, the database accepts no writes. `releaseExpired` releases the lease later.
      if (left.length === 0 || left[0].id === last) break
      last = left[0].id
      await this.#release(left)
    }
  }

  /** Releases expired leases, and those that `start` could not release. Local files only. */
  async releaseExpired(): Promise<void> {
    const { global: { instances }, instanceId, deps: { now } } = this.#store
    const leases = await instances.leases(now())
    await this.#release(leases.filter(({ expiresAt, holder }) => expiresAt !== null || holder !== instanceId))
  }

  /** Records a heartbeat, reads those of other processes, and releases ended leases. Remote databases only. */
  async heartbeat(): Promise<void> {
    const { global: { instances }, instanceId, keyRing, presences, deps: { now } } = this.#store
    const [, rows, inFlight] = await this.#store.write(
      instances.heartbeat(instanceId, ++this.#heartbeats, presences.here(), keyRing.ids, now()),
    )
    const known = (rows as unknown as Parameters<typeof instanceOf>[0][]).map(instanceOf)
    const leases = leasesOf(inFlight)
    const dead = this.#findDead(leases, known)
    const others = known.filter(({ id }) => id !== instanceId && !dead.has(id))
    presences.areElsewhere(others.map(({ present }) => present))
    await this.#compareKeys(others)
    await this.#release(leases.filter((lease) =>
      lease.expiresAt !== null || dead.has(lease.holder) ||
      (lease.holder === instanceId && now() - lease.createdAt >= forgottenMs)
    ))
    // If a process that counted as dead is alive, its next heartbeat inserts its row again.
    if (dead.size > 0) await this.#store.write([...dead].map((id) => instances.remove(id)))
  }

  /** Checks whether other processes have keys for stored tokens that this one lacks. */
  async #compareKeys(others: { keyIds: string[] }[]): Promise<void> {
    const { keyRing, global, deps } = this.#store
    const elsewhere = others.flatMap(({ keyIds }) => keyIds).filter((id) => !keyRing.ids.includes(id))
    const used = elsewhere.length === 0 ? undefined : await tokensByKey(global.sealedTokens)
    const isForeign = elsewhere.some((id) => used?.has(id))
    if (isForeign && !keyRing.isForeign) {
      deps.log.error('Other processes have keys of stored tokens that this one lacks. Correct its GRID_KEYS.', {
        keys: elsewhere,
      })
    }
    keyRing.isForeign = isForeign
  }

  /** Leases that are still in flight are released by other processes, or by the next process on the file. */
  async stop(): Promise<void> {
    const { global: { instances }, instanceId, durability } = this.#store
    if (durability === 'remote') await this.#store.write([instances.remove(instanceId)])
  }

  #findDead(leases: FoundLease[], instances: { id: string; heartbeats: number }[]): Set<string> {
    const heartbeats = new Map<string, number | undefined>()
    for (const lease of leases) if (lease.expiresAt === null) heartbeats.set(lease.holder, undefined)
    for (const instance of instances) heartbeats.set(instance.id, instance.heartbeats)
    heartbeats.delete(this.#store.instanceId)

    const others = new Map<string, SeenInstance>()
    for (const [id, seen] of heartbeats) {
      const known = this.#others.get(id)
      const hasMissed = known && known.heartbeats === seen
      others.set(id, hasMissed ? { ...known, missed: known.missed + 1 } : { heartbeats: seen, missed: 0 })
    }
    this.#others = others
    return new Set([...others].filter(([, { missed }]) => missed >= maxMissedHeartbeats).map(([id]) => id))
  }

  async #release(leases: FoundLease[]): Promise<void> {
    for (const { accountId, agentId, id } of leases) {
      await releaseAbandoned(this.#store.account(accountId, { type: 'system', job: 'leases' }), agentId, id)
    }
    if (leases.length > 0) this.#store.deps.log.info('Abandoned leases were released', { count: leases.length })
  }
}
