/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** How a row of the activity log is told. */
import { Badge, Fold } from '../html/bits.tsx'
import type { ListedActivity } from '../store/account/activity-list.ts'

/** Longest arguments that are shown without being asked for. */
const maxShown = 140

/** Who did it, and what proved them. */
export function whoDid(row: ListedActivity): { who: string; by: string } {
  const { actorType, userName, userEmail, credentialKind, keyName, keyLast4 } = row
  const person = userName || userEmail
  const key = keyName ? `admin key “${keyName}” …${keyLast4}` : keyLast4 ? `admin key …${keyLast4}` : 'admin key'
  switch (actorType) {
    case 'user':
      return { who: person ?? 'Somebody', by: 'browser session' }
    case 'admin':
      return { who: person ?? 'An admin', by: credentialKind === 'oauth' ? 'OAuth' : key }
    case 'agent':
      return { who: 'An agent', by: keyLast4 ? `agent key …${keyLast4}` : 'agent key' }
    default:
      return { who: 'The grid itself', by: 'no credential' }
  }
}

/** `ok`, or the code of what refused it. */
export function Outcome({ outcome }: { outcome: string }) {
  return outcome === 'ok' ? <Badge kind='good' hasDot>ok</Badge> : <Badge kind='bad' hasDot>{outcome}</Badge>
}

/** What a call was given: its fields side by side; what is long opens. */
export function Arguments({ json }: { json: string }) {
  const fields = fieldsOf(json)
  if (fields.length === 0) return <span class='soft small'>none</span>
  const length = fields.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (length <= maxShown) return <Pairs fields={fields} />
  return (
    <Fold title={<span class='small'>{fields.map(([name]) => name).join(', ').slice(0, maxShown)}</span>}>
      <Pairs fields={fields} />
    </Fold>
  )
}

function Pairs({ fields }: { fields: [name: string, value: string][] }) {
  return (
    <span class='pairs'>
      {fields.map(([name, value]) => (
        <span>
          <span class='soft'>{name}:</span> {value}
        </span>
      ))}
    </span>
  )
}

/** The fields of arguments as they were logged, in words. */
function fieldsOf(json: string): [string, string][] {
  const value: unknown = JSON.parse(json)
  if (typeof value !== 'object' || value === null) return value === null ? [] : [['value', words(value)]]
  return Object.entries(value).map(([name, value]) => [name, words(value)])
}

/** A text as it is, a list of plain values by commas, and anything else as JSON. */
function words(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '“”' : value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ') || 'none'
  return JSON.stringify(value)
}
