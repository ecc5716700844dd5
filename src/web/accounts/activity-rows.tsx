/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** How a row of the activity log is told. */
import type { Child } from 'hono/jsx'
import { Badge, Facts, Fold } from '../../html/bits.tsx'
import type { AccountStore } from '../../store/account.ts'
import type { ListedActivity } from '../../store/account/activity-list.ts'
import type { Named } from '../../store/account/names.ts'
import { type Place, places, reasonOf, sentenceOf } from './activity-words.ts'
import type { Visit } from '../visit.ts'

/** Of a list in a sentence. */
const maxListed = 3
const maxRefLength = 80

/** Who did it, and what proved them. */
export function whoDid(row: ListedActivity): { who: string; by: string } {
  const { actorType, userName, userEmail, credentialKind, keyName, keyLast4, agentAlias, programName } = row
  const person = userName || userEmail
  const key = keyName ? `admin key “${keyName}” …${keyLast4}` : keyLast4 ? `admin key …${keyLast4}` : 'admin key'
  const program = programName ? `program “${programName}”, by OAuth` : 'OAuth'
  switch (actorType) {
    case 'user':
      return { who: person ?? 'Somebody', by: 'browser session' }
    case 'admin':
      return { who: person ?? 'A program', by: credentialKind === 'oauth' ? program : key }
    case 'agent':
      return {
        who: agentAlias ? `@${agentAlias}` : 'An agent',
        by: credentialKind === 'oauth' ? program : keyLast4 ? `agent key …${keyLast4}` : 'agent key',
      }
    default:
      return { who: 'Whoever runs the grid', by: 'command line' }
  }
}

/** What happened, in one sentence; why not, when it was refused. */
export function Happened({ row, see }: { row: ListedActivity; see: See }) {
  const sentence = sentenceOf(row.tool, row.outcome)
  return (
    <span class='happened'>
      {toldOf(sentence, fieldsOf(row.arguments), see)}
      {row.outcome !== 'ok' && <Badge kind='bad'>{reasonOf(row.outcome)}</Badge>}
    </span>
  )
}

/** The call as it was logged, behind a word. */
export function Logged({ row }: { row: ListedActivity }) {
  const fields = Object.entries(fieldsOf(row.arguments))
  return (
    <Fold title='Details'>
      <Facts
        items={[
          ['Call', <code>{row.tool}</code>],
          ['Outcome', row.outcome],
          ...fields.map(([name, value]): [string, Child] => [name, words(value)]),
          ['Entry', `${row.n}`],
          ...(row.requestId ? [['Request', <code>{row.requestId}</code>] as [string, Child]] : []),
        ]}
      />
    </Fold>
  )
}

/** What the things that calls name are called now, and where they are. */
export interface See {
  named(kind: Named['kind'], ref: string): Named | undefined
  path: Visit['path']
}

/** Looks up what a page of the log names. */
export async function seeing(account: AccountStore, rows: ListedActivity[], path: Visit['path']): Promise<See> {
  const refs = new Set(rows.flatMap(({ arguments: json }) => refsOf(fieldsOf(json))))
  const ids = [...refs].filter(isId)
  const found = await account.read.names.of(ids, [...refs].filter((ref) => !isId(ref)))
  const index = new Map<string, Named>()
  for (const named of found) {
    index.set(`${named.kind} ${named.id}`, named)
    // An alias may have come back after its agent was deleted.
    const byName = `${named.kind} ${named.name}`
    if (!named.isDeleted || !index.has(byName)) index.set(byName, named)
  }
  return { named: (kind, ref) => index.get(`${kind} ${ref}`), path }
}

