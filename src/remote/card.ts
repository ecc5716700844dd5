/** Finds and parses a remote agent's card. See docs/protocol/a2a.md, "Remote agents". */
import * as z from 'zod'
import { canonicalJson } from '../lib/encoding.ts'
import { parseAnswer } from '../lib/http/body.ts'
import { printable, printableLine } from '../lib/redact.ts'
import { once } from '../lib/lazy.ts'
import { RemoteError } from '../lib/outbound/remote-error.ts'
import { type DetachedSignature, fitsKey, type JWK, signedBy } from '../lib/signing.ts'
import { second } from '../lib/time.ts'
import { RemoteRefusal } from './refusal.ts'
import type { SafeStream } from '../lib/outbound/safe-stream.ts'

/** A remote agent's address, and the bearer token that is sent to its origin only. */
export interface RemoteAddress {
  url: string
  token?: string
}

/** The fields of a card that are stored. */
export interface RemoteCard {
  name: string
  description: string
  skills: { name: string; description: string }[]
  /** Whether the agent can push a task's events. */
  pushes: boolean
  /** The endpoint for requests: the best interface on the agent's origin that the grid supports. */
  endpoint: { url: string; binding: string; version: string; tenant?: string }
  /** The URL that the card was read from. */
  readFrom: string
  /** The origins of unused interfaces that are not on the agent's origin. */
  otherOrigins: string[]
  /** The authentication schemes that the card names. */
  wants?: string[]
  /** Set if the signatures were checked and none is valid. */
  isForged?: true
}

/** Error if no card was found. `tried` lists the addresses with their results. */
export class NoCard extends RemoteError {
  readonly tried: string

  constructor({ reason, detail }: RemoteError, tried: readonly string[]) {
    super(reason, detail)
    this.tried = tried.join('; ')
  }
}

/** The official client, loaded on the first request because most processes have no remote agents. */
export const a2aSdk = once(async () => ({
  ...await import('@a2a-js/sdk/client'),
  ...await import('@a2a-js/sdk'),
}))

const cardPaths = ['.well-known/agent-card.json', '.well-known/agent.json']
/** A suffix that marks an address as the endpoint. The addresses in the card are then ignored. */
const isEndpointHash = '#endpoint'
const cardLimits = { maxBytes: 256 * 1024, maxDepth: 32, maxTokens: 5_000 }
const timeoutMs = 5 * second
/** Maximum number of stored skills. */
const maxSkills = 50

const text = (most: number) => z.string().transform((given) => printable(given).slice(0, most).toWellFormed())
const cardSchema = z.object({
  name: text(200),
  description: text(500).catch(''),
  skills: z.array(z.object({ name: text(64), description: text(500).catch('') })).catch([]),
  capabilities: z.object({ pushNotifications: z.boolean().catch(false) }).catch({ pushNotifications: false }),
  securitySchemes: z.record(z.string(), z.unknown()).catch({}),
  supportedInterfaces: z.array(z.object({
    url: z.string(),
    protocolBinding: z.string(),
    protocolVersion: z.string().catch('1.0'),
    tenant: z.string().optional(),
  })),
})

/**
 * Reads the card of the agent at a URL, which may be the URL of the card, an endpoint or a host. Fails with `NoCard` if
 * no card was found, and with a `RemoteRefusal` if the agent cannot be used.
 */
export async function readCard(stream: SafeStream, address: RemoteAddress): Promise<RemoteCard> {
  let failure: RemoteError | undefined
  const tried: string[] = []
  for (const { url, isElsewhere } of candidates(address.url)) {
    try {
      const card = await fetchJson(stream, url, isElsewhere ? undefined : address.token)
      return await cardOf(card, { given: address.url, readFrom: url, isElsewhere, stream })
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error
      failure ??= error
      tried.push(`${url} (${error.answered?.shown ?? error.why.replace(/\.$/, '')})`)
    }
  }
  throw new NoCard(failure!, tried)
}

interface Candidate {
  url: string
  /** Whether the URL is at the root of the host although the given address is not. */
  isElsewhere?: boolean
}

/**
 * Returns the addresses to try: first below the given address, then the address itself, then at the root of its host.
 * The query is kept except at the root.
 */
function candidates(given: string): Candidate[] {
  const { origin, pathname, search } = new URL(given)
  if (pathname.endsWith('.json')) return [{ url: `${origin}${pathname}${search}` }]
  const base = baseOf(given)
  const below = cardPaths.map((path) => ({ url: `${origin}${base}${path}${search}` }))
  const root = base === '/' ? [] : cardPaths.map((path) => ({ url: `${origin}/${path}`, isElsewhere: true }))
  return [...below, { url: `${origin}${pathname}${search}` }, ...root]
}

/** Returns an address's path with a trailing `/`, because otherwise `new URL` would drop the last segment. */
function baseOf(given: string): string {
  const { pathname } = new URL(given)
  return pathname.endsWith('/') ? pathname : `${pathname}/`
}

/** Whether an interface's requests stay below an address, even if its server decodes slashes and dots. */
function isBelow({ url, tenant = '' }: { url: string; tenant?: string }, given: string): boolean {
  const base = baseOf(given)
  const path = `${new URL(url).pathname}/`
  return path.startsWith(base) && !/%2f|%5c/i.test(path.slice(base.length)) && !/^\.+$|[/\\]/.test(tenant)
}

