/** Waiting reads and event streams of this process. See docs/conversations.md, "Waiting". */
import type { Deps } from '../deps.ts'
import { Batcher } from '../lib/limits/batcher.ts'
import { ConcurrencyLimit } from '../lib/limits/concurrency-limit.ts'
import { KeyedMutex } from '../lib/limits/keyed-mutex.ts'
import { SharedBudget } from '../lib/limits/shared-budget.ts'
import { Notifier } from '../lib/notifier.ts'
import type { Pulses } from './global/pulse.ts'
import type { Waits } from './global/waits.ts'
import type { Loop, ProcessFollower } from './loop.ts'

/** Maximum waits, and maximum streams, per credential. */
const perCredential = 3
/** Maximum event streams per person. The oldest stream is closed to make room for a new one. */
const perPerson = 4
/** Maximum waits, and maximum streams, per process. Each uses a socket and about 20 KiB. */
const perProcess = 10_000
const taskStreamsPerKey = 100
/** Limits for files in transfer. Each may use half a megabyte of memory until the client has read it. */
const downloadLimits = { perKey: 20, perGroup: 60, total: 200 }
/** Limits for lists in preparation or transfer. A client that requests every list when it starts requests six. */
const listLimits = { perKey: 6, perGroup: 200, total: 1_000 }
/**
 * Total bytes of lists and tasks in preparation or transfer, which take several times as much memory. A single account
 * gets a quarter of these bytes, and a key gets two thirds of that, which is enough for the largest task.
 */
const answerBytes = { max: 64_000_000, accountDivisor: 3, keyDivisor: 11 }

const appendMs = 100

export interface Waiting {
  /** Wakes waits for an agent, a person or a task. Follows the log. */
  readonly notifier: Notifier
  /** Waiting reads, by credential and account. */
  readonly reads: ConcurrencyLimit
  /** Event streams of any kind, by credential and account. */
  readonly streams: ConcurrencyLimit
  readonly pages: ConcurrencyLimit
  /** List responses until they are sent, by credential and account. */
  readonly lists: ConcurrencyLimit
  /** Files until they are sent, by credential or user, and by account. */
  readonly downloads: ConcurrencyLimit
  /** The bytes of responses and events until they are sent, by account and by credential. */
  readonly answerBytes: { readonly ofAccounts: SharedBudget; readonly ofKeys: SharedBudget }
  /** Calls that follow a task or wait for it, by credential and account. */
  readonly taskStreams: ConcurrencyLimit
  readonly appends: Batcher<TaskAppend>
  /** Orders the checks of a task's chunks, so that each chunk is checked with the end of the chunk before it. */
  readonly checkedChunks: KeyedMutex
  /** Orders reservations, by account and space, so that each agent sees the reservations of the agent before it. */
  readonly reservations: KeyedMutex
}

/** An artifact chunk that is appended to the previous chunks. */
export interface TaskAppend {
  artifactId: string
  /** Parts in their 1.0 form. */
  parts: readonly unknown[]
  lastChunk: boolean
}

/** How often the database is polled for other processes' commits while there are waits. */
const pollMs = 200
const maxRows = 1_000

/** `isAlone` means that no other process uses the database. */
export function openWaiting(
  deps: Deps,
  { pulses, waits }: { pulses: Pulses; waits: Waits },
  loop: Loop,
  isAlone: boolean,
): Waiting {
  const limits = { perKey: perCredential, perGroup: deps.limits.waitsPerAccount, total: perProcess }
  const notifier = new Notifier(() => loop.wake())
  deps.stopping?.addEventListener('abort', () => notifier.notifyAll(), { once: true })

  const wakes = {
    isActive: () => notifier.hasSubscribers,
    pollMs: isAlone ? Infinity : pollMs,
    limit: maxRows,
    begin: () => notifier.notifyAll(),
  }
  // A repeated wake is harmless: a wait that finds nothing new continues.
  const followers: ProcessFollower[] = [
    {
      ...wakes,
      name: 'waits for messages',
      end: ({ messages }) => messages,
      next: pulses.nextMessages,
      apply: async (batch) => notifier.notify(await waits.recipients(batch)),
    },
    {
      ...wakes,
      name: 'waits for events',
      end: ({ events }) => events,
      next: pulses.nextEvents,
      apply: async (batch) => notifier.notify(await waits.subjects(batch)),
    },
  ]
  for (const follower of followers) loop.follow(follower)

  return {
    notifier,
    reads: new ConcurrencyLimit(limits),
    streams: new ConcurrencyLimit(limits),
    pages: new ConcurrencyLimit({ ...limits, perKey: perPerson }),
    lists: new ConcurrencyLimit(listLimits),
    downloads: new ConcurrencyLimit(downloadLimits),
    answerBytes: {
      ofAccounts: new SharedBudget(answerBytes.max, answerBytes.accountDivisor),
      ofKeys: new SharedBudget(2 * answerBytes.max, answerBytes.keyDivisor),
    },
    taskStreams: new ConcurrencyLimit({ ...limits, perKey: taskStreamsPerKey }),
    appends: new Batcher(appendMs),
    checkedChunks: new KeyedMutex(),
    reservations: new KeyedMutex(),
  }
}
