/** Returns a function that calls `create` on its first call, and returns that result on every call. */
export function once<T>(create: () => T): () => T {
  let created: { value: T } | undefined
  return () => (created ??= { value: create() }).value
}
