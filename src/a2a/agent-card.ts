/** The agent card of the whole grid, for both versions of A2A. a2a.md, section 13. */
import { createHash } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { corsHeaders, preflight } from '../lib/cors.ts'
import { version } from '../lib/version.ts'
import { gridRouting } from './grid-routing.ts'
import { asksForVersion10 } from './version.ts'

/** Where the card is served: where clients of each version look, and at the endpoint itself. */
export const cardPaths = [
  '/.well-known/agent-card.json',
  '/.well-known/agent.json',
  '/a2a/v1/.well-known/agent-card.json',
  '/a2a/v1/grid/.well-known/agent-card.json',
  '/a2a/v1/grid',
  '/a2a/v1/grid/',
]

/**
 * Serves the card to anybody: in 1.0 form when `A2A-Version: 1.0` asks for it, otherwise
 * with the members of 0.3 and 1.0 together. Spec: "Endpoints", agent card.
 */
export function agentCard({ config }: Deps): (request: Request) => Response {
  const pure = rendered(cardIn10(config), '1.0')
  const hybrid = rendered(hybridCard(config))

  return (request) => {
    if (request.method === 'OPTIONS') return preflight('GET, HEAD, OPTIONS')
    const { body, headers } = asksForVersion10(request) ? pure : hybrid
    const isKnown = matches(request.headers.get('if-none-match'), headers.ETag)
    return isKnown ? new Response(null, { status: 304, headers }) : new Response(body, { headers })
  }
}

/** The members of the 1.0 card. Capabilities are those that work; addresses are configured, never a request's. */
function cardIn10(config: Config) {
  const url = `${config.baseUrl}/a2a/v1/grid`
  return {
    name: 'agent-grid',
    description: 'A messaging grid for agents. A message is delivered to the mailbox of the agent it names.',
    version,
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    capabilities: { streaming: false, pushNotifications: false, extensions: [gridRouting(config)] },
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

/** Both versions in one: clients of 0.3 send no header and need `url`. Newer clients ignore the older members. */
function hybridCard(config: Config) {
  const card = cardIn10(config)
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

function rendered(card: unknown, inVersion?: string) {
  const body = JSON.stringify(card)
  const headers = {
    'Content-Type': 'application/json',
    'Cache-Control': 'public, max-age=300',
    Vary: 'A2A-Version',
    ETag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    ...(inVersion && { 'A2A-Version': inVersion }),
    ...corsHeaders,
  }
  return { body, headers }
}

/** @see RFC 9110 §13.1.2: weak comparison with any of the listed tags. */
function matches(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
