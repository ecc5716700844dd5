/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { LocalTime, timeInWords, useZone } from '../components.tsx'

/** The final states of an unread message. `withdrawn` means that its task was canceled. */
const ended = ['withdrawn', 'expired', 'retracted'] as const

/** The delivery state of a message at one recipient. `waiting` means unread for longer than usual. */
export type DeliveryState =
  | 'stored'
  | 'waiting'
  | 'leased'
  | 'released'
  | 'read'
  | 'replied'
  | 'parked'
  | (typeof ended)[number]

/** The delivery of a message to one recipient. Times are milliseconds since the epoch. */
export interface ShownReceipt {
  alias: string
  state: DeliveryState
  /** The events in order, each with its name, such as `stored` or `read`. */
  events: { event: string; at: number }[]
}

/** A state's symbol, drawn by the style sheet. States differ in shape as well as colour. Decorative. */
function StateDot({ state }: { state: DeliveryState }) {
  return <i class={`state ${isEnded(state) ? 'stored' : state}`}></i>
}

/** Whether the state is final and the recipient has not read the message. */
export function isEnded(state: string): boolean {
  return (ended as readonly string[]).includes(state)
}

const worst: DeliveryState[] = ['parked', 'released', 'waiting', 'stored', 'leased', ...ended, 'read', 'replied']

/** How many recipients have read a message. */
export interface ReadBy {
  recipients: number
  read: number
  parked: number
  expired: number
  retracted: number
  href: string
}

/** Summarizes a message's delivery in one line. It expands to each recipient's times, or links to them. */
export function StateLine(
  { receipts, readBy, at, now }: { receipts: ShownReceipt[]; readBy?: ReadBy; at: number; now: number },
) {
  const zone = useZone()
  if (readBy && readBy.recipients > 0) {
    const state = readBy.parked > 0 ? 'parked' : readBy.read === readBy.recipients ? 'read' : 'stored'
    return (
      <a class='state-line' href={readBy.href}>
        <StateDot state={state} />
        {readBy.retracted > 0 ? wordsOfEnd.retracted : readByWords(readBy)}
      </a>
    )
  }
  if (receipts.length === 0) return <span class='state-line'>had no recipients</span>
  const states = receipts.map(({ state }) => state)
  const state = worst.find((candidate) => states.includes(candidate))!
  const summary = (
    <>
      <StateDot state={state} />
      {receipts.length === 1
        ? wordsOf(receipts[0], at, now, zone)
        : readByWords({ read: readOf(states), recipients: states.length, expired: 0 })}
    </>
  )
  const [{ events }] = receipts
  if (receipts.length === 1 && events.length < 2) return <span class='state-line'>{summary}</span>
  return (
    <details class='state-line'>
      <summary>{summary}</summary>
      {receipts.length === 1 ? <p>{eventsInWords(events)}</p> : (
        <ul>
          {receipts.map(({ alias, state, events }) => (
            <li>
              <StateDot state={state} />
              <bdi>@{alias}</bdi>
              <span>{eventsInWords(events)}</span>
            </li>
          ))}
        </ul>
      )}
    </details>
  )
}

/** Describes the events with times since the first one: `stored, woken after 3 ms, read after 4 s`. */
function eventsInWords(events: ShownReceipt['events']): string {
  return events.map(({ event, at }, n) => n === 0 ? event : `${event} after ${durationInWords(at - events[0].at)}`)
    .join(', ')
}

/** A message's delivery to one recipient, with all times. */
export function ReceiptItem({ receipt, at, now }: { receipt: ShownReceipt; at: number; now: number }) {
  return (
    <li>
      <StateDot state={receipt.state} />
      <bdi>@{receipt.alias}</bdi>
      <span>{wordsOf(receipt, at, now, useZone())}</span>
      {receipt.events.map(({ event, at }) => (
        <span class='soft'>
          {event} <LocalTime at={at} as='second' />
        </span>
      ))}
    </li>
  )
}

function readOf(states: DeliveryState[]): number {
  return states.filter((state) => state === 'read' || state === 'replied').length
}

function readByWords({ read, recipients, expired }: Pick<ReadBy, 'read' | 'recipients' | 'expired'>): string {
  const words = `${read.toLocaleString('en')} of ${recipients.toLocaleString('en')} read`
  return expired === 0 ? words : `${words}, expired for ${expired.toLocaleString('en')}`
}

const wordsOfEnd = {
  withdrawn: 'canceled before it was read',
  expired: 'expired before it was read',
  retracted: 'retracted before it was read',
}

function wordsOf({ state, events }: ShownReceipt, at: number, now: number, zone: string): string {
  const last = events.at(-1)?.at ?? at
  switch (state) {
    case 'stored':
      return 'not read yet'
    case 'waiting':
      return `waiting, sent ${timeInWords(at, now, zone)}`
    case 'leased':
      return 'being read'
    case 'released':
      return 'handed back, unread again'
    case 'read':
      return `read ${afterWords(last - at)}`
    case 'replied':
      return `answered ${afterWords(last - at)}`
    case 'parked':
      return 'parked'
    default:
      return wordsOfEnd[state]
  }
}

function afterWords(ms: number): string {
  return ms < 1 ? 'at once' : `after ${durationInWords(ms)}`
}

/** Formats milliseconds as `4 s`, `5 min`, `3 h` or `2 d`. */
export function durationInWords(ms: number): string {
  const steps: [size: number, name: string][] = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1_000, 's']]
  const [size, name] = steps.find(([size]) => ms >= size) ?? [1, 'ms']
  return `${Math.max(0, Math.floor(ms / size))} ${name}`
}
