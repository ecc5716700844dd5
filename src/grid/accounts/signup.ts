/** Signup: an agent registers itself and can send at once, on trial. See docs/security.md, "Signup and claims". */
import type { Actor } from '../../auth/actor.ts'
import type { Config } from '../../config.ts'
import { GridError } from '../../errors.ts'
import { checkNewAlias } from '../../aliases.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { connectCommand, type McpConfig, mcpConfig } from '../../clients/snippets.ts'
import { newId } from '../../lib/id.ts'
import { mintKey, mintLinkToken } from '../../lib/secrets.ts'
import { hour } from '../../lib/time.ts'
import { type Agent, noToken } from '../../store/account/agents.ts'
import type { AttemptLimit } from '../../store/global/attempts.ts'
import type { Store } from '../../store/store.ts'
import { checkDescription, newAgentStatements, refuseTakenAlias } from '../agents/agents.ts'
import { attachSkills, checkSkills, refuseTooManySkills, sanitized } from '../agents/skills.ts'
import { attemptsOf, type Count, limitsOf, logReached, ofNetworks, tooMany } from '../people/attempts.ts'
import { sendClaimEmail } from './claim.ts'

const trial = { maxMessages: 10, lifetimeMs: 24 * hour, lifetimeText: '24 hours' } as const
const maxSignupSkills = 20
/** The signup limit of the whole grid, as a multiple of the limit per client address. */
const busyAddresses = 100
/** Maximum agents of an unclaimed account. Later signups open another account. */
const maxProvisionalAgents = 20
/** Concurrent signups for one email address need two attempts per account they fill: one to open it, one to join it. */
const maxAttempts = 10

interface SignupInput {
  ownerEmail: string
  alias: string
  description?: string
  skills?: string[]
}

/** The result of a signup, which is returned once. See docs/protocol/signup.md, "Signup". */
interface SignupResult {
  /** A command line that contains the key. Run in a terminal, it connects the machine's coding clients. */
  connect: string
  api_key: string
  /** Starts with `@`. */
  alias: string
  trial: { max_messages: number; expires_in: string; claim_url: string }
  mcp_config: McpConfig
  /** Set if invisible characters were removed from the description. */
  sanitized?: true
}

/**
 * Registers an agent for an owner whose email address is not verified. `address` is the client address for rate limits.
 *
 * The first signup for an email address opens a provisional account. Later signups join it until it is claimed. A
 * claimed account is never joined. The result does not show whether the signup opened or joined an account.
 *
 * Fails with `invalid_alias`, `alias_taken`, `alias_reserved`, `invalid_email`, `invalid_input`, `storage_full` or
 * `signup_rate_limited`. See docs/protocol/signup.md, "Signup".
 */
export async function signUp(store: Store, input: SignupInput, address: string): Promise<SignupResult> {
  const { config, now } = store.deps
  const alias = checkNewAlias(input.alias, config.reservedAliases)
  const ownerEmail = normaliseEmail(input.ownerEmail, 'owner_email')
  const description = checkDescription(input.description)
  const skills = checkSkillNames(input.skills ?? [])
  const counts = countsOf(config, address)

  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const at = now()
    const limits = limitsOf(counts, at)
    const joinEmail = config.signupJoin === 'email' ? ownerEmail : null
    const [joined] = await Promise.all([
      joinEmail === null ? undefined : store.global.accounts.byJoinEmail(joinEmail),
      refuseTooMany(store, limits, at),
    ])
    const provisionalId = joined?.id ?? newId()
    const account = store.account(provisionalId, { type: 'system', job: 'signup' } satisfies Actor)
    account.requireSpace()
    const fits = refuseTooManySkills(account, skills)
    // Avoids an unhandled rejection if the alias is also taken.
    fits.catch(() => {})
    await refuseTakenAlias(account, alias)
    await fits

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
      remote: null,
    }
    const claim = mintLinkToken()
    const signup = { id: newId(), home: provisionalId, joinEmail, ownerEmail, address, claimTokenHash: claim.hash, at }
    const key = mintKey('agent_key')
    const finish = () => {
      // One email per provisional account, in the background: the response time must not reveal who has an account,
      // and a failed email must not fail the signup. See docs/people.md, "Signing in".
      if (!joined) {
        sendClaimEmail(store, claim.token, address, alias)
          .catch((error) => store.deps.log.warn('A claim email was not sent', { error }))
      }
      const isCleaned = description !== (input.description ?? '')
      return { ...signupResult(config, alias, key.key, claim.token), ...(isCleaned && sanitized) }
    }
    try {
      await store.write([
        ...(joined ? [] : [
          store.global.accounts.add({ id: provisionalId, name: ownerEmail, state: 'provisional', joinEmail }, at),
        ]),
        store.global.signups.add(signup, limits),
        store.global.attempts.add(attemptsOf(signup.id, counts), [], at),
        ...newAgentStatements(account, { ...agent, ...noToken, signupId: signup.id }, key),
        account.change.agents.addTrial(agent.id, trial.maxMessages, at + trial.lifetimeMs),
        ...attachSkills(account, agent.id, skills),
        store.global.accounts.closeToJoins(provisionalId, maxProvisionalAgents),
      ])
      return finish()
    } catch (error) {
      if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
      // The agent exists if an earlier attempt succeeded and its response was lost.
      if (await account.read.agents.byId(agent.id)) return finish()
      // Otherwise a concurrent signup took the alias, filled the account or reached the rate limit, so check again.
    }
  }
  throw new GridError('unavailable', 'Many agents are signing up for this owner. Try again.', { retryAfterSeconds: 1 })
}

function signupResult(config: Config, alias: string, apiKey: string, claimToken: string): SignupResult {
  return {
    connect: connectCommand(config, { alias, key: apiKey }),
    api_key: apiKey,
    alias: `@${alias}`,
    trial: {
      max_messages: trial.maxMessages,
      expires_in: trial.lifetimeText,
      claim_url: `${config.appUrl}/claim/${claimToken}`,
    },
    mcp_config: mcpConfig(config.appUrl, apiKey),
  }
}

/** Returns the limits of a signup: per client address, and for the whole grid. */
function countsOf({ signupPerHour }: Config, address: string): Count[] {
  return [
    ...ofNetworks('signup_from', address, [[signupPerHour, hour]]),
    { kind: 'signup', subject: 'all', rates: [[signupPerHour * busyAddresses, hour]] },
  ]
}

async function refuseTooMany(store: Store, limits: AttemptLimit[], at: number): Promise<void> {
  const blocked = await Promise.all(limits.map((limit) => store.global.attempts.blockedSince(limit)))
  if (blocked.every((since) => since === undefined)) return
  await logReached(store, limits, 'The hourly signup limit of the grid is reached')
  throw await tooMany(store, limits, at, 'signups', 'Too many signups.', 'signup_rate_limited')
}

function checkSkillNames(names: string[]) {
  if (names.length > maxSignupSkills) {
    throw new GridError('invalid_input', `At most ${maxSignupSkills} skills are allowed.`, { field: 'skills' })
  }
  return checkSkills(names.map((name) => ({ name })))
}
