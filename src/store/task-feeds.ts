/**
 * The events of the tasks that somebody in this process follows. However many follow a task, its events are read once.
 *
 * See docs/delivery.md, "Tasks".
 */
import { type Notifier, Signal } from '../lib/notifier.ts'
import type { TaskEventRow } from './account/tasks.ts'

/** How many events of a task are kept for those who follow it. Who is further behind is dropped. */
const maxKept = 500
/** How many events one query returns. */
export const maxEventsRead = 200

/** Reads the events of a task behind a number, at most `limit`. */
export type ReadEvents = (after: number, limit: number) => Promise<TaskEventRow[]>

/** One task that is followed. */
class Feed {
  readonly #read: ReadEvents
  readonly followers = new Set<Signal>()
  /** The newest events, without gaps. */
  kept: TaskEventRow[] = []
  /** The number of the newest event that was read. */
  position: number
  error: unknown
  readonly #changed = new Signal()
  readonly #unwatch: () => void
  #hasEnded = false

  constructor(notifier: Notifier, task: string, position: number, read: ReadEvents) {
    this.#read = read
    this.position = position
    this.#unwatch = notifier.watch(task, this.#changed)
    // What happened before it was watched.
    this.#changed.raise()
    void this.#run()
  }

  end(): void {
    this.#hasEnded = true
    this.#unwatch()
    this.#changed.raise()
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#changed.raised()
      if (this.#hasEnded) return
      try {
        for (let count = maxEventsRead; count === maxEventsRead;) {
          const events = await this.#read(this.position, maxEventsRead)
          count = events.length
          if (count === 0) break
          this.position = events[count - 1].n
          this.kept = [...this.kept, ...events].slice(-maxKept)
          for (const follower of this.followers) follower.raise()
        }
      } catch (error) {
        this.error = error
        for (const follower of this.followers) follower.raise()
      }
    }
  }
}

/** Somebody who follows a task. */
export interface TaskFollower {
  /**
   * The events behind a number that were read since; undefined if they are no longer kept. Fails if they could not be
   * read.
   */
  after(n: number): TaskEventRow[] | undefined
  leave(): void
}

/** The tasks that are followed in this process, by id. */
export class TaskFeeds {
  readonly #notifier: Notifier
  readonly #feeds = new Map<string, Feed>()

  constructor(notifier: Notifier) {
    this.#notifier = notifier
  }

  /** Follow a task from the event `n` on: `signal` is raised when there are more. All of a task read with the first `read`. */
  follow(task: string, n: number, signal: Signal, read: ReadEvents): TaskFollower {
    let feed = this.#feeds.get(task)
    // After a failed read it begins again.
    if (!feed || feed.error !== undefined) {
      this.#feeds.set(task, feed = new Feed(this.#notifier, task, n, read))
    }
    const followed = feed
    followed.followers.add(signal)
    return {
      after(n) {
        if (followed.error !== undefined) throw followed.error
        if (followed.position <= n) return []
        const { kept } = followed
        return kept.length > 0 && kept[0].n <= n + 1 ? kept.filter((event) => event.n > n) : undefined
      },
      leave: () => {
        followed.followers.delete(signal)
        if (followed.followers.size > 0) return
        followed.end()
        if (this.#feeds.get(task) === followed) this.#feeds.delete(task)
      },
    }
  }
}
