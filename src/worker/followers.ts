/**
 * The log followers that run once per grid, regardless of the number of processes. The comment above each follower says
 * what a repeated batch does. See docs/architecture.md, "After the commit".
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
/** The log's end for followers that wait until messages have been placed, because only these are shown. */
const placed = ({ positions }: Pulse) => Math.max(0, positions.get('conversations') ?? 0)

/** Messages per batch, or rows removed per batch when starting over. Other work runs between batches. */
const batchSize = 500

/** Applies each batch exactly once, because its statements and the new position are one unit. */
export function gridFollowers(store: Store): GridFollower[] {
  const { global: { conversations, pulses, taskNotices, traffic }, deps: { now } } = store

  return [
    // Places messages in conversations. A repeated batch inserts no place twice.
    follower(
      'conversations',
      messages,
      (batch) => batch.after < 0 ? conversations.empty(batchSize) : conversations.place(batch),
    ),
    // Counts who wrote to whom. Runs only from the stored position, because a repeated batch would be counted twice.
    follower('traffic', messages, (batch) => batch.after < 0 ? traffic.empty(batchSize) : [traffic.count(batch)], {
      // A row counts all messages between two agents in an hour, so large batches are more efficient.
      gatherMs: 2 * second,
    }),
    // Indexes the words of messages and records who should be notified of them. Runs only from the stored position.
    follower(
      'search',
      placed,
      (batch) => addToSearch(store, batch),
      {
        next: (after, end, limit) => pulses.nextTexts(after, end, { limit, chars: searchBatchChars }),
        // Each batch adds a segment to the index, so larger batches mean fewer segments.
        gatherMs: 200,
      },
    ),
    // Makes tasks' push notifications due. A repeated batch has no further effect.
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

/** Lets all followers process everything that is stored. Stops between two batches if `isStopped` returns true. */
export async function followLog(store: Store, isStopped = () => false): Promise<void> {
  const followers = gridFollowers(store)
  for (let isBehind = true; isBehind && !isStopped();) {
    const pulse = await store.global.pulses.read()
    const behind = followers.filter((one) => pulse.positions.get(one.name)! < one.end(pulse))
    await Promise.all(behind.map((one) => step(one, pulse.positions.get(one.name)!, one.end(pulse), one.limit)))
    isBehind = behind.length > 0
  }
}
