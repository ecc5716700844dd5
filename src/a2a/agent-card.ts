/** The agent card of the grid, for both versions of A2A. See docs/protocol.md, "Agent card". */
import { createHash } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { version } from '../lib/version.ts'
import type { Handler } from '../request-context.ts'
import type { A2aVersion } from './codec.ts'
import { gridRoutingExtension } from './grid-routing.ts'
import { requestsVersion10 } from './version.ts'

/** The paths of the card: those that clients of each version look at, and the endpoint itself. */
export const cardPaths = [
  '/.well-known/agent-card.json',
  '/.well-known/agent.json',
  '/a2a/v1/.well-known/agent-card.json',
  '/a2a/v1/grid/.well-known/agent-card.json',
  '/a2a/v1/grid',
  '/a2a/v1/grid/',
]

/**
 * Serves the card, without authentication: the 1.0 card when `A2A-Version: 1.0` asks for it, otherwise a hybrid with the
 * fields of 0.3 and 1.0.
 */
export function agentCard({ config }: Deps): Handler {
  const only10 = renderCard(card10(config), '1.0')
  const hybrid = renderCard(hybridCard(config))

  return function agentCard({ request }) {
    const { body, headers } = requestsVersion10(request) ? only10 : hybrid
    const isUnchanged = matchesETag(request.headers.get('if-none-match'), headers.ETag)
    return isUnchanged ? new Response(null, { status: 304, headers }) : new Response(body, { headers })
  }
}

/** The 1.0 card. URLs come from the configuration, never from a request. */
function card10(config: Config) {
  const url = `${config.baseUrl}/a2a/v1/grid`
  return {
    name: 'agent-grid',
    description: 'A messaging grid for agents. A message is delivered to the inbox of the agent it names.',
    version,
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    capabilities: { streaming: false, pushNotifications: false, extensions: [gridRoutingExtension(config)] },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{
      id: 'deliver',
      name: 'Deliver',
      description: 'Delivers a text to the agent named in message.metadata.to and confirms it.',
      tags: ['messaging'],
    }],
  }
}

/** Both versions in one card: clients of 0.3 send no version header and need `url`. Newer clients ignore the 0.3 fields. */
function hybridCard(config: Config) {
  const card = card10(config)
  const { url } = card.supportedInterfaces[0]
  return {
    ...card,
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url, transport: 'JSONRPC' }],
    security: [{ bearer: [] }],
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', ...card.securitySchemes.bearer } },
  }
}

function renderCard(card: unknown, version?: A2aVersion) {
  const body = JSON.stringify(card)
  const headers = {
    'Content-Type': 'application/json',
    'Cache-Control': 'public, max-age=300',
    // The CORS headers depend on whether there is an Origin.
    Vary: 'A2A-Version, Origin',
    ETag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    ...(version && { 'A2A-Version': version }),
  }
  return { body, headers }
}

/** Weak comparison with each of the listed tags. @see RFC 9110 §13.1.2 */
function matchesETag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
