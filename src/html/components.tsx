/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type Child, createContext, useContext } from 'hono/jsx'
import { clockAt, utc } from '../lib/time.ts'
import { Icon, type IconName } from './icons.tsx'

export type BadgeKind = 'plain' | 'good' | 'warning' | 'bad' | 'info'

/**
 * A one-word label, such as a role or a state. `hasDot` marks a state. `title` is the tooltip for text that may be
 * truncated.
 */
export function Badge(
  { kind = 'plain', hasDot, title, children }: { kind?: BadgeKind; hasDot?: boolean; title?: string; children: Child },
) {
  const classes = ['badge', kind === 'plain' ? '' : kind, hasDot && 'dot'].filter(Boolean).join(' ')
  return <span class={classes} title={title} dir={title === undefined ? undefined : 'auto'}>{children}</span>
}

export type NoticeKind = 'info' | 'good' | 'warning' | 'bad'

const noticeIcons = { info: 'info', good: 'check', warning: 'warning', bad: 'warning' } as const

/** A notice on the page. Screen readers announce it. The kind `bad` interrupts them. */
export function Notice({ kind = 'info', title, children }: { kind?: NoticeKind; title?: string; children?: Child }) {
  return (
    <div class={kind === 'info' ? 'notice' : `notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <Icon name={noticeIcons[kind]} />
      <div>
        {title && <strong>{title}</strong>}
        {children && <div>{children}</div>}
      </div>
    </div>
  )
}

/** Replaces an empty list. Describes what the list will contain, and offers the first step. */
export function EmptyState(
  { icon, title, children, action }: { icon: IconName; title: string; children?: Child; action?: Child },
) {
  return (
    <div class='empty'>
      <div class='picture'>
        <Icon name={icon} size={26} />
      </div>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}

/** A titled section. With `isFlush`, a table or list extends to its edges. `isDanger` marks an irreversible action. */
export function Card(
  { title, lead, actions, isFlush, isDanger, id, children }: {
    title?: string
    lead?: Child
    actions?: Child
    isFlush?: boolean
    isDanger?: boolean
    id?: string
    children?: Child
  },
) {
  const classes = ['card', isFlush && 'flush', isDanger && 'danger'].filter(Boolean).join(' ')
  return (
    <section class={classes} id={id}>
      {title && (
        <div class='card-head'>
          <div>
            <h2>{title}</h2>
            {lead && <p>{lead}</p>}
          </div>
          {actions && <div class='row'>{actions}</div>}
        </div>
      )}
      {children}
    </section>
  )
}

/**
 * Content that expands below its title. Within a `group`, only one is open at a time. With `isNarrow`, it is collapsed
 * only in narrow windows. In browsers that cannot force it open, it is also collapsed in wide windows.
 */
export function Disclosure(
  { title, group, isOpen, isNarrow, children }: {
    title: Child
    group?: string
    isOpen?: boolean
    isNarrow?: boolean
    children: Child
  },
) {
  return (
    <details class={isNarrow ? 'fold narrow' : 'fold'} name={group} open={isOpen}>
      <summary>
        <Icon name='next' size={14} />
        {title}
      </summary>
      <div>{children}</div>
    </details>
  )
}

/** A list of terms and values. Omits terms whose value is `false`, `null` or `undefined`. */
export function Facts({ items }: { items: [term: string, fact: Child][] }) {
  return (
    <dl class='facts'>
      {items.filter(([, fact]) => fact !== false && fact != null).map(([term, fact]) => (
        <>
          <dt>{term}</dt>
          <dd>{fact}</dd>
        </>
      ))}
    </dl>
  )
}

/**
 * Content next to a column of facts. In narrow windows, the facts are above the content and collapsed. `summary` then
 * shows the most important facts in one line.
 */
export function WithFacts({ summary, facts, children }: { summary: Child; facts: Child; children: Child }) {
  return (
    <div class='with-facts'>
      <details class='fold facts-fold'>
        <summary>
          <Icon name='next' size={14} />
          <span>{summary}</span>
        </summary>
        <div class='stack'>{facts}</div>
      </details>
      <div class='stack'>{children}</div>
    </div>
  )
}

/** A link to the parent page. */
export function BackLink({ title, href }: { title: string; href: string }) {
  return (
    <a class='back row' href={href}>
      <Icon name='back' size={14} />
      {title}
    </a>
  )
}

export function Tabs(
  { label, items }: { label: string; items: { title: string; href: string; isCurrent?: boolean }[] },
) {
  return (
    <nav class='tabs' aria-label={label}>
      {items.map(({ title, href, isCurrent }) => (
        <a href={href} aria-current={isCurrent ? 'page' : undefined}>{title}</a>
      ))}
    </nav>
  )
}

/** A time relative to `now`, both in milliseconds since the epoch. `never` for null. The tooltip has the exact time. */
export function Time({ at, now }: { at: number | null; now: number }) {
  if (at === null) return <span class='soft'>never</span>
  const exact = new Date(at).toISOString()
  return (
    <time datetime={exact} title={`${exact.slice(0, 16).replace('T', ' ')} UTC`}>
      {timeInWords(at, now, useZone())}
    </time>
  )
}

/** The time zone of the page's reader, as resolved by `knownZone` of `lib/time.ts`. */
export const TimeZone = createContext(utc)

export function useZone(): string {
  return useContext(TimeZone)
}

/** Returns the local time in the page's zone, as a `Date` whose UTC fields contain it. `at` is in milliseconds. */
export function useClock(at: number): Date {
  return clockAt(useZone(), at)
}

/**
 * A date and time in the reader's time zone, or labelled as UTC if the zone is unknown. The tooltip has the UTC time.
 * `at` is in milliseconds since the epoch. `time` and `second` show only the time of day, for contexts that make the
 * day clear.
 */
export function LocalTime({ at, as = 'date' }: { at: number; as?: 'date' | 'time' | 'second' }) {
  const exact = new Date(at).toISOString()
  const clock = useClock(at)
  const shown = clock.toISOString()
  const time = shown.slice(11, 16)
  if (as === 'time') return <time datetime={`${exact.slice(0, 16)}Z`} data-local='time'>{time}</time>
  if (as === 'second') return <time datetime={`${exact.slice(0, 19)}Z`} data-local='second'>{shown.slice(11, 19)}</time>
  return (
    <time datetime={exact} title={`${exact.slice(0, 19).replace('T', ' ')} UTC`} data-local='date'>
      {dateInWords(at, useZone())}, {time}
      {useZone() === utc && ' UTC'}
    </time>
  )
}

const units: [name: string, ms: number, below: number][] = [
  ['min', 60_000, 3_600_000],
  ['h', 3_600_000, 86_400_000],
  ['d', 86_400_000, 7 * 86_400_000],
]

/** Formats a time as `just now`, `5 min ago` or `in 3 h`, or after a week as a date in the time zone: `12 Mar 2026`. */
export function timeInWords(at: number, now: number, zone: string): string {
  const distance = Math.abs(now - at)
  if (distance < 60_000) return at > now ? 'in a moment' : 'just now'
  const unit = units.find(([, , below]) => distance < below)
  if (!unit) return dateInWords(at, zone)
  const amount = `${Math.floor(distance / unit[1])} ${unit[0]}`
  return at > now ? `in ${amount}` : `${amount} ago`
}

/** Formats a past time briefly: `just now`, `5 min`, `3 h`, `12 Mar 2026`. */
export function ageInWords(at: number, now: number, zone: string): string {
  return timeInWords(Math.min(at, now), now, zone).replace(/ ago$/, '')
}

/** Formats a date in a time zone: `22 Nov 2026`. `at` is in milliseconds since the epoch. */
export function dateInWords(at: number, zone: string): string {
  const [, day, month, year] = clockAt(zone, at).toUTCString().split(' ')
  return `${Number(day)} ${month} ${year}`
}

/** The first letter or digit of a user's name, in a circle. */
export function Avatar({ name }: { name: string }) {
  return <span class='avatar' aria-hidden='true'>{name.match(/[\p{L}\p{N}]/u)?.[0].toUpperCase()}</span>
}
