/** What a stream of open pages tells. See docs/delivery.md, "Live pages". */

/** Why a stream ends: `account` means that the user may not see it any more. */
export type LiveEnd =
  | { why: 'session' | 'replaced' | 'full' | 'stopping' | 'unavailable' }
  | { why: 'account'; a: string }

/** An event. `a` is the id of an account, `t` of a thread. `id`: everything up to this message was told. */
export interface LiveEvent {
  name: 'hello' | 'thread' | 'state' | 'presence' | 'count' | 'resync' | 'beat' | 'bye'
  data: Record<string, unknown>
  id?: number
}

/** The newest event of each thread, agent and count, in the order of the log. `atMost` limits their ids. */
export function inOrder(events: LiveEvent[], atMost = Infinity): LiveEvent[] {
  const newest = new Map<string, LiveEvent>()
  for (const event of [...events].sort((a, b) => (a.id ?? 0) - (b.id ?? 0))) {
    const { name, data: { a, t, agent } } = event
    const key = name === 'state' ? `state ${newest.size}` : `${name} ${a} ${t ?? agent}`
    newest.delete(key)
    newest.set(key, event.id !== undefined && event.id > atMost ? { ...event, id: atMost } : event)
  }
  return [...newest.values()]
}

/** The page reads everything again. */
export function resync(position: number): LiveEvent {
  return { name: 'resync', data: {}, id: position }
}

/** The last event of a stream. */
export function bye(end: LiveEnd): LiveEvent {
  return { name: 'bye', data: { ...end } }
}
