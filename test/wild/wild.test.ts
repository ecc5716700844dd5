/** Every request of the clients in this folder has its expected outcome. */
import { Buffer } from 'node:buffer'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { authorizeQuery, codeFor, issuer, type OAuthGrid, oauthGrid } from '../support/oauth.ts'
import type { WildClient, WildConsent, WildRequest } from './wild.ts'

const files = readdirSync(import.meta.dirname!).filter((file) => file.endsWith('.ts') && !file.startsWith('wild.'))
const clients: WildClient[] = await Promise.all(
  files.map(async (file) => (await import(join(import.meta.dirname!, file))).default as WildClient),
)

test.each(clients.map((client) => [client.client, client] as const))('%s', async (_, { env, headers, requests }) => {
  const grid = await oauthGrid({ env })
  const names = new Map(Object.entries({
    ...Object.fromEntries([grid.alice, grid.bob, grid.eve].flatMap(({ alias, key, id }) => [
      [`${alias} key`, key],
      [`${alias} id`, id],
    ])),
    'admin key': grid.acme.adminKey,
  }))
  for (const request of requests) {
    if ('consent' in request) names.set('code', await consented(grid, withNames(request, names)))
    else for (let n = 0; n < (request.times ?? 1); n++) await make(grid, withNames(request, names), headers, names)
  }
})

async function make(
  grid: OAuthGrid,
  { does, method = 'POST', path, headers, body, expect: expected }: WildRequest,
  common: Record<string, string> | undefined,
  names: Map<string, string>,
): Promise<void> {
  const sent = Object.entries({ ...withNames(common ?? {}, names), ...headers })
    .filter((header): header is [string, string] => header[1] !== null)
    .map(([name, value]) => [name, value.replace(/^Basic (.*)/, (_, text) => `Basic ${btoa(text)}`)])
  const response = await grid.request(path, {
    method,
    headers: sent,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const seen = `${does}: ${response.status} ${text.slice(0, 2_000)}`
  expect(response.status, seen).toBe(expected.status)
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    expect(response.headers.get(name), `${name} of ${seen}`).toContain(value)
  }
  if (typeof expected.body === 'string') expect(text, seen).toContain(expected.body)
  else if (expected.body !== undefined) expect(JSON.parse(text), seen).toMatchObject(expected.body as object)
  if (expected.answer !== undefined) {
    expect(JSON.parse(JSON.parse(text).result.content[0].text), seen).toMatchObject(expected.answer as object)
  }
  if (expected.maxBytes !== undefined) expect(Buffer.byteLength(text), does).toBeLessThanOrEqual(expected.maxBytes)
  for (const absent of expected.lacks ?? []) expect(text, seen).not.toContain(absent)
  for (const [name, path] of Object.entries(expected.keeps ?? {})) {
    const value = path.split('.').reduce((within, member) => Object(within)[member], JSON.parse(text))
    expect(value, `${path} of ${seen}`).toBeDefined()
    names.set(name, String(value))
  }
}

/** Returns the code that Ann's browser gets. */
async function consented(grid: OAuthGrid, { consent }: WildConsent): Promise<string> {
  const omitted = Object.fromEntries([...authorizeQuery(grid).keys()].map((name) => [name, undefined]))
  const asked = Object.fromEntries(new URL(consent, issuer).searchParams)
  return await codeFor(grid, undefined, { ...omitted, ...asked })
}

/** Returns the value with each known `<name>` replaced. */
function withNames<Value>(value: Value, names: ReadonlyMap<string, string>): Value {
  return JSON.parse(JSON.stringify(value), (_, member) => {
    if (typeof member !== 'string') return member
    return member.replace(/<([\w ]+)>/g, (whole, name) => names.get(name) ?? whole)
  })
}
