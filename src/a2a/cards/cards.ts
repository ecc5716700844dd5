/**
 * Serves agent cards: the shared endpoint's, each agent's, and the extended ones. See docs/protocol/a2a.md, "Agent
 * cards".
 */
import { createHash } from 'node:crypto'
import { agentCard, type Card10, type CardSkill, extendedCard, gridCard, hybridCard } from './card.ts'
import { signCard, Signer } from './signing.ts'
import type { MethodCall } from '../method-call.ts'
import { authenticateAgent, challenge, requestsVersion10 } from '../request.ts'
import type { AuthenticateCall } from '../../auth/bearer.ts'
import { findCardAgent } from '../../grid/cards.ts'
import { listAgents, type ListedAgent } from '../../grid/agents/find-agent.ts'
import { matchesEtag } from '../../lib/http/response-headers.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { requestPath } from '../../lib/http/request-path.ts'
import type { AppContext, Handler } from '../../request-context.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { restError } from '../../wire.ts'

/** Paths at which clients of each version look for the root card, and the path of the shared endpoint. */
export const rootCardPaths = [
  '/.well-known/agent-card.json',
  '/.well-known/agent.json',
  '/a2a/v1/.well-known/agent-card.json',
  '/a2a/v1/grid/.well-known/agent-card.json',
  '/a2a/v1/grid/.well-known/agent.json',
  '/a2a/v1/grid',
]

export const agentCardPaths = [
  '/a2a/v1/agents/:alias',
  '/a2a/v1/agents/:alias/.well-known/agent-card.json',
  '/a2a/v1/agents/:alias/.well-known/agent.json',
]

const path10 = '/1.0/.well-known/agent-card.json'
/** Paths of cards in pure 1.0 format, which do not depend on the version header. */
export const card10Paths = { root: `/a2a/v1/grid${path10}`, agent: `/a2a/v1/agents/:alias${path10}` }

/** Paths of the extended cards, as A2A 0.3 defines them. */
export const extendedCardPaths = ['/a2a/v1/grid/v1/card', '/a2a/v1/agents/:alias/v1/card']

/** Maximum size in bytes of the cache of signed cards, which avoids signing a card for every request. */
const keptBytes = 8 * 2 ** 20

/** A card as served. */
interface SignedCard {
  text: string
  etag: string
  /** When this process first signed the card, in milliseconds since the epoch. */
  since: number
}

export class Cards {
  readonly #store: Store
  readonly #authenticateCall: AuthenticateCall
  readonly #originOf: (request: Request) => string
  readonly #signer: Signer
  readonly #kept = new LruMap<string, SignedCard>(keptBytes)

  /** `originOf` returns the origin that a request was sent to. The card contains this origin. */
  constructor(store: Store, authenticateCall: AuthenticateCall, originOf: (request: Request) => string) {
    this.#store = store
    this.#authenticateCall = authenticateCall
    this.#originOf = originOf
    this.#signer = new Signer(store)
  }

  /** The shared endpoint's card, available to everyone. */
  readonly root: Handler = (c) => {
    const request = c.req.raw
    return this.#serve(request, gridCard(this.#store.deps.config, this.#originOf(request)), true)
  }

