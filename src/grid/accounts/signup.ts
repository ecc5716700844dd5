/** Signup: an agent registers itself and can write at once, on trial. */
import type { Actor } from '../../auth/actor.ts'
import { mintKey, mintLinkToken } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hour } from '../../lib/time.ts'
import { type Agent, noToken } from '../../store/account/agents.ts'
import type { Config } from '../../config.ts'
import type { Store } from '../../store/store.ts'
import { checkDescription, newAgentStatements, refuseTakenAlias } from '../agents/agents.ts'
import { checkNewAlias } from '../agents/alias.ts'
import { mailClaim } from './claim-link.ts'
import { normalEmail } from '../people/email-address.ts'
import { attachSkills, checkSkills, refuseTooManySkills } from '../agents/skills.ts'

/** Spec: "Limits", trial. */
export const trial = { maxMessages: 10, lifetimeMs: 24 * hour, lifetimeText: '24 hours' } as const
/** Spec: "Limits", signup skills. */
export const maxSignupSkills = 20
/** An account nobody has claimed takes no more agents than this; later signups open another. */
const maxProvisionalAgents = 20
/** Signups that race for one address need two looks for each account they fill: one to open it, one to join it. */
const maxAttempts = 10

export interface SignupInput {
  ownerEmail: string
  alias: string
  description?: string
  /** Names. */
  skills?: string[]
}

/** What a new agent is told, once. Spec: "Signup", success response body. */
export interface SignupResult {
  api_key: string
  /** With `@`. */
  alias: string
  trial: { max_messages: number; expires_in: string; claim_url: string }
  /** Ready to paste into an MCP client. */
  mcp_config: { mcpServers: Record<string, { type: 'http'; url: string; headers: { Authorization: string } }> }
}

/**
 * Register an agent for an owner who has proved nothing yet. `address` is the
 * client's, as the limits count it.
 *
 * The first signup for an address opens a provisional account, later ones join it
 * while nobody has claimed it; a claimed account is never joined. The answer is
 * the same in all cases.
 *
 * Fails with `invalid_alias`, `alias_taken`, `alias_reserved`, `invalid_email`,
 * `invalid_input` or `signup_rate_limited`. Spec: "Signup".
 */
export async function signUp(store: Store, input: SignupInput, address: string): Promise<SignupResult> {
  const { config, now } = store.deps
  const alias = checkNewAlias(input.alias, config.reservedAliases)
  const ownerEmail = normalEmail(input.ownerEmail)
  const description = checkDescription(input.description)
  const skills = checkSkillNames(input.skills ?? [])

  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const at = now()
    await refuseTooMany(store, address, at)
    const joinEmail = config.signupJoin === 'email' ? ownerEmail : null
    const joined = joinEmail === null ? undefined : await store.global.accounts.byJoinEmail(joinEmail)
    const home = joined?.id ?? newId()
    const account = store.account(home, { type: 'system', job: 'signup' } satisfies Actor)
    await refuseTakenAlias(account, alias)
    await refuseTooManySkills(account, skills)

    const agent: Agent = {
      id: newId(),
      alias,
      type: 'mcp',
      visibility: 'private',
      accessPolicy: 'auto_approve',
      description,
      remoteUrl: null,
      createdAt: at,
      lastSeenAt: null,
    }
    const claim = await mintLinkToken()
    const signup = { id: newId(), home, joinEmail, ownerEmail, address, claimTokenHash: claim.hash, at }
    const key = await mintKey('agent_key')
    try {
      await store.write([
        ...(joined ? [] : [
          store.global.accounts.add({ id: home, name: ownerEmail, state: 'provisional', joinEmail }, at),
        ]),
        store.global.signups.add(signup, config.signupPerHour, at - hour),
        ...newAgentStatements(account, { ...agent, ...noToken, signupId: signup.id }, key),
        account.change.agents.addTrial(agent.id, trial.maxMessages, at + trial.lifetimeMs),
        ...attachSkills(account, agent.id, skills),
        store.global.accounts.closeToJoins(home, maxProvisionalAgents),
      ])
      const result = asResult(config, alias, key.key, claim.token)
      // One mail for each provisional account. Nobody waits for it: the time of the answer must not tell who has an
      // account, and a mail must not fail a signup. Security A1.
      if (!joined) {
        mailClaim(store, claim.token, address, alias)
          .catch((error) => store.deps.log.warn('A claim mail was not sent', { error }))
      }
      return result
    } catch (error) {
      if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
      // Repeated after a lost answer, the write met its own agent: then it is done.
      if (await account.read.agents.byId(agent.id)) return asResult(config, alias, key.key, claim.token)
      // Otherwise the alias, the account or the address's allowance went to somebody else: look again.
    }
  }
  throw new GridError('unavailable', 'Many agents are signing up for this owner. Try again.', { retryAfterSeconds: 1 })
}

function asResult(config: Config, alias: string, apiKey: string, claimToken: string): SignupResult {
  const headers = { Authorization: `Bearer ${apiKey}` }
  return {
    api_key: apiKey,
    alias: `@${alias}`,
    trial: {
      max_messages: trial.maxMessages,
      expires_in: trial.lifetimeText,
      claim_url: `${config.appUrl}/claim/${claimToken}`,
    },
    mcp_config: { mcpServers: { 'agent-grid': { type: 'http', url: `${config.appUrl}/mcp/v1/grid`, headers } } },
  }
}

async function refuseTooMany(store: Store, address: string, at: number): Promise<void> {
  const { n, oldest } = await store.global.signups.fromAddress(address, at - hour)
  if (n < store.deps.config.signupPerHour) return
  const retryAfterSeconds = Math.ceil(((oldest ?? at) + hour - at) / 1_000)
  throw new GridError(
    'signup_rate_limited',
    `Too many signups from this address: ${store.deps.config.signupPerHour} per hour. Try again in ${
      Math.ceil(retryAfterSeconds / 60)
    } minutes.`,
    { retryAfterSeconds },
  )
}

function checkSkillNames(names: string[]) {
  if (names.length > maxSignupSkills) {
    throw new GridError('invalid_input', `At most ${maxSignupSkills} skills are allowed.`, { field: 'skills' })
  }
  return checkSkills(names.map((name) => ({ name })))
}
