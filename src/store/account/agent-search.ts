/**
 * Finds the agents of the account whose alias or description may contain a text, by the trigrams of the text. The index
 * has each trigram together with its account, so the agents of other accounts cost a search nothing.
 *
 * See docs/security.md, "Search index".
 */
import { Buffer } from 'node:buffer'
import { eq, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/sqlite-core'
import { agentNumbers, agentSkills, skills } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'
import { contains } from './search-old.ts'

/** Where more agents than this may match, reading them in their order finds some soon. */
const maxFound = 500
/** So many trigrams are looked up: more would not leave out many more agents. */
const maxTrigrams = 24

/**
 * The query of the index for a text, or undefined if the text is too short to have a trigram. As `contains` does, it
 * ignores the case of A to Z.
 */
export function trigramQuery(accountId: string, search: string): string | undefined {
  const characters = [...search.replace(/[A-Z]/g, (letter) => letter.toLowerCase())]
  const trigrams = new Set<string>()
  for (let i = 0; i + 3 <= characters.length && trigrams.size < maxTrigrams; i++) {
    trigrams.add(`${hex(accountId)}x${hex(characters.slice(i, i + 3).join(''))}`)
  }
  return trigrams.size === 0 ? undefined : [...trigrams].join(' AND ')
}

export function prepareAgentSearch(db: Db) {
  // Cross joins, because the planner would begin with all agents of the account, or with all their skills.
  const matches = sql`(SELECT rowid AS n FROM agent_search WHERE agent_search MATCH ${p('trigrams')}
    LIMIT ${p('limit')}) AS matches`
  const byText = db.select({ id: agentNumbers.agentId }).from(matches).crossJoin(agentNumbers)
    .where(inAccount(agentNumbers, sql`${agentNumbers.n} = matches.n`)).limit(p('limit'))
  const bySkill = db.select({ id: agentSkills.agentId }).from(skills).crossJoin(agentSkills)
    .where(inAccount(
      skills,
      contains(skills.name),
      eq(agentSkills.accountId, skills.accountId),
      eq(agentSkills.skillId, skills.id),
    )).limit(p('limit'))
  const found = unionAll(
    db.select().from(byText.as('by_text')),
    db.select().from(bySkill.as('by_skill')),
  ).as('found')
  const candidates = db.select({ list: sql<string>`json_group_array(${found.id})` }).from(found).limit(1).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /**
       * The ids of all agents of the account that may match a search, and perhaps more. Undefined if the index cannot
       * say: the text is too short, or too many may match.
       */
      async candidates(search: string): Promise<string[] | undefined> {
        const trigrams = trigramQuery(account.accountId, search)
        if (trigrams === undefined) return undefined
        const { list } = (await account.one(candidates, { trigrams, search, limit: maxFound + 1 }))!
        const ids = JSON.parse(list) as string[]
        return ids.length > maxFound ? undefined : ids
      },
    }),
    changes: () => ({}),
  }
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex')
}
