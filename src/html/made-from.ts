/**
 * Fingerprints of form fields, so that an outdated form undoes nothing. Each form of a page carries a fingerprint of
 * the values with which the page filled it in. See docs/architecture.md, "Pages".
 */
import { createHash } from 'node:crypto'
import { secretFields } from './fields.tsx'

/** The field with the fingerprint: `NAME:HASH` for each field of the form. */
export const madeFromField = 'made_from'

/** Fields that fingerprints leave out. */
const ignored: string[] = [...secretFields, madeFromField, 'csrf']
const form = /<form([^>]*)>([^]*?)<\/form>/g
const empty = new RegExp(`(<input type="hidden" name="${madeFromField}" value=")("/?>)`)
// What people wrote contains no `<`, and quotes in attributes are escaped.
const part = /<(label|legend|input|select|textarea)\b([^>]*)>(?:([^]*?)<\/\1>)?|<\/fieldset>/g

/** The fields of a form as its page filled them in. */
export type FilledFields = Map<string, { label: string | undefined; values: string[] }>

/** A page with the fingerprints of its forms. */
export function withFingerprints(page: string): string {
  return page.replace(
    form,
    (whole, _attributes, inner) =>
      empty.test(inner) ? whole.replace(empty, `$1${fingerprintOf(fieldsOf(inner))}$2`) : whole,
  )
}

/** The fields of the form of a page that posts to a path; undefined if it has none with a fingerprint. */
export function fieldsOfForm(page: string, action: string): FilledFields | undefined {
  for (const [, attributes, inner] of page.matchAll(form)) {
    const isIt = unescape(attributes.match(/ action="([^"]*)"/)?.[1] ?? '') === action
    if (isIt && inner.includes(`name="${madeFromField}"`)) return fieldsOf(inner)
  }
  return undefined
}

/** The same text for the same values, whichever order they are in. */
export function fingerprintOf(fields: FilledFields): string {
  return [...fields].map(([name, { values }]) => `${name}:${hashOf(values)}`).join(' ')
}

/** The hash of each field in a fingerprint. */
export function hashesIn(fingerprint: string): Map<string, string> {
  return new Map(
    fingerprint.split(' ').flatMap((entry) => {
      const at = entry.lastIndexOf(':')
      return at < 1 ? [] : [[entry.slice(0, at), entry.slice(at + 1)]]
    }),
  )
}

/** Line ends depend on the browser. */
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
