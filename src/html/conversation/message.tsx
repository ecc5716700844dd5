/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Name } from '../bidi.tsx'
import { Badge, LocalTime } from '../components.tsx'
import { Markdown } from '../markdown.tsx'
import { Face } from './faces.tsx'
import { type ShownReceipt, StateLine } from './state-line.tsx'

/** Who wrote a message. */
export interface ShownSender {
  /** With `@`. */
  name: string
  kind: 'agent' | 'human' | 'system'
  /** It came over A2A. */
  isA2a: boolean
  /** It belongs to another account. */
  isForeign: boolean
}

/** A message in a conversation. Times are milliseconds since the epoch. */
export interface ShownMessage {
  seq: number
  from: ShownSender
  /** As addressed: `@alias` or `#name`; undefined where the conversation has only one. */
  to?: string
  at: number
  /** The text, or its beginning. */
  text: string
  /** If only the beginning is shown: the length of the whole text, and where it is. */
  whole?: { characters: number; href: string }
  /** The message that it answers, in one line. */
  quote?: { from: string; text: string; href: string }
  /** What belongs to the message besides its text. `size` is in words. */
  parts: { name: string; type: string; size: string; href?: string }[]
  /** What guardrails did to it, as sentences. */
  verdicts: { text: string; isBad: boolean }[]
  receipts: ShownReceipt[]
  /** Where all messages that began with the same one are, if there are others. */
  chainHref?: string
  /** Where the reader can answer it. */
  replyHref?: string
  /** It is for the reader, who has not read it. */
  isUnread: boolean
}

/** Within this time the messages of one sender are a run, in milliseconds: only the first shows who wrote it. */
const longestRun = 5 * 60_000

/** Messages in their order, with a line for each day. */
export function MessageList({ messages, now }: { messages: ShownMessage[]; now: number }) {
  return (
    <div role='log' aria-live='off' aria-label='Messages'>
      <ol class='messages'>
        {messages.map((message, n) => (
          <>
            {dayOf(message) !== dayOf(messages[n - 1]) && <DayRule at={message.at} />}
            <Message message={message} isFirst={!continues(messages[n - 1], message)} now={now} />
          </>
        ))}
      </ol>
    </div>
  )
}

function dayOf(message: ShownMessage | undefined): string | undefined {
  return message && new Date(message.at).toISOString().slice(0, 10)
}

function continues(before: ShownMessage | undefined, message: ShownMessage): boolean {
  return before !== undefined && before.from.name === message.from.name && before.to === message.to &&
    message.quote === undefined && message.at - before.at < longestRun && dayOf(before) === dayOf(message)
}

/** The first message of a day. */
function DayRule({ at }: { at: number }) {
  const [weekday, day, month, year] = new Date(at).toUTCString().split(' ')
  return (
    <li class='day'>
      <time datetime={new Date(at).toISOString()} data-local='day'>
        {weekday.slice(0, 3)} {Number(day)} {month} {year}
      </time>
    </li>
  )
}

function Message({ message, isFirst, now }: { message: ShownMessage; isFirst: boolean; now: number }) {
  const { seq, from, to, at, quote, verdicts, receipts, chainHref, replyHref, isUnread } = message
  const classes = [isFirst && 'first', isUnread && 'unread'].filter(Boolean).join(' ')
  return (
    <li id={`m${seq}`} class={classes || undefined}>
      {isFirst && (
        <div class='from'>
          <Face name={from.name.replace('@', '')} />
          <b>
            <Name text={from.name} />
          </b>
          <SenderBadges from={from} />
          {to && (
            <span class='soft'>
              to <Name text={to} />
            </span>
          )}
        </div>
      )}
      {quote && (
        <a class='quote' href={quote.href}>
          <Name text={quote.from} />: <span dir='auto'>{quote.text}</span>
        </a>
      )}
      <MessageText message={message} />
      <div class='below'>
        <a href={`#m${seq}`} class='at'>
          <LocalTime at={at} as='time' />
        </a>
        {verdicts.map(({ text, isBad }) => <Badge kind={isBad ? 'bad' : 'warning'}>{text}</Badge>)}
        <StateLine receipts={receipts} at={at} now={now} />
        {replyHref && <a href={replyHref}>Reply</a>}
        {chainHref && <a href={chainHref}>Chain</a>}
      </div>
    </li>
  )
}

function SenderBadges({ from: { kind, isA2a, isForeign } }: { from: ShownSender }) {
  const badges: Child[] = []
  if (kind !== 'agent') badges.push(<Badge kind='info'>{kind}</Badge>)
  if (isA2a) badges.push(<Badge>A2A</Badge>)
  if (isForeign) badges.push(<Badge kind='warning'>other account</Badge>)
  return <>{badges}</>
}

function MessageText({ message: { text, whole, parts } }: { message: ShownMessage }) {
  return (
    <div class='text'>
      <Markdown text={text} />
      {whole && (
        <span class='whole'>
          <a href={whole.href}>Show all {whole.characters.toLocaleString('en')} characters</a>
        </span>
      )}
      {parts.map(({ name, type, size, href }) => (
        <span class='part'>
          {href
            ? (
              <a href={href}>
                <Name text={name} />
              </a>
            )
            : <Name text={name} />} <span class='soft'>{type}, {size}</span>
        </span>
      ))}
    </div>
  )
}
