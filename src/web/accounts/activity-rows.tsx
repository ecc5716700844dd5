/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Shows activity log rows as text: a sentence with links, and the call's details. */
import type { Child } from 'hono/jsx'
import type { Changed } from '../../grid/activity.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Disclosure, Facts } from '../../html/components.tsx'
import type { ListedActivity } from '../../store/account/activity.ts'
import type { NamedEntity } from '../../store/account/profile.ts'
import type { Visit } from '../visit.ts'
import { placeholders, reasonOf, sentenceOf, type SentencePlaceholder } from './activity-sentences.ts'

/** Maximum number of list items named in a sentence. */
const maxListed = 3
const maxRefLength = 80

/** What a log row records about the caller. */
export type Caller =
  & Pick<
    ListedActivity,
    'actorType' | 'userName' | 'userEmail' | 'credentialKind' | 'keyName' | 'keyLast4' | 'agentAlias' | 'clientName'
  >
  & { tool?: string }

/** Returns the caller's name and the kind of credential it used. */
export function actorOf(row: Caller): { name: Child; credential: Child } {
  const { actorType, userName, userEmail, credentialKind, keyLast4, agentAlias } = row
  const user = userName || userEmail
  switch (actorType) {
    case 'user':
      return { name: user ? <Name text={user} /> : 'A user', credential: 'browser session' }
    case 'admin':
      return {
        name: user ? <Name text={user} /> : 'A program',
        credential: credentialKind === 'oauth' ? programOf(row) : adminKeyOf(row),
      }
    case 'agent': {
      const key = keyLast4 ? `agent key …${keyLast4}` : 'agent key'
      return {
        name: agentAlias ? `@${agentAlias}` : 'An agent',
        credential: credentialKind === 'oauth' ? programOf(row) : key,
      }
    }
    default:
      return actorType === 'system' && row.tool === 'pause_conversation'
        ? { name: 'The grid', credential: 'automatic' }
        : { name: 'The operator', credential: 'command line' }
  }
}

function programOf({ clientName }: Caller): Child {
  if (!clientName) return 'OAuth'
  return (
    <>
      program “<Name text={clientName} />”, OAuth
    </>
  )
}

function adminKeyOf({ keyName, keyLast4 }: Caller): Child {
  if (!keyName) return keyLast4 ? `admin key …${keyLast4}` : 'admin key'
  return (
    <>
      admin key “<Name text={keyName} />” <span class='whole'>…{keyLast4}</span>
    </>
  )
}

/** Describes the call in one sentence, with the reason if it failed. */
export function ActivitySentence({ row, names }: { row: ListedActivity; names: NameLookup }) {
  const sentence = sentenceOf(row.tool, row.outcome, names.features)
  return (
    <span class='happened'>
      {renderSentence(sentence, argumentsOf(row.arguments), names)}
      {row.outcome !== 'ok' && (
        <>
          {' '}
          <Badge kind='bad'>{reasonOf(row.outcome)}</Badge>
        </>
      )}
    </span>
  )
}

/** Lists the old and new values of the fields that the call changed. */
export function ChangedValues({ row }: { row: ListedActivity }) {
  const changed = Object.entries((argumentsOf(row.arguments).changed ?? {}) as Changed)
  if (changed.length === 0) return null
  return (
    <ul class='changed'>
      {changed.map(([name, value]) => (
        <li>
          <Name text={nameInWords(name)} />: {Array.isArray(value)
            ? (
              <>
                from <Name text={valueText(value[0])} /> to <Name text={valueText(value[1])} />
              </>
            )
            : 'changed'}
        </li>
      ))}
    </ul>
  )
}

/** Turns `accessPolicy` into `access policy`. */
function nameInWords(name: string): string {
  return name.replaceAll(/_|(?=[A-Z])/g, ' ').toLowerCase()
}

/** Shows the logged call with all its arguments, collapsed by default. */
export function CallDetails({ row }: { row: ListedActivity }) {
  const args = Object.entries(argumentsOf(row.arguments))
  return (
    <Disclosure title={<span class='label'>Details</span>}>
      <Facts
        items={[
          ['Call', <code>{row.tool}</code>],
          ['Outcome', row.outcome],
          ...args.filter(([name]) => name !== 'changed').map((
            [name, value],
          ): [string, Child] => [name, <Name text={valueText(value)} />]),
          ['Entry', `${row.n}`],
          ...(row.credentialId ? [['Credential', row.credentialId] as [string, Child]] : []),
          ...(row.requestId ? [['Request', <code>{row.requestId}</code>] as [string, Child]] : []),
        ]}
      />
    </Disclosure>
  )
}

/** Finds the current name and page of an entity that logged arguments refer to. */
export interface NameLookup {
  find(kind: NamedEntity['kind'], ref: string): NamedEntity | undefined
  path: Visit['path']
  /** The features whose phrases the sentences use. */
  features: Visit['features']
}

