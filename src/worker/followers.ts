/**
 * The followers of the log that the grid runs once, whatever the number of processes. The line above each says what a
 * repeat does. See docs/architecture.md, "After the commit".
 */
import { features } from '../features.ts'
import { second } from '../lib/time.ts'
import { isEventFollower, type Pulse, type StoredFollower } from '../store/global/pulse.ts'
import { type Batch, type GridFollower, step } from '../store/loop.ts'
import type { Statement } from '../store/sql.ts'
import type { Store } from '../store/store.ts'
import { addToSearch, searchBatchChars } from './search.ts'

const messages = ({ messages }: Pulse) => messages
const events = ({ events }: Pulse) => events
/** Not before the messages have their places: until then they are not shown. */
const placed = ({ positions }: Pulse) => Math.max(0, positions.get('conversations') ?? 0)

/** How many messages one batch has, or how many rows are removed to begin again. Others are served between two batches. */
const batchSize = 500

/** The statements of a batch and its new position are one unit, so each batch is applied once. */
export function gridFollowers(store: Store): GridFollower[] {
  const { global: { conversations, pulses, taskNotices, traffic }, deps: { now } } = store

  return [
    // Places in conversations. Each is inserted once.
    follower(
      'conversations',
      messages,
      (batch) => batch.after < 0 ? conversations.empty(batchSize) : conversations.place(batch),
    ),
    // Counts of who wrote to whom. They would count twice, so they are counted only from the stored position.
    follower('traffic', messages, (batch) => batch.after < 0 ? traffic.empty(batchSize) : [traffic.count(batch)], {
      // A row counts all messages of two agents in an hour, so the batches should be large.
      gatherMs: 2 * second,
    }),
    // The words of messages, and whom they are news for. Only from the stored position.
    follower(
      'search',
      placed,
      (batch) => addToSearch(store, batch),
      {
        next: (after, end, limit) => pulses.nextTexts(after, end, { limit, chars: searchBatchChars }),
        // The index is written in pieces, one for each batch.
        gatherMs: 200,
      },
    ),
    // Push notifications of tasks become due. A repeat finds them due, or nothing to send.
    follower('task notices', events, (batch) => [taskNotices.beDue(batch, now())]),
    ...features.flatMap(({ followers }) => followers?.(store) ?? []).map(({ name, statements, isPlaced, gatherMs }) =>
      follower(name, isEventFollower(name) ? events : isPlaced ? placed : messages, statements, { gatherMs })
    ),
  ]

  function follower(
    name: StoredFollower,
    end: (pulse: Pulse) => number,
    statements: (batch: Batch) => Statement[] | Promise<Statement[]>,
    { next = end === events ? pulses.nextEvents : pulses.nextMessages, gatherMs }: {
      next?: GridFollower['next']
      gatherMs?: number
    } = {},
  ): GridFollower {
    return {
      name,
      limit: batchSize,
      gatherMs,
      end,
      next: async (after, end, limit) => after < 0 ? after : await next(after, end, limit),
      async apply(batch) {
        await store.write([...await statements(batch), pulses.move(name, batch.after, batch.upTo)])
      },
      async skip(batch, reason) {
        await store.write([
          pulses.skip(name, batch, { from: end === events ? 'log' : 'messages', reason, at: now() }),
          pulses.move(name, batch.after, batch.upTo),
        ])
      },
    }
  }
}

/** Let all followers take in everything that is stored. `isStopped` ends it early, between two batches. */
export async function followLog(store: Store, isStopped = () => false): Promise<void> {
  const followers = gridFollowers(store)
  for (let isBehind = true; isBehind && !isStopped();) {
    const pulse = await store.global.pulses.read()
    const behind = followers.filter((one) => pulse.positions.get(one.name)! < one.end(pulse))
    await Promise.all(behind.map((one) => step(one, pulse.positions.get(one.name)!, one.end(pulse), one.limit)))
    isBehind = behind.length > 0
  }
}
