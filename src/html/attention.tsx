/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Rows of items that need a person, and quota usage. */
import type { Child } from 'hono/jsx'
import { Card } from './components.tsx'
import { ButtonForm, ButtonLink, CsrfField, HiddenFields } from './form.tsx'
import { Icon, type IconName } from './icons.tsx'

/** A one-line row that links to `href`. Its buttons return to the same page. */
export interface NeedRow {
  icon: IconName
  tone: 'bad' | 'warning' | 'info'
  what: Child
  /** The page about the item. Undefined if there is none that the reader may open. */
  href?: string
  facts: Child[]
  /** The start or end time, at the end of the line. */
  at?: Child
  /** Content below the line. */
  more?: Child
  actions?: Child
  /** An image that replaces the icon. */
  picture?: Child
  isUrgent?: boolean
  /** Whether there are messages since the reader's last visit. */
  isNew?: boolean
  /** The rows that this row summarizes, shown when it expands. */
  folded?: { rows: NeedRow[]; foot?: Child }
}

/** A list of rows. With `isShort`, each row stays on one line in narrow windows, without its facts. */
export function NeedList({ label, rows, isShort }: { label: string; rows: NeedRow[]; isShort?: boolean }) {
  return (
    <ul class={isShort ? 'needs short' : 'needs'} aria-label={label}>
      {rows.map((row) => (
        <li class={row.isUrgent ? 'urgent' : undefined}>
          {row.folded
            ? (
              <details>
                <summary>
                  <Line row={row} />
                  <Icon name='next' size={14} />
                </summary>
                <NeedList label={label} rows={row.folded.rows} />
                {row.folded.foot && <p class='inside checked'>{row.folded.foot}</p>}
              </details>
            )
            : <Line row={row} />}
        </li>
      ))}
    </ul>
  )
}

function Line({ row: { icon, tone, what, href, facts, at, more, actions, picture, isNew } }: { row: NeedRow }) {
  return (
    <div class='line'>
      <span class={tone === 'info' ? 'sign' : `sign ${tone}`}>{picture ?? <Icon name={icon} size={16} />}</span>
      <div class='what'>
        <p>{href === undefined ? what : <a class='open' href={href}>{what}</a>}</p>
        <div>{facts.filter(Boolean).map((fact) => <span>{fact}</span>)}</div>
      </div>
      {actions && <div class='row'>{actions}</div>}
      <span class='at'>{at}</span>
      {isNew && (
        <span class='dot'>
          <span class='unseen'>new</span>
        </span>
      )}
      {more && <div class='more'>{more}</div>}
    </div>
  )
}

/** A card with the first rows, at most `max` of `total`. `all` is the page that lists all rows. */
export function NeedCard(
  { id, title, rows, all, max = rows.length, total = rows.length, isShort, children }: {
    id?: string
    title: string
    rows: NeedRow[]
    all: string
    max?: number
    total?: number
    isShort?: boolean
    children?: Child
  },
) {
  return (
    <Card
      id={id}
      title={title}
      isFlush
      actions={total > Math.min(rows.length, max) && (
        <ButtonLink href={all} kind='quiet' isSmall>All {total.toLocaleString('en')}</ButtonLink>
      )}
    >
      <NeedList label={title} rows={rows.slice(0, max)} isShort={isShort} />
      {children}
    </Card>
  )
}

/** Fields that identify a row in forms. */
type NeedFields = Record<'kind' | 'subject', string>

/** A menu that snoozes a row. `times` are values of the field `time`, with their titles. */
export function SnoozeMenu(
  { action, fields, times }: { action: string; fields: NeedFields; times: [string, string][] },
) {
  return (
    <details class='menu end' data-menu>
      <summary>
        <span class='word'>Snooze</span>
        <Icon name='chevron' size={14} />
      </summary>
      <div class='list'>
        <form method='post' action={action}>
          <CsrfField />
          <HiddenFields fields={fields} />
          {times.map(([value, title]) => <button type='submit' class='item' name='time' value={value}>{title}</button>)}
        </form>
      </div>
    </details>
  )
}

export function EndSnooze({ action, fields }: { action: string; fields: NeedFields }) {
  return <ButtonForm action={action} fields={fields} kind='plain' isSmall>Show again</ButtonForm>
}

/** The page's age, such as `5 s ago`, updated by the script. `at` is in milliseconds since the epoch. */
export function Ago({ at }: { at: number }) {
  return <time datetime={new Date(at).toISOString()} data-ago>just now</time>
}

/** Formats usage as `12 of 300 messages`, or as `12 messages` if there is no quota (0). */
export function usedInWords({ used, quota, unit }: { used: number; quota: number; unit: string }): string {
  const amount = used.toLocaleString('en')
  return quota > 0 ? `${amount} of ${quota.toLocaleString('en')} ${unit}` : `${amount} ${unit}`
}

/** A meter that shows quota usage. */
export function Meter({ label, ...use }: { label: string; used: number; quota: number; unit: string }) {
  const { used, quota } = use
  return (
    <div class={quota > 0 && used >= 0.8 * quota ? 'meter warning' : 'meter'}>
      <div>
        <span>{label}</span>
        <span>{usedInWords(use)}</span>
      </div>
      {quota > 0 && <progress value={Math.min(used, quota)} max={quota} aria-label={label}></progress>}
    </div>
  )
}
