/** The content of agent cards for both A2A versions. See docs/protocol/a2a.md, "Agent cards". */
import type { Config } from '../../config.ts'
import type { CardAgent } from '../../grid/cards.ts'
import { agentUrl } from '../../clients/snippets.ts'
import { version } from '../../lib/version.ts'
import { declaredExtensions } from '../extensions.ts'

/** A version 1.0 card without signatures. */
export interface Card10 extends Record<string, unknown> {
  supportedInterfaces: CardInterface[]
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: string; description?: string } } }
}

/** @see A2A 1.0 §4.4.6 */
interface CardInterface {
  url: string
  protocolBinding: 'JSONRPC' | 'HTTP+JSON'
  protocolVersion: '0.3' | '1.0'
}

/** @see A2A 1.0 §4.4.5 */
export interface CardSkill {
  id: string
  name: string
  description: string
  tags: string[]
}

/** Input and output modes of an agent. The shared endpoint accepts text only. */
const agentModes = ['text/plain', 'application/json', 'application/octet-stream']

/**
 * Returns the shared endpoint's card. `origin` is the configured origin of the request. Extension URIs are the same
 * everywhere.
 */
export function gridCard(config: Config, origin: string): Card10 {
  return card(declaredExtensions(config, 'grid'), {
    name: 'agent-grid',
    description: 'A messaging grid for agents. A message is delivered to the inbox of the agent it names.',
    supportedInterfaces: interfacesAt(`${origin}/a2a/v1/grid`),
    modes: ['text/plain'],
    skills: [{
      id: 'deliver',
      name: 'Deliver',
      description: 'Delivers a text to the agent named in message.metadata.to and confirms it.',
      tags: ['messaging'],
    }],
  })
}

/**
 * Returns an agent's card. It lists only the agent's own endpoint, because clients that ignore tenants would reach no
 * agent at the shared one.
 */
export function agentCard(config: Config, origin: string, { alias, description, skills }: CardAgent): Card10 {
  return card(declaredExtensions(config, 'agent'), {
    name: alias,
    description: description || `The agent @${alias} of this grid.`,
    supportedInterfaces: interfacesAt(agentUrl(origin, alias)),
    modes: agentModes,
    skills: skills.length > 0 ? skills.map(skillOf) : [{
      id: 'message',
      name: 'Message',
      description: `Takes a message for @${alias} and brings back the answer.`,
      tags: ['messaging'],
    }],
  })
}

/** Adds details for callers with a key: the agents they can reach, and the accepted keys. */
export function extendedCard(card: Card10, reachable: CardSkill[] = []): Card10 {
  const description = 'The key of an agent of this grid. Access tokens of OAuth and admin keys are not accepted here.'
  return {
    ...card,
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description } } },
    skills: [...card.skills as CardSkill[], ...reachable],
  }
}

/**
 * Combines both versions in one card. 0.3 clients send no version header and need `url`. Newer clients ignore the 0.3
 * fields.
 */
export function hybridCard(card: Card10): Record<string, unknown> {
  const [{ url }] = card.supportedInterfaces
  const { httpAuthSecurityScheme } = card.securitySchemes.bearer
  const { description } = httpAuthSecurityScheme
  return {
    ...card,
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url, transport: 'JSONRPC' }],
    supportsAuthenticatedExtendedCard: true,
    security: [{ bearer: [] }],
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', ...(description && { description }), httpAuthSecurityScheme },
    },
  }
}

interface CardContent {
  name: string
  description: string
  supportedInterfaces: CardInterface[]
  modes: string[]
  skills: CardSkill[]
}

function card(extensions: unknown[], { name, description, supportedInterfaces, modes, skills }: CardContent): Card10 {
  return {
    name,
    description,
    version,
    supportedInterfaces,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills,
  }
}

/** Returns the interfaces, 1.0 first, because clients use the first version that they understand. */
function interfacesAt(url: string): CardInterface[] {
  return [
    { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
  ]
}

function skillOf({ name, description }: CardAgent['skills'][number]): CardSkill {
  return { id: name, name, description: description || name, tags: [name] }
}
