import { GridError } from '../errors.ts'

interface Line {
  last: Promise<unknown>
  length: number
}

/** Runs the tasks of one key one after the other; keys do not wait for each other. */
export class Turns {
  readonly #lines = new Map<string, Line>()
  readonly #longest: number

  /** `longest` is how many tasks of one key may be under way or wait. */
  constructor(longest: number) {
    this.#longest = longest
  }

  /** Resolves or rejects as `task` does, once those before it have settled. Fails with `unavailable` when too many wait. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) ?? { last: Promise.resolve(), length: 0 }
    if (line.length >= this.#longest) {
      throw new GridError(
        'unavailable',
        'Too many changes of this account are under way. Repeat the call in a moment.',
        {
          retryAfterSeconds: 1,
        },
      )
    }
    this.#lines.set(key, line)
    line.length++
    const mine = line.last.then(task, task)
    line.last = mine.catch(() => {})
    try {
      return await mine
    } finally {
      line.length--
      if (line.length === 0) this.#lines.delete(key)
    }
  }
}
