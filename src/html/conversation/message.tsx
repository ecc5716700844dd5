/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { clockAt } from '../../lib/time.ts'
import { AgentIcon } from '../agent-icon.tsx'
import { Name } from '../bidi.tsx'
import { Badge, LocalTime, useClock, useZone } from '../components.tsx'
import { Icon } from '../icons.tsx'
import { Markdown } from '../markdown.tsx'
import { Choices, type ShownChoices } from './choices.tsx'
import { Face } from './faces.tsx'
import { type ShownTask, TaskChip } from './task-chip.tsx'
import { type ReadBy, type ShownReceipt, StateLine } from './state-line.tsx'

export interface ShownSender {
  /** The sender's name, with `@`. */
  name: string
  kind: 'agent' | 'human' | 'system'
  /** Whether the message was sent over A2A. */
  isA2a: boolean
  /** The external source of the message. */
  via: 'slack' | 'hook' | null
  /** Whether the sender belongs to another account. */
  isForeign: boolean
}

/** A part of a message other than its text. `size` is formatted text, not a number. */
export interface ShownPart {
  name: string
  type: string
  size: string
  href?: string
}

/** A message in a conversation. Times are milliseconds since the epoch. */
export interface ShownMessage {
  seq: number
  from: ShownSender
  /** The recipient, `@alias` or `#name`. Undefined if the conversation has only one recipient. */
  to?: string
  at: number
  /** The text, possibly truncated. */
  text: string
  /** The length and address of the full text, if `text` is truncated. */
  whole?: { characters: number; href: string }
  /** The message that this one replies to, in one line. */
  quote?: { from: string; text: string; href: string }
  parts: ShownPart[]
  choices?: ShownChoices
  /** Sentences about guardrail actions on this message. */
  verdicts: { text: string; isBad: boolean }[]
  receipts: ShownReceipt[]
  /** The task that the message belongs to. */
  task?: ShownTask
  /** How many recipients have read the message. Shown instead of `receipts` if it has many recipients. */
  readBy?: ReadBy
  /** The page with all messages of this message's reply chain, if there are others. */
  chainHref?: string
  /** The message's conversation, on a page with messages of several conversations. */
  threadHref?: string
  /** The page where the reader can reply. */
  replyHref?: string
  /** The page where the reader can retract the message. */
  retractHref?: string
  /** Whether the message is addressed to the reader and unread. */
  isUnread: boolean
}

/** A line about an event, shown between the messages. For example, a guardrail refused a send. */
export interface ShownNote {
  at: number
  text: Child
}

/** Maximum pause between a sender's messages in a run, in milliseconds. Only a run's first message shows the sender. */
const longestRun = 5 * 60_000

export interface ShownMessages {
  messages: ShownMessage[]
  /** The notes between the messages, oldest first. */
  notes?: ShownNote[]
  /** The message before `messages`. The first of `messages` may continue the run of that message. */
  before?: ShownMessage
  /** The `seq` of the first new message. A line above it marks new messages. */
  firstNew?: number
  /** Whether each message embeds its sender's icon, because the page may not contain it. */
  hasOwnFaces?: boolean
  now: number
}

/** Lists messages in order, with a line for each day. `thread` is the conversation's id. */
export function MessageList({ thread, ...shown }: ShownMessages & { thread: number }) {
  return (
    <div role='log' aria-live='off' aria-label='Messages'>
      <ol class='messages' data-thread={thread} data-seq={shown.messages.at(-1)?.seq ?? 0}>
        <MessageItems {...shown} />
      </ol>
    </div>
  )
}

/** The items of a `MessageList`, also for appending to a list on an open page. */
export function MessageItems({ messages, notes = [], before, firstNew, hasOwnFaces, now }: ShownMessages) {
  const zone = useZone()
  const newest = messages.findIndex(({ seq }) => firstNew !== undefined && seq >= firstNew)
  return (
    <>
      {messages.map((message, n) => {
        const previous = messages[n - 1] ?? before
        const noted = notes.filter(({ at }) => at < message.at && (n === 0 || at >= messages[n - 1].at))
        return (
          <>
            {dayOf(zone, message) !== dayOf(zone, previous) && <DayRule at={message.at} />}
            {noted.map((note) => <Note {...note} />)}
            {n === newest && <li class='day new' id='new'>New</li>}
            <Message
              message={message}
              isFirst={n === newest || noted.length > 0 || !continues(zone, previous, message)}
              hasOwnFace={hasOwnFaces}
              now={now}
            />
          </>
        )
      })}
      {notes.filter(({ at }) => !messages.some((message) => message.at > at)).map((note) => <Note {...note} />)}
    </>
  )
}

function Note({ at, text }: ShownNote) {
  return (
    <li class='note'>
      <Icon name='warning' size={14} />
      <span>{text}</span>
      <LocalTime at={at} as='time' />
    </li>
  )
}

function dayOf(zone: string, message: ShownMessage | undefined): string | undefined {
  return message && clockAt(zone, message.at).toISOString().slice(0, 10)
}

