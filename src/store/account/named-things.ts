/** The account's named records, for the page search. */
import { type AccountDb, query } from '../sql.ts'

export interface NamedThing {
  kind: 'agent' | 'remote agent' | 'person' | 'channel' | 'skill' | 'guardrail' | 'rule' | 'member' | 'task'
  /** An agent's alias, a skill's name, or the id of a task's first message. Otherwise the record's id. */
  ref: string
  /** Aliases begin with `@`, channels with `#`. */
  name: string
}

const own = 'account_id = :account'
const search = query<NamedThing>(`
  SELECT kind, ref, name FROM (
    SELECT CASE WHEN type = 'human' THEN 'person' WHEN remote_url IS NULL THEN 'agent' ELSE 'remote agent' END AS kind,
      alias AS ref, '@' || alias AS name, description AS more
    FROM agents WHERE ${own} AND deleted_at IS NULL
    UNION ALL SELECT 'channel', id, '#' || name, description FROM channels WHERE ${own} AND deleted_at IS NULL
    UNION ALL SELECT 'skill', name, name, description FROM skills WHERE ${own}
    UNION ALL SELECT 'guardrail', id, name, provider FROM guardrails WHERE ${own}
    UNION ALL SELECT 'rule', id, name, '' FROM approval_rules WHERE ${own}
    UNION ALL SELECT 'member', users.id, iif(users.name = '', users.email, users.name), users.email
    FROM memberships JOIN users ON users.id = memberships.user_id WHERE memberships.${own}
    UNION ALL SELECT 'task', message_id, 'Task ' || id, '' FROM tasks WHERE ${own} AND id = lower(:wanted ->> 0))
  WHERE instr(lower(name || ' ' || more), lower(:wanted ->> 0)) > 0 AND (json_array_length(:wanted) = 1 OR NOT EXISTS (
    SELECT 1 FROM json_each(:wanted) WHERE instr(lower(name || ' ' || more), lower(value)) = 0))
  ORDER BY instr(lower(name), lower(:wanted ->> 0)) = 0, instr(lower(ltrim(name, '@#')), lower(ltrim(:wanted ->> 0, '@#'))), name
  LIMIT :limit`)

export const namedThings = {
  reads: (account: AccountDb) => ({
    /** Entries that contain all words, or a task's complete id. Names that begin with the first word come first. */
    search: (words: [string, ...string[]], limit: number) =>
      account.all(search, { wanted: JSON.stringify(words), limit }),
  }),
  changes: () => ({}),
}
