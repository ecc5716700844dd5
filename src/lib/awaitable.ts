/** A value or its promise. */
export type Awaitable<T> = T | Promise<T>
