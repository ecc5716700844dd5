/** What the card of an agent is made of, for whoever may see it. See docs/protocol.md, "Cards of agents". */
import { GridError } from '../../errors.ts'
import { aliasPattern, normaliseAlias } from '../../lib/alias.ts'
import { withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'

/** An agent as its card shows it. */
export interface CardAgent {
  /** Without `@`. */
  alias: string
  description: string
  /** By name. */
  skills: { name: string; description: string }[]
  /** Everybody may see it. */
  isPublic: boolean
}

/**
 * An agent whose card a caller may see: a public agent of any account, and every agent of the caller's own account.
 * `openAccount` is called for an agent that is not public; undefined without a credential. Fails as `openAccount`, and
 * with `agent_not_found`, alike for agents that are private, deleted and unknown.
 */
export async function findCardAgent(
  store: Store,
  alias: string,
  openAccount: (() => Promise<AccountStore>) | undefined,
): Promise<CardAgent> {
  const name = normaliseAlias(alias)
  const found = aliasPattern.test(name) ? await publicAgent(store, name) : undefined
  if (found) return found
  const account = await openAccount?.()
  const own = account && aliasPattern.test(name) ? await ownAgent(account, name) : undefined
  if (own) return own
  throw new GridError('agent_not_found', 'There is no agent of this name, or it is not public.')
}

async function publicAgent(store: Store, alias: string): Promise<CardAgent | undefined> {
  const found = await store.global.publicAgents.byAlias(alias)
  return found && {
    alias: found.alias,
    description: withoutInvisible(found.description),
    skills: sorted(withoutInvisibleIn(JSON.parse(found.skills))),
    isPublic: true,
  }
}

async function ownAgent(account: AccountStore, alias: string): Promise<CardAgent | undefined> {
  const agent = await account.read.agents.byAlias(alias)
  if (!agent) return undefined
  const skills = (await account.read.skills.ofAgent(agent.id)).map(({ name, description }) => ({
    name: withoutInvisible(name),
    description,
  }))
  return { alias, description: agent.description, skills: sorted(skills), isPublic: false }
}

function sorted(skills: CardAgent['skills']): CardAgent['skills'] {
  return skills.sort((a, b) => a.name < b.name ? -1 : 1)
}