function continues(zone: string, before: ShownMessage | undefined, message: ShownMessage): boolean {
  return before !== undefined && before.from.name === message.from.name && before.to === message.to &&
    message.quote === undefined && message.at - before.at < longestRun && dayOf(zone, before) === dayOf(zone, message)
}

function DayRule({ at }: { at: number }) {
  const [weekday, day, month, year] = useClock(at).toUTCString().split(' ')
  return (
    <li class='day'>
      <time datetime={new Date(at).toISOString()} data-local='day'>
        {weekday.slice(0, 3)} {Number(day)} {month} {year}
      </time>
    </li>
  )
}

function Message(
  { message, isFirst, hasOwnFace, now }: { message: ShownMessage; isFirst: boolean; hasOwnFace?: boolean; now: number },
) {
  const {
    seq,
    from,
    to,
    at,
    quote,
    verdicts,
    receipts,
    task,
    readBy,
    chainHref,
    threadHref,
    replyHref,
    retractHref,
    isUnread,
  } = message
  const classes = [isFirst && 'first', isUnread && 'unread'].filter(Boolean).join(' ')
  return (
    <li id={`m${seq}`} class={classes || undefined}>
      {isFirst && <SenderLine from={from} to={to} hasOwnFace={hasOwnFace} />}
      {quote && (
        <a class='quote' href={quote.href}>
          <Name text={quote.from} />: <span dir='auto'>{quote.text}</span>
        </a>
      )}
      <MessageText message={message} />
      <div class='below'>
        <a href={`#m${seq}`}>
          <LocalTime at={at} as='time' />
        </a>
        {verdicts.map(({ text, isBad }) => <Badge kind={isBad ? 'bad' : 'warning'}>{text}</Badge>)}
        {task && <TaskChip task={task} />}
        <StateLine receipts={receipts} readBy={readBy} at={at} now={now} />
        {replyHref && <a href={replyHref}>Reply</a>}
        {retractHref && <a href={retractHref}>Retract</a>}
        {chainHref && <a href={chainHref}>Chain</a>}
        {threadHref && <a href={threadHref}>Open</a>}
      </div>
    </li>
  )
}

export function SenderLine(
  { from, to, hasOwnFace, children }: { from: ShownSender; to?: string; hasOwnFace?: boolean; children?: Child },
) {
  const alias = from.name.replace('@', '')
  return (
    <div class='from'>
      {hasOwnFace ? <AgentIcon alias={alias} /> : <Face name={alias} />}
      <b>
        <Name text={from.name} />
      </b>
      <SenderBadges from={from} />
      {to && (
        <span class='soft'>
          to <Name text={to} />
        </span>
      )}
      {children}
    </div>
  )
}

function SenderBadges({ from: { kind, isA2a, via, isForeign } }: { from: ShownSender }) {
  const badges: Child[] = []
  if (kind !== 'agent') badges.push(<Badge kind='info'>{kind === 'human' ? 'person' : kind}</Badge>)
  if (isA2a) badges.push(<Badge>A2A</Badge>)
  badges.push(<Via via={via} />)
  if (isForeign) badges.push(<Badge kind='warning'>other account</Badge>)
  return <>{badges}</>
}

/** Marks a message from an external source. Anyone with the keys of the source can write under any name. */
export function Via({ via }: { via: 'slack' | 'hook' | null }) {
  return via === null ? null : <Badge>{via === 'slack' ? 'via Slack' : 'from outside'}</Badge>
}

/** A message's text, the link to its full text, its parts, and the answers it offers. */
export function MessageText(
  { message: { text, whole, parts, choices } }: {
    message: Pick<ShownMessage, 'text' | 'whole' | 'parts' | 'choices'>
  },
) {
  return (
    <div class='text'>
      <Markdown text={text} />
      {whole && (
        <span class='whole'>
          <a href={whole.href}>Show all {whole.characters.toLocaleString('en')} characters</a>
        </span>
      )}
      {parts.map((part) => <Part part={part} />)}
      {choices && <Choices {...choices} />}
    </div>
  )
}

/** A file or data, with a download link, type and size. `children` is its content. */
export function Part({ part: { name, type, size, href }, children }: { part: ShownPart; children?: Child }) {
  return (
    <div class='part'>
      {href
        ? (
          <a href={href}>
            <Name text={name} />
          </a>
        )
        : <Name text={name} />}{' '}
      <span class='soft'>
        <Name text={[type, size].filter(Boolean).join(', ')} />
      </span>
      {href && pictures.includes(type) && <Picture href={href} name={name} />}
      {children}
    </div>
  )
}

/** Media types that browsers display without executing anything in them. */
const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** An image that is fetched only when opened, because content from others may be large or unwanted. */
function Picture({ href, name }: { href: string; name: string }) {
  return (
    <details class='picture'>
      <summary>Show picture</summary>
      <img src={href} alt={name} loading='lazy' />
    </details>
  )
}