/** A sentence with its places filled. */
function toldOf(sentence: string, fields: Record<string, unknown>, see: See): Child[] {
  const filled = (text: string): Child[] | undefined => {
    const parts: Child[] = []
    for (const part of text.split(/(\{\w+\})/)) {
      const place = places[part.slice(1, -1)]
      const shown = part.startsWith('{') ? shownAt(place, fields, see) ?? place.otherwise : part
      if (shown === undefined) return undefined
      parts.push(shown)
    }
    return parts
  }
  return sentence.split(/(\[.*?\])/).flatMap((part) => filled(part.replace(/^\[|\]$/g, '')) ?? [])
}

function shownAt(place: Place, fields: Record<string, unknown>, see: See): Child | undefined {
  const { from, kind, noun, isMany, whenNone } = place
  const values = from.flatMap((name) => name in fields ? [fields[name]] : [])
  if (isMany) return Array.isArray(values[0]) ? severalOf(kind!, values[0], see) ?? whenNone : undefined
  const refs = values.flatMap((value) => refOf(value) ?? [])
  if (kind === undefined) return refs[0] && <strong>{refs[0]}</strong>
  const ref = refs.find((ref) => see.named(kind, ref)) ?? refs.find((ref) => !isId(ref))
  if (ref === undefined) return undefined
  return noun
    ? (
      <>
        {noun} <Thing kind={kind} called={ref} see={see} />
      </>
    )
    : <Thing kind={kind} called={ref} see={see} />
}

function severalOf(kind: Named['kind'], values: unknown[], see: See): Child | undefined {
  const refs = values.flatMap((value) => refOf(value) ?? []).filter((ref) => !isId(ref) || see.named(kind, ref))
  if (refs.length === 0) return values.length === 0 ? undefined : `${values.length}`
  const more = values.length - Math.min(refs.length, maxListed)
  return (
    <>
      {refs.slice(0, maxListed).map((ref, n) => (
        <>
          {n > 0 && ', '}
          <Thing kind={kind} called={ref} see={see} />
        </>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  )
}

const signs: Partial<Record<Named['kind'], string>> = { agent: '@', channel: '#' }

/** A thing by its name, leading to its page while it has one. */
function Thing({ kind, called, see }: { kind: Named['kind']; called: string; see: See }) {
  const named = see.named(kind, called)
  const name = `${signs[kind] ?? ''}${named?.name ?? called}`
  const href = named && !named.isDeleted ? placeOf(named, see.path) : undefined
  if (href) return <a href={href}>{name}</a>
  return named?.isDeleted
    ? (
      <>
        <strong>{name}</strong> <span class='soft'>(deleted)</span>
      </>
    )
    : <strong>{name}</strong>
}

function placeOf({ kind, id, name }: Named, path: Visit['path']): string | undefined {
  switch (kind) {
    case 'agent':
      return path('agents', name)
    case 'channel':
      return path('channels', id)
    case 'skill':
      return path('skills', id)
    case 'guardrail':
      return path('guardrails', id)
  }
}

/** What could be looked up: as much of it as a sentence may show. */
function refsOf(fields: Record<string, unknown>): string[] {
  return Object.values(places).flatMap(({ from, kind }) =>
    kind === undefined ? [] : from.flatMap((name) => {
      const value = fields[name]
      return (Array.isArray(value) ? value.slice(0, maxListed) : [value]).flatMap((one) => refOf(one) ?? [])
    })
  )
}

/** An id, or a name without its sign; lists hold them by themselves or as `{ name }`, `{ ref }` or `{ id }`. */
function refOf(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null) {
    const { name, ref, id } = value as Record<string, unknown>
    return [name, ref, id].flatMap((one) => typeof one === 'string' ? refOf(one) ?? [] : [])[0]
  }
  const text = typeof value === 'string' ? value.trim().replace(/^[@#]/, '').slice(0, maxRefLength).toWellFormed() : ''
  return text === '' ? undefined : text
}

function isId(ref: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(ref)
}

/** The arguments as they were logged. */
function fieldsOf(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  return value === null ? {} : { value }
}

/** A text as it is, a list of plain values by commas, and anything else as JSON. */
function words(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '“”' : value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ') || 'none'
  return JSON.stringify(value)
}
