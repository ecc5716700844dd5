/** The event stream that a person's open pages receive. */
import type { Store } from '../../src/store/store.ts'
import type { Browser } from './browse.ts'
import { follow } from './conversations.ts'
import { readEvents } from './events.ts'

/** An event of a stream. */
interface LiveEvent {
  name: string
  id: number | undefined
  // deno-lint-ignore no-explicit-any
  data: any
}

export interface OpenLive {
  /** Returns the next event with one of these names; without names, the next event. Fails when the stream ends. */
  next(...names: string[]): Promise<LiveEvent>
  /** Returns all events until the stream ends. */
  rest(): Promise<LiveEvent[]>
  close(): Promise<void>
}

/** Opens the stream for the query `watch`, and reads the `hello` event. */
export async function openLive(one: Pick<Browser, 'request'>, watch: string, more = ''): Promise<OpenLive> {
  const live = liveOf(await one.request(`/live?watch=${watch}${more}`))
  await live.next('hello')
  return live
}

/** Reads the events of a `/live` response. */
export function liveOf(response: Response): OpenLive {
  if (response.status !== 200) throw new Error(`/live answered ${response.status}`)
  const { event, frame, close } = readEvents(response)
  return {
    async next(...names) {
      for (;;) {
        const found = parsed(await inTime(event(), names.join(' or ')))
        if (names.length === 0 || names.includes(found.name)) return found
      }
    },
    async rest() {
      const found: LiveEvent[] = []
      for (let one; (one = await frame()) !== undefined;) if (one.includes('data:')) found.push(parsed(one))
      return found
    },
    close,
  }
}

/** Fails after 20 s, with the name of the expected event. */
async function inTime<T>(coming: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited 20 s in vain for ${what}`)), 20_000)
  })
  return await Promise.race([coming, late]).finally(() => clearTimeout(timer))
}

function parsed(frame: string): LiveEvent {
  const fields = new Map(frame.split('\n').map((line) => line.split(/: (.*)/) as [string, string]))
  const id = fields.get('id')
  return {
    name: fields.get('event')!,
    id: id === undefined ? undefined : Number(id),
    data: JSON.parse(fields.get('data')!),
  }
}

/** Places new messages in conversations, as a server's worker does. Returns a function that stops it. */
export function following(store: Store): () => Promise<void> {
  return follow(store)
}
