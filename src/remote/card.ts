/** Finding and reading the card of a remote agent. See docs/protocol/a2a.md, "Remote agents". */
import * as z from 'zod'
import { parseAnswer } from '../lib/http/body.ts'
import { printable } from '../lib/redact.ts'
import { once } from '../lib/lazy.ts'
import { RemoteError } from '../lib/outbound/remote-error.ts'
import { second } from '../lib/time.ts'
import { RemoteRefusal } from './refusal.ts'
import type { SafeStream } from '../lib/outbound/safe-stream.ts'

/** Where a remote agent is, and the bearer token that only its origin gets. */
export interface RemoteAddress {
  url: string
  token?: string
}

/** What is kept of a card. */
export interface RemoteCard {
  name: string
  description: string
  skills: { name: string; description: string }[]
  /** Whether it can tell of what becomes of a task. */
  pushes: boolean
  /** Where requests go: of the interfaces on the origin of the agent, the best that this grid speaks. */
  endpoint: { url: string; binding: string; version: string; tenant?: string }
  /** The URL that the card was read from. */
  readFrom: string
  /** Origins of interfaces that are not used, because they are not that of the agent. */
  otherOrigins: string[]
}

/** The official client, loaded at the first request: most processes have no remote agents. */
export const a2aSdk = once(async () => ({
  ...await import('@a2a-js/sdk/client'),
  ...await import('@a2a-js/sdk'),
}))

const cardPath = '.well-known/agent-card.json'
const cardLimits = { maxBytes: 256 * 1024, maxDepth: 32, maxTokens: 5_000 }
const timeoutMs = 5 * second
/** Of what is shown of a card. */
const maxSkills = 50

const text = (most: number) => z.string().transform((given) => printable(given).slice(0, most).toWellFormed())
const cardSchema = z.object({
  name: text(200),
  description: text(500).catch(''),
  skills: z.array(z.object({ name: text(64), description: text(500).catch('') })).catch([]),
  capabilities: z.object({ pushNotifications: z.boolean().catch(false) }).catch({ pushNotifications: false }),
  supportedInterfaces: z.array(z.object({
    url: z.string(),
    protocolBinding: z.string(),
    protocolVersion: z.string().catch('1.0'),
    tenant: z.string().optional(),
  })),
})

/**
 * Read the card of the agent at a URL: that of the card itself, of an endpoint, or of a host. Fails with a
 * `RemoteError` if no card was found, and with a `RemoteRefusal` if the agent cannot be used.
 */
export async function readCard(stream: SafeStream, address: RemoteAddress): Promise<RemoteCard> {
  let failure: unknown
  for (const url of candidates(address.url)) {
    try {
      return await cardOf(await fetchJson(stream, url, address.token), url)
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error
      failure ??= error
    }
  }
  throw failure
}

/** Below the address, then the address itself. `new URL` would drop the last part of a path without a final `/`. */
function candidates(given: string): string[] {
  if (given.endsWith('.json')) return [given]
  const { origin, pathname } = new URL(given)
  const base = `${origin}${pathname}${pathname.endsWith('/') ? '' : '/'}`
  return [`${base}${cardPath}`, given]
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
  if (response.status !== 200) throw new RemoteError('invalid_response', `${response.status} for the card`)
  try {
    return parseAnswer(body, cardLimits).value
  } catch {
    throw new RemoteError('invalid_response', 'The card is not JSON, or too large')
  }
}

async function cardOf(given: unknown, readFrom: string): Promise<RemoteCard> {
  const { DefaultAgentCardResolver } = await a2aSdk()
  let card: z.infer<typeof cardSchema>
  try {
    const resolver = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } })
    card = cardSchema.parse(resolver.normalizeAgentCard(given))
  } catch {
    throw new RemoteError('invalid_response', 'It is not the card of an agent')
  }
  const { origin } = new URL(readFrom)
  const originOf = (url: string) => URL.canParse(url) ? new URL(url).origin : url.slice(0, 100)
  const own = card.supportedInterfaces.filter(({ url }) => originOf(url) === origin)
  const others = card.supportedInterfaces.map(({ url }) => originOf(url)).filter((other) => other !== origin)
  const [best] = own.filter((one) => rank(one) < ranks.length).sort((a, b) => rank(a) - rank(b))
  if (!best) {
    throw new RemoteRefusal(
      own.length === 0 && others.length > 0
        ? `Its card names endpoints on another server only: ${others[0]}.`
        : 'It has no endpoint for A2A 1.0 (JSON-RPC or HTTP+JSON) or 0.3 (JSON-RPC).',
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
      version: best.protocolVersion,
      ...(best.tenant && { tenant: best.tenant }),
    },
    readFrom,
    otherOrigins: [...new Set(others)].slice(0, 5),
  }
}

/** The interfaces that this grid speaks, best first. */
const ranks = [['JSONRPC', '1'], ['HTTP+JSON', '1'], ['JSONRPC', '0.3']] as const

function rank({ protocolBinding, protocolVersion }: { protocolBinding: string; protocolVersion: string }): number {
  const found = ranks.findIndex(([binding, version]) =>
    protocolBinding.toUpperCase() === binding && protocolVersion.startsWith(version)
  )
  return found === -1 ? ranks.length : found
}
