/** A value, or the promise of one that was asked for beside others. */
export type Awaitable<T> = T | Promise<T>
