/**
 * Fingerprints of form fields. They prevent an outdated form from reverting newer changes: each form contains a
 * fingerprint of the values it was rendered with. See docs/architecture.md, "Pages".
 */
import { createHash } from 'node:crypto'
import { secretFields } from './fields.tsx'

/** The name of the field with the fingerprint, which is `NAME:HASH` for each field of the form. */
export const madeFromField = 'made_from'

/** Fields excluded from fingerprints. */
const ignored: string[] = [...secretFields, madeFromField, 'csrf']
const form = /<form([^>]*)>([^]*?)<\/form>/g
const empty = new RegExp(`(<input type="hidden" name="${madeFromField}" value=")("/?>)`)
// A regular expression is sufficient, because user text contains no `<`, and quotes in attributes are escaped.
const part = /<(label|legend|input|select|textarea)\b([^>]*)>(?:([^]*?)<\/\1>)?|<\/fieldset>/g

/** A form's fields as rendered on the page. */
export type FilledFields = Map<string, { label: string | undefined; values: string[] }>

/** Fills in the fingerprints of a page's forms. */
export function withFingerprints(page: string): string {
  return page.replace(
    form,
    (whole, _attributes, inner) =>
      empty.test(inner) ? whole.replace(empty, `$1${fingerprintOf(fieldsOf(inner))}$2`) : whole,
  )
}

/** Returns the fields of the form that posts to a path. Undefined if the page has no such form with a fingerprint. */
export function fieldsOfForm(page: string, action: string): FilledFields | undefined {
  for (const [, attributes, inner] of page.matchAll(form)) {
    const isIt = unescape(attributes.match(/ action="([^"]*)"/)?.[1] ?? '') === action
    if (isIt && inner.includes(`name="${madeFromField}"`)) return fieldsOf(inner)
  }
  return undefined
}

/** Creates a fingerprint. The order of a field's values does not matter. */
export function fingerprintOf(fields: FilledFields): string {
  return [...fields].map(([name, { values }]) => `${name}:${hashOf(values)}`).join(' ')
}

/** Returns the hash of each field in a fingerprint. */
export function hashesIn(fingerprint: string): Map<string, string> {
  return new Map(
    fingerprint.split(' ').flatMap((entry) => {
      const at = entry.lastIndexOf(':')
      return at < 1 ? [] : [[entry.slice(0, at), entry.slice(at + 1)]]
    }),
  )
}

/** Hashes a field's values. Line breaks are normalised, because browsers differ. */
export function hashOf(values: readonly string[]): string {
  const sorted = values.map((value) => value.replaceAll('\r\n', '\n')).sort()
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url').slice(0, 12)
}

function fieldsOf(inner: string): FilledFields {
  const fields: FilledFields = new Map()
  let label: string | undefined
  let legend: string | undefined
  for (const [, tag, attributes, content = ''] of inner.matchAll(part)) {
    if (tag === 'legend') legend = textOf(content)
    else if (tag === undefined) legend = undefined
    else if (tag === 'label') {
      label = legend ?? textOf(content.match(/<span>[^]*?<\/span>/)?.[0] ?? content)
      const [, inside] = content.match(/<input\b([^>]*)>/) ?? []
      if (inside !== undefined) add(fields, label, 'input', inside, '')
    } else add(fields, label, tag, attributes, content)
  }
  return fields
}

function add(fields: FilledFields, label: string | undefined, tag: string, attributes: string, content: string): void {
  const get = (name: string) => unescape(attributes.match(` ${name}="([^"]*)"`)?.[1] ?? '')
  const [name, type] = [get('name'), get('type')]
  if (name === '' || type === 'file' || ignored.includes(name)) return
  const field = fields.get(name) ?? { label, values: [] }
  fields.set(name, field)
  if (tag === 'select') {
    const chosen = [...content.matchAll(/<option([^>]*? selected[^>]*)>/g)]
    field.values.push(...chosen.map(([, option]) => unescape(option.match(/ value="([^"]*)"/)?.[1] ?? '')))
  } else if (tag === 'textarea') field.values.push(unescape(content))
  else if (type !== 'checkbox' && type !== 'radio') field.values.push(get('value'))
  else if (attributes.includes(' checked')) field.values.push(get('value') || 'on')
}

function textOf(html: string): string {
  return unescape(html.replace(/<span class="optional">[^<]*<\/span>/g, '').replace(/<[^>]*>/g, '')).trim()
}

function unescape(text: string): string {
  const signs: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => signs[name])
}