/** Loads the names of all entities that these rows refer to. */
export async function loadNames(
  { account, path, features }: Pick<Visit, 'account' | 'path' | 'features'>,
  rows: ListedActivity[],
): Promise<NameLookup> {
  const refs = new Set(rows.flatMap(({ arguments: json }) => refsOf(argumentsOf(json))))
  const ids = [...refs].filter(isId)
  const found = await account.read.names.resolve(ids, [...refs].filter((ref) => !isId(ref)))
  const index = new Map<string, NamedEntity>()
  for (const named of found) {
    index.set(`${named.kind} ${named.id}`, named)
    // A new agent may have the same alias as a deleted one, so prefer the live agent.
    const byName = `${named.kind} ${named.name}`
    if (!named.isDeleted || !index.has(byName)) index.set(byName, named)
  }
  return { find: (kind, ref) => index.get(`${kind} ${ref}`), path, features }
}

/** Returns a sentence with its placeholders filled in. */
function renderSentence(sentence: string, args: Record<string, unknown>, names: NameLookup): Child[] {
  const filled = (text: string): Child[] | undefined => {
    const parts: Child[] = []
    for (const part of text.split(/(\{\w+\})/)) {
      const placeholder = placeholders[part.slice(1, -1)]
      const shown = part.startsWith('{') ? renderPlaceholder(placeholder, args, names) ?? placeholder.fallback : part
      if (shown === undefined) return undefined
      parts.push(shown)
    }
    return parts
  }
  return sentence.split(/(\[.*?\])/).flatMap((part) => filled(part.replace(/^\[|\]$/g, '')) ?? [])
}

function renderPlaceholder(
  placeholder: SentencePlaceholder,
  args: Record<string, unknown>,
  names: NameLookup,
): Child | undefined {
  const { argumentNames, kind, noun, isList, emptyText } = placeholder
  const values = argumentNames.flatMap((name) => name in args ? [args[name]] : [])
  if (isList) return Array.isArray(values[0]) ? renderList(kind!, values[0], names) ?? emptyText : undefined
  const refs = values.flatMap((value) => refOf(value) ?? [])
  if (kind === undefined) return refs[0] && <strong>{refs[0]}</strong>
  const ref = refs.find((ref) => names.find(kind, ref)) ?? refs.find((ref) => !isId(ref))
  if (ref === undefined) return undefined
  return noun
    ? (
      <>
        {noun} <EntityLink kind={kind} reference={ref} names={names} />
      </>
    )
    : <EntityLink kind={kind} reference={ref} names={names} />
}

function renderList(kind: NamedEntity['kind'], values: unknown[], names: NameLookup): Child | undefined {
  const refs = values.flatMap((value) => refOf(value) ?? []).filter((ref) => !isId(ref) || names.find(kind, ref))
  if (refs.length === 0) return values.length === 0 ? undefined : `${values.length}`
  const more = values.length - Math.min(refs.length, maxListed)
  return (
    <>
      {refs.slice(0, maxListed).map((ref, n) => (
        <>
          {n > 0 && ', '}
          <EntityLink kind={kind} reference={ref} names={names} />
        </>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  )
}

const signs: Partial<Record<NamedEntity['kind'], string>> = { agent: '@', channel: '#' }

/** Shows an entity's current name, linked to its page if it has one. */
function EntityLink({ kind, reference, names }: { kind: NamedEntity['kind']; reference: string; names: NameLookup }) {
  const named = names.find(kind, reference)
  const name = `${signs[kind] ?? ''}${named?.name ?? reference}`
  const href = named && !named.isDeleted ? pageOf(named, names.path) : undefined
  if (href) return <a href={href}>{name}</a>
  return named?.isDeleted
    ? (
      <>
        <strong>{name}</strong> <span class='soft'>(deleted)</span>
      </>
    )
    : <strong>{name}</strong>
}

function pageOf({ kind, id, name }: NamedEntity, path: Visit['path']): string | undefined {
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

/** Returns the references to entities that a sentence may show. */
function refsOf(args: Record<string, unknown>): string[] {
  return Object.values(placeholders).flatMap(({ argumentNames, kind }) =>
    kind === undefined ? [] : argumentNames.flatMap((name) => {
      const value = args[name]
      return (Array.isArray(value) ? value.slice(0, maxListed) : [value]).flatMap((one) => refOf(one) ?? [])
    })
  )
}

/** Returns the id or bare name in an argument. List items are strings or objects with `name`, `ref` or `id`. */
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

/** Returns the logged arguments by name. */
function argumentsOf(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  return value === null ? {} : { value }
}

/** Formats an argument as text: strings unchanged, string lists joined by commas, other values as JSON. */
function valueText(value: unknown): string {
  if (value === null) return 'nothing'
  if (typeof value === 'string') return value === '' ? '“”' : value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ') || 'none'
  return JSON.stringify(value)
}