  /** An agent's card. A public agent's card is available to everyone, other cards to agents of the same account. */
  readonly agent: Handler = (c) =>
    this.#answer(c, async () => {
      const request = c.req.raw
      const hasKey = request.headers.has('authorization')
      const openAccount = hasKey ? async () => (await authenticateAgent(this.#authenticateCall, c)).caller() : undefined
      const agent = await findCardAgent(this.#store, c.req.param('alias')!, openAccount)
      const card = agentCard(this.#store.deps.config, this.#originOf(request), agent)
      return await this.#serve(request, card, agent.isPublic)
    })

  readonly extended: Handler = (c) =>
    this.#answer(c, async () => {
      const account = await (await authenticateAgent(this.#authenticateCall, c)).caller()
      const request = c.req.raw
      return await this.#serve(request, await this.#extendedCard(request, account, c.req.param('alias') ?? ''), false)
    })

  /** The public keys for verifying the signatures. */
  readonly keySet: Handler = async () => {
    const { set } = await this.#signer.keys()
    return Response.json(set, {
      headers: {
        'Content-Type': 'application/jwk-set+json',
        'Cache-Control': 'public, max-age=300',
        Vary: 'Origin',
      },
    })
  }

  /**
   * Returns the extended card for a call. Without an alias, returns the shared endpoint's card. Fails with
   * `agent_not_found`.
   */
  ofCall(request: Request): MethodCall['cards'] {
    return {
      extendedCard: async (account, version, alias = '') => {
        const card = await this.#extendedCard(request, account, alias)
        return JSON.parse((await this.#sign(request, card, version === '1.0')).text)
      },
    }
  }

  async #extendedCard(request: Request, account: AccountStore, alias: string): Promise<Card10> {
    const { config } = this.#store.deps
    const origin = this.#originOf(request)
    if (alias === '') return extendedCard(gridCard(config, origin), await reachableAgents(account))
    return extendedCard(
      agentCard(config, origin, await findCardAgent(this.#store, alias, () => Promise.resolve(account))),
    )
  }

  async #serve(request: Request, card: Card10, isPublic: boolean): Promise<Response> {
    const is10 = requestsVersion10(request) || requestPath(request).endsWith(path10)
    const { text, etag, since } = await this.#sign(request, card, is10)
    const headers = {
      'Content-Type': 'application/json',
      'Cache-Control': isPublic ? 'public, max-age=300' : 'private, no-cache',
      Vary: vary,
      ETag: etag,
      'Last-Modified': new Date(since).toUTCString(),
      ...(is10 && { 'A2A-Version': '1.0' }),
    }
    const isUnchanged = matchesEtag(request.headers.get('if-none-match'), etag)
    return isUnchanged ? new Response(null, { status: 304, headers }) : new Response(text, { headers })
  }

  /** Signatures differ each time, so the ETag is computed from the other members. */
  async #sign(request: Request, card10: Card10, is10: boolean): Promise<SignedCard> {
    const card = is10 ? card10 : hybridCard(card10)
    const { kid, signAt } = await this.#signer.keys()
    const name = createHash('sha256').update(`${kid} ${JSON.stringify(card)}`).digest('base64url').slice(0, 22)
    const kept = this.#kept.get(name)
    if (kept) return kept
    const signatures = signAt && await signCard(card, card10, await signAt(this.#originOf(request)))
    // Signatures come last, because an A2A test suite searches the text for certain words, which signatures may contain
    // by chance.
    const text = JSON.stringify({ ...card, ...(signatures && { signatures }) })
    const signed = { text, etag: `W/"${name}"`, since: this.#store.deps.now() }
    this.#kept.set(name, signed, 2 * text.length + 200)
    return signed
  }

  async #answer(c: AppContext, answer: () => Promise<Response>): Promise<Response> {
    try {
      return await answer()
    } catch (error) {
      const refusal = c.get('trace').refusal(error)
      const response = restError(refusal)
      for (const [header, value] of Object.entries(challenge(refusal))) response.headers.set(header, value)
      response.headers.set('Vary', vary)
      return response
    }
  }
}

/** The CORS headers depend on whether the request has an `Origin`. */
const vary = 'A2A-Version, Authorization, Origin'

/** Returns one skill per agent, for the first page of the account's agents and of public agents. */
async function reachableAgents(account: AccountStore): Promise<CardSkill[]> {
  const own = await listAgents(account, {})
  const others = await listAgents(account, { public: true })
  return [...own.agents, ...others.agents].map(({ alias, description, skills }: ListedAgent) => ({
    id: alias,
    name: alias,
    description: description || `Messages to ${alias}.`,
    tags: skills.length > 0 ? skills.map(({ name }) => name) : ['agent'],
  }))
}
