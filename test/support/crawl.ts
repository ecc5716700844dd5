/** Follows an account's links as a visitor and collects pages and forms, so that no test needs a list of them. */
import { botToken, signingSecret } from './slack.ts'
import { type Browser, unescapeHtml } from './browse.ts'

/** A form with the fields that its page fills in. */
export interface FoundForm {
  /** The page that contains the form. */
  page: string
  action: string
  fields: [string, string][]
  /** Whether the form needs the user's device, for a passkey or a code. */
  needsDevice: boolean
}

/** The first page and the first form of each route. The keys are routes, such as `/accounts/:account/skills/:skill`. */
export interface Crawled {
  pages: Map<string, string>
  forms: Map<string, FoundForm>
}

/** Returns a function that finds a path's route among `routes`. Routes without parameters take precedence. */
function routesOf(routes: readonly string[]): (path: string) => string | undefined {
  const parameters = (route: string) => route.split(':').length
  const patterns = [...routes].sort((a, b) => parameters(a) - parameters(b))
    .map((route) => [route, new RegExp(`^${route.replace(/:\w+/g, '[^/]+')}$`)] as const)
  return (path) => patterns.find(([, pattern]) => pattern.test(path))?.[0]
}

/** Returns a path's parameters by their names in its route. */
export function parametersOf(route: string, path: string): Record<string, string> {
  const values = path.split('/')
  return Object.fromEntries(
    route.split('/').flatMap((name, at) => name.startsWith(':') ? [[name.slice(1), values[at]]] : []),
  )
}

/** Follows links from `start`. Opens one page of each route, and the pages in `places`. */
export async function crawl(
  one: Browser,
  routes: { pages: readonly string[]; forms: readonly string[] },
  start: string,
  places: readonly string[] = [],
): Promise<Crawled> {
  const found: Crawled = { pages: new Map(), forms: new Map() }
  const inAccount = start.split('/').slice(0, 3).join('/')
  const pageOf = routesOf(routes.pages)
  const formOf = routesOf(routes.forms)
  const due = [start]
  const later = [...places]
  const seen = new Set<string>()
  for (let path; (path = due.shift() ?? later.shift()) !== undefined;) {
    if (seen.has(path)) continue
    seen.add(path)
    const route = pageOf(path.split('?')[0])
    if (route === undefined || found.pages.has(route)) continue
    const { status, at, html } = await one.open(path)
    if (at !== path) due.unshift(at)
    // Files are skipped, because they are not pages.
    if (at !== path || status !== 200 || !html.startsWith('<!doctype html>')) continue
    found.pages.set(route, path)
    for (const form of formsOf(html, path)) {
      const route = formOf(form.action)
      if (route !== undefined && !found.forms.has(route)) found.forms.set(route, form)
    }
    const links = [...html.matchAll(/ href="([^"#]+)/g)].map(([, href]) => unescapeHtml(href))
    due.push(...links.filter((link) => link === inAccount || link.startsWith(`${inAccount}/`)))
  }
  return found
}

/** Returns a page's POST forms. Buttons that submit a form to another address count as further forms. */
export function formsOf(html: string, page: string): FoundForm[] {
  const elsewhere = [...html.matchAll(/<button[^>]* form="([^"]*)" formaction="([^"]*)"/g)]
  return [...html.matchAll(/<form([^>]*)>([^]*?)<\/form>/g)].flatMap(([, attributes, inner]) => {
    if (!attributes.includes('method="post"')) return []
    const [id, action] = ['id', 'action'].map((name) => unescapeHtml(attributes.match(` ${name}="([^"]*)"`)?.[1] ?? ''))
    const form = { page, fields: fieldsOf(inner), needsDevice: /data-passkey|"code"/.test(attributes + inner) }
    const others = elsewhere.filter(([, of]) => of === id).map(([, , to]) => ({
      ...form,
      action: to.split('#')[0],
      fields: [...form.fields, ['text', 'a text'] as [string, string]],
    }))
    return [{ ...form, action: action.split('#')[0] }, ...others]
  })
}

let names = 0

/** The text to type into empty fields, by field name. */
const typed: Record<string, () => string> = {
  current: () => 'correct horse battery',
  password: () => 'another horse battery',
  email: () => `someone-${names++}@people.example`,
  // The fields for connecting the local Slack server.
  token: () => botToken,
  signingSecret: () => signingSecret,
  slackChannel: () => 'C01',
  issuer: () => 'https://login.corp.example',
  domain: () => 'corp.example',
  url: () => 'https://events.example/grid',
  text: () => 'Hello',
  to: () => '@alice',
  members: () => 'bob',
  confirmation: () => 'Acme',
  endpoint: () => 'https://push.example/a',
  p256dh: () => `B${'A'.repeat(86)}`,
  auth: () => 'A'.repeat(22),
}

function fieldsOf(html: string): [string, string][] {
  const fields: [string, string][] = []
  const chosen = new Set<string>()
  for (
    const [, tag, attributes, inner] of html.matchAll(/<(input|textarea|select|button)\b([^>]*)>(?:([^]*?)<\/\1>)?/g)
  ) {
    const get = (name: string) => attributes.match(` ${name}="([^"]*)"`)?.[1]
    const name = get('name')
    if (name === undefined || name === 'csrf') continue
    const type = get('type')
    if (type === 'checkbox' && !attributes.includes(' checked')) continue
    // The form is submitted with its first named button.
    if (tag === 'button' && chosen.has(tag)) continue
    if (tag === 'button') chosen.add(tag)
    // The first radio button counts as selected, unless a later one is.
    if (type === 'radio' && (chosen.has(name) || !attributes.includes(' checked'))) continue
    chosen.add(name)
    const options = [...(inner ?? '').matchAll(/<option value="([^"]*)"( selected)?/g)]
    const value = tag === 'select'
      ? (options.find(([, , selected]) => selected) ?? options[0])?.[1]
      : tag === 'textarea'
      ? inner?.trim()
      : get('value')
    const needed = !value && (attributes.includes(' required') || /^(members|endpoint|p256dh|auth)$/.test(name))
    const option = options.find(([, value]) => value !== '')?.[1]
    const example = typed[name]?.() ?? option ?? (type === 'number' ? get('min') ?? '1' : `n-${names++}-new`)
    fields.push([unescapeHtml(name), needed ? example : unescapeHtml(value ?? '')])
  }
  return fields
}