async function fetchJson(stream: SafeStream, url: string, token: string | undefined): Promise<unknown> {
  const response = await stream(url, {
    method: 'GET',
    headers: {
      Accept: 'application/json',
      'A2A-Version': '1.0',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    timeoutMs,
    maxBytes: cardLimits.maxBytes,
    isProbe: true,
  })
  const body = await response.text()
  if (response.status !== 200) {
    const error = new RemoteError('invalid_response', `${response.status} for the card`)
    const scheme = response.headers.get('www-authenticate')?.match(/^[\w-]{1,40}/)?.[0]
    error.answered = { shown: `${response.status}${scheme ? `, wants ${scheme}` : ''}` }
    throw error
  }
  try {
    return parseAnswer(body, cardLimits).value
  } catch {
    throw new RemoteError('invalid_response', 'The card is not JSON, or is too large')
  }
}

interface FoundAt {
  /** The agent's address. */
  given: string
  readFrom: string
  isElsewhere?: boolean
  stream: SafeStream
}

async function cardOf(read: unknown, { given, readFrom, isElsewhere, stream }: FoundAt): Promise<RemoteCard> {
  const { DefaultAgentCardResolver } = await a2aSdk()
  let card: z.infer<typeof cardSchema>
  try {
    const resolver = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } })
    card = cardSchema.parse(resolver.normalizeAgentCard(read))
  } catch {
    throw new RemoteError('invalid_response', 'It is not the card of an agent')
  }
  const { origin, hash } = new URL(given)
  const asGiven = hash === isEndpointHash
  const interfaces = card.supportedInterfaces.map((one) => ({
    ...one,
    url: asGiven ? given.slice(0, -hash.length) : ownUrl(one.url, given),
  }))
  const own = interfaces.filter(({ url }) => originOf(url) === origin)
  const others = interfaces.map(({ url }) => originOf(url)).filter((other) => other !== origin)
  const [best] = own.filter((one) => rank(one) < ranks.length).sort((a, b) => rank(a) - rank(b))
  const useGiven = `If ${given} is its endpoint, write ${isEndpointHash} behind that address.`
  if (!best) {
    throw new RemoteRefusal(
      own.length === 0 && others.length > 0
        ? `Its card names endpoints on another server only: ${others[0]}. ${useGiven}`
        : 'It has no endpoint for A2A 1.0 (JSON-RPC or HTTP+JSON) or 0.3 (JSON-RPC).',
    )
  }
  if (isElsewhere && !asGiven && !isBelow(best, given)) {
    throw new RemoteRefusal(
      `The card at ${readFrom} names the endpoint ${best.url}, which is not below ${given}. ` +
        `If that is the agent, give ${best.url} as its address. ${useGiven}`,
    )
  }
  return {
    name: card.name,
    description: card.description,
    skills: card.skills.slice(0, maxSkills),
    pushes: card.capabilities.pushNotifications,
    endpoint: {
      url: best.url,
      binding: best.protocolBinding,
      version: ranks[rank(best)][2],
      ...(best.tenant && { tenant: best.tenant }),
    },
    readFrom,
    otherOrigins: [...new Set(others)].slice(0, 5),
    wants: wantsOf(card.securitySchemes),
    ...(await isForged(read, origin, stream) && { isForged: true as const }),
  }
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url.slice(0, 100)
}

const localHosts = /^(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/

/**
 * Returns an interface's address. Relative addresses are resolved against the agent's. Sample cards contain `localhost`
 * or a listening address. If the given host is also local and the ports are equal, the given host is used instead.
 */
function ownUrl(url: string, given: string): string {
  const { origin, host, hostname, port } = new URL(given)
  if (!URL.canParse(url)) {
    return URL.canParse(url, origin + baseOf(given)) ? new URL(url, origin + baseOf(given)).href : url
  }
  const named = new URL(url)
  if (localHosts.test(hostname) && localHosts.test(named.hostname) && named.port === port) named.host = host
  return named.href
}

/** Returns the names of the schemes as spelled by HTTP and A2A. */
function wantsOf(schemes: Record<string, unknown>): string[] {
  return Object.entries(schemes).slice(0, 5).map(([name, scheme]) => {
    const found = JSON.stringify(scheme)?.match(/"scheme":"([\w-]{1,40})"/)?.[1]
    return printableLine(found ?? name, 40)
  })
}

/** Whether a card has signatures by its own server's keys, but no valid one. */
async function isForged(read: unknown, origin: string, stream: SafeStream): Promise<boolean> {
  const { signatures, ...unsigned } = Object(read) as { signatures?: DetachedSignature[] }
  if (!Array.isArray(signatures)) return false
  const { canonicalizeAgentCard, AgentCard } = await a2aSdk()
  const payloads = [canonicalJson(unsigned), canonicalizeAgentCard(AgentCard.fromJSON(read))]
  let isChecked = false
  for (const signature of signatures.slice(0, 5)) {
    try {
      const { kid, jku = '' } = await signedBy(signature)
      if (originOf(jku) !== origin) continue
      const { keys } = await fetchJson(stream, jku, undefined) as { keys: JWK[] }
      const key = keys.find((one) => one.kid === kid)
      if (key && await fitsKey(signature, payloads, key)) return false
      isChecked ||= key !== undefined
    } catch {
      // If a signature cannot be checked, the card may be genuine.
    }
  }
  return isChecked
}

/** The supported interfaces, best first, with the version that the client uses for each. */
const ranks = [['JSONRPC', /^1$/, '1.0'], ['HTTP+JSON', /^1$/, '1.0'], ['JSONRPC', /^0\.[23]$/, '0.3']] as const

function rank({ protocolBinding, protocolVersion }: { protocolBinding: string; protocolVersion: string }): number {
  const [, major, minor = '0'] = protocolVersion.match(/^v?(\d+)(?:\.(\d+))?(?:\.\d+)?$/) ?? []
  const version = Number(major) === 0 ? `0.${Number(minor)}` : String(Number(major))
  const found = ranks.findIndex(([binding, versions]) =>
    protocolBinding.toUpperCase() === binding && versions.test(version)
  )
  return found === -1 ? ranks.length : found
}
