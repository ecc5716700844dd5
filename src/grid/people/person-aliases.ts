/**
 * A person's alias in an account: an agent of type `human` without a key. Only that person can act as it, in the
 * browser. See docs/people.md, "People who write".
 */
import { callingUser, requirePermission, type UserActor } from '../../auth/actor.ts'
import { GridError, limitReached } from '../../errors.ts'
import { aliasPattern, bareAlias, checkNewAlias } from '../../aliases.ts'
import { newId } from '../../lib/id.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { noToken } from '../../store/account/agents.ts'
import type { PersonAlias } from '../../store/account/person-aliases.ts'
import type { Statement } from '../../store/sql.ts'
import { checkDescription, refuseTakenAlias } from '../agents/agents.ts'
import { endAgent } from '../agents/end-agent.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

export type { PersonAlias }

/** Resolution of "last seen", so that not every page view writes to the database. */
const lastSeenPrecisionMs = minute
/** How many aliases an account's people can change or give up per day. */
const maxFormerPerDay = 20
const maxSuggestions = 9

/** Returns the calling user's person alias; undefined until they have chosen one. */
export async function findPersonAlias(account: AccountStore): Promise<PersonAlias | undefined> {
  return await account.read.personAliases.ofMember(callingUser(account.actor).userId)
}

/** Returns the calling user's person alias, required before writing or reading. Fails with `alias_required`. */
export async function callingPersonAlias(account: AccountStore): Promise<PersonAlias> {
  callingUser(account.actor)
  requirePermission(account.actor, 'use')
  const personAlias = await findPersonAlias(account)
  if (!personAlias) {
    throw new GridError('alias_required', 'Choose your alias in this account first, under Settings, Profile.')
  }
  markSeen(account, personAlias)
  return personAlias
}

/** Records when the person was last seen, as for any agent. The caller does not wait for the write. */
function markSeen(account: AccountStore, { agentId, lastSeenAt }: PersonAlias): void {
  const at = account.deps.now()
  if (at - (lastSeenAt ?? 0) < lastSeenPrecisionMs) return
  account.writeLater([account.change.agents.markSeen(agentId, at)])
}

/**
 * Suggests a free alias for the calling user, based on their name or email address. Empty if none of a few candidates
 * is free.
 */
export async function suggestAlias(
  account: AccountStore,
  { name, email }: { name: string; email: string },
): Promise<string> {
  const [first, ...others] = wordsOf(name || email.split('@')[0])
  if (first === undefined) return ''
  const full = shortened([first, ...others].join('-'))
  const numbered = Array.from({ length: maxSuggestions }, (_, n) => shortened(`${full}-${n + 2}`))
  const aliases = [first, full, ...numbered]
  const free = await Promise.all(aliases.map((alias) => isFree(account, alias)))
  return aliases.find((_, n) => free[n]) ?? ''
}

/** Returns the words of a name in characters allowed in an alias: `Zoë van Dam` gives `zoe`, `van` and `dam`. */
function wordsOf(name: string): string[] {
  return name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().split(/[^a-z0-9]+/).filter((word) => word !== '')
}

function shortened(alias: string): string {
  return alias.length <= 32 ? alias : alias.slice(0, 32).replace(/-+$/, '')
}

async function isFree({ deps, read }: AccountStore, alias: string): Promise<boolean> {
  if (!aliasPattern.test(alias) || deps.config.reservedAliases.includes(alias)) return false
  return await read.directory.isAliasFree(alias, { forPerson: true })
}

interface PersonAliasInput {
  alias: string
  /** The person's description for agents. Default: unchanged, initially empty. */
  description?: string
}

/**
 * Chooses or changes the calling user's alias in the account. Its inbox and channels stay, and the former alias stays
 * reserved. Viewers cannot have one. Fails with `invalid_alias`, `alias_reserved`, `alias_taken`, `invalid_input` or
 * `rate_limit_exceeded`.
 */
export async function chooseAlias(account: AccountStore, input: PersonAliasInput): Promise<PersonAlias> {
  const { userId } = callingUser(account.actor)
  const alias = checkNewAlias(bareAlias(input.alias), account.deps.config.reservedAliases)
  const given = input.description === undefined ? undefined : checkDescription(input.description)
  const [newAgent, keeper] = [newId(), newId()]
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'use')
    const { agents, personAliases } = account.change
    const at = account.deps.now()
    const known = await findPersonAlias(account)
    const description = given ?? known?.description ?? ''
    // The alias is already stored if an earlier attempt succeeded and its response was lost.
    if (known?.alias === alias && known.description === description) return known
    if (known?.alias !== alias) {
      await refuseTakenAlias(account, alias, { forPerson: true })
      await refuseManyChanges(account, at)
    }
    if (known) {
      await account.write([
        ...precondition,
        personAliases.requirePersonAlias(userId, known.agentId),
        ...personAliases.rename({ agent: known.agentId, alias, description, keeper }, at),
      ])
      return { ...known, alias, description }
    }
    await account.write([
      ...precondition,
      personAliases.requireNoOther(userId, undefined),
      ...agents.add({
        id: newAgent,
        alias,
        type: 'human',
        visibility: 'private',
        accessPolicy: 'auto_approve',
        description,
        remoteUrl: null,
        signupId: null,
        createdAt: at,
        ...noToken,
      }),
      personAliases.add(userId, newAgent),
    ])
    return { agentId: newAgent, alias, description, createdAt: at, lastSeenAt: null }
  })
}

/** Limits the number of changes, because each former alias stays reserved. */
async function refuseManyChanges({ read }: AccountStore, at: number): Promise<void> {
  if (await read.personAliases.givenUpSince(at - day) < maxFormerPerDay) return
  throw limitReached(
    'rate_limit_exceeded',
    `People of this account have changed or given up ${maxFormerPerDay} aliases within a day. Choose another tomorrow.`,
    { name: 'aliases', quota: maxFormerPerDay, windowSeconds: day / second },
    hour / second,
  )
}

/** Gives up the calling user's alias. Its unread messages are parked, and it stays reserved. */
export async function giveUpAlias(account: AccountStore): Promise<{ alias: string }> {
  const { userId } = callingUser(account.actor)
  return await retryOnConflict(async () => {
    const personAlias = await findPersonAlias(account)
    if (!personAlias) throw new GridError('alias_required', 'You have no alias in this account.')
    await account.write(await endPersonAlias(account, userId))
    return { alias: personAlias.alias }
  })
}

/** Returns statements that end a user's person alias. They fail the unit if it has changed since. */
export async function endPersonAlias(account: AccountStore, userId: UserActor['userId']): Promise<Statement[]> {
  const personAlias = await account.read.personAliases.ofMember(userId)
  const { personAliases } = account.change
  if (!personAlias) return [personAliases.requireNoOther(userId, undefined)]
  const { agentId, alias } = personAlias
  return [
    personAliases.requirePersonAlias(userId, agentId),
    ...await endAgent(account, { id: agentId, alias, isPerson: true }, account.deps.now()),
    personAliases.remove(userId),
  ]
}
