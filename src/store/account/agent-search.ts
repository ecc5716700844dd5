/**
 * Finds the agents of the account whose alias or description may contain a text, by the trigrams of the text. The index
 * has each trigram together with its account, so the agents of other accounts cost a search nothing.
 *
 * See docs/security.md, "Search index".
 */
import { Buffer } from 'node:buffer'
import { type AccountDb, query } from '../sql.ts'
import { contains } from './search.ts'

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

// Cross joins, because the planner would begin with all agents of the account, or with all their skills.
const candidates = query<{ list: string }>(`
  SELECT json_group_array(id) AS list FROM (
    SELECT * FROM (
      SELECT agent_numbers.agent_id AS id
      FROM (SELECT rowid AS n FROM agent_search WHERE agent_search MATCH :trigrams LIMIT :limit) AS matches
      CROSS JOIN agent_numbers
      WHERE agent_numbers.account_id = :account AND agent_numbers.n = matches.n LIMIT :limit)
    UNION ALL SELECT * FROM (
      SELECT agent_skills.agent_id AS id FROM skills CROSS JOIN agent_skills
      WHERE skills.account_id = :account AND ${contains('skills.name')}
        AND agent_skills.account_id = skills.account_id AND agent_skills.skill_id = skills.id LIMIT :limit))
  LIMIT 1`)

export const agentSearch = {
  reads: (account: AccountDb) => ({
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

function hex(text: string): string {
  return Buffer.from(text).toString('hex')
}
