/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What needs a person, as rows, and how much of a quota is used. */
import type { Child } from 'hono/jsx'
import { Card } from './components.tsx'
import { ButtonForm, ButtonLink, CsrfField, HiddenFields } from './form.tsx'
import { Icon, type IconName } from './icons.tsx'

/** A row: what is wrong, some facts, and what can be done. */
export interface NeedRow {
  icon: IconName
  tone: 'bad' | 'warning' | 'info'
  what: Child
  facts: Child[]
  more?: Child
  /** At most one button, and the snooze. */
  actions: Child
}

export function NeedList({ label, rows }: { label: string; rows: NeedRow[] }) {
  return (
    <ul class='needs' aria-label={label}>
      {rows.map(({ icon, tone, what, facts, more, actions }) => (
        <li>
          <span class={tone === 'info' ? 'sign' : `sign ${tone}`}>
            <Icon name={icon} />
          </span>
          <div class='what'>
            <p>{what}</p>
            <div>{facts.filter(Boolean).map((fact) => <span>{fact}</span>)}</div>
            {more}
          </div>
          <div class='row'>{actions}</div>
        </li>
      ))}
    </ul>
  )
}

/** A card with the first rows, at most `max`; `all` is the page that has the others. */
export function NeedCard(
  { title, rows, all, max = rows.length, children }: {
    title: string
    rows: NeedRow[]
    all: string
    max?: number
    children?: Child
  },
) {
  return (
    <Card
      title={title}
      isFlush
      actions={rows.length > max && <ButtonLink href={all} kind='quiet' isSmall>All {rows.length}</ButtonLink>}
    >
      <NeedList label={title} rows={rows.slice(0, max)} />
      {children}
    </Card>
  )
}

/** What a row is of, as forms send it. */
type NeedFields = Record<'kind' | 'subject', string>

/** A menu of times for which a row can be hidden: `times` are values of the field `time`, with their titles. */
export function SnoozeMenu(
  { action, fields, times }: { action: string; fields: NeedFields; times: [string, string][] },
) {
  return (
    <details class='menu end' data-menu>
      <summary>
        Snooze
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

/** When the page was made: `5 s ago`, counted by the script. `at` is in milliseconds since the epoch. */
export function Ago({ at }: { at: number }) {
  return <time datetime={new Date(at).toISOString()} data-ago>just now</time>
}

/** How much of a quota is used. Without a quota (0) only the number. */
export function Meter({ label, used, quota, unit }: { label: string; used: number; quota: number; unit: string }) {
  const amount = used.toLocaleString('en')
  return (
    <div class={quota > 0 && used >= 0.8 * quota ? 'meter warning' : 'meter'}>
      <div>
        <span>{label}</span>
        <span>{quota > 0 ? `${amount} of ${quota.toLocaleString('en')} ${unit}` : `${amount} ${unit}`}</span>
      </div>
      {quota > 0 && <progress value={Math.min(used, quota)} max={quota} aria-label={label}></progress>}
    </div>
  )
}
