/** Imports an account, which stays hidden until its last unit is stored. See docs/protocol/archive.md. */
import type { ArchiveManifest } from './write-rows.ts'
import { insertArchived } from './insert-rows.ts'
import { archivedAccount } from './tables.ts'
import { type ArchivedRow, checkArchived, checkVersion } from './validators.ts'
import { crossAccountQuery, type Db, precondition, query, type Statement, statement } from '../../../store/sql.ts'

/** A name in the archive that the grid already uses, or a reserved alias. */
export interface TakenName {
  kind: 'account' | 'agent' | 'alias'
  name: string
}

const taken = crossAccountQuery<TakenName>(
  'names of an archive that are taken',
  `
  SELECT 'account' AS kind, id AS name FROM accounts WHERE id = :account AND state <> 'importing'
  UNION ALL
  SELECT 'alias', alias FROM agents
  WHERE alias IN (SELECT value FROM json_each(:aliases)) AND account_id <> :account AND moved_to IS NULL
  UNION ALL
  SELECT 'agent', agents.id FROM accounts CROSS JOIN json_each(:agents) AS given
  CROSS JOIN agents ON agents.account_id = accounts.id AND agents.id = given.value
  WHERE accounts.id <> :account`,
)
const begun = query<{ value: string }>(`SELECT value FROM store_facts WHERE key = :key`)
const add = statement(`
  INSERT INTO accounts (id, name, state, created_at, claimed_at, requires_second_factor, people_see_contents, turn_limits,
    people_read_since)
  VALUES (:id, :name, 'importing', :createdAt, :at, :requiresSecondFactor, :peopleSeeContents, :turnLimits,
    :peopleReadSince)
  ON CONFLICT DO NOTHING`)
const note = statement(`INSERT INTO store_facts (key, value) VALUES (:key, :digest) ON CONFLICT DO NOTHING`)
const requireBegun = precondition(`EXISTS (
    SELECT 1 FROM accounts JOIN store_facts ON store_facts.key = :key AND store_facts.value = :digest
    WHERE accounts.id = :account AND accounts.state = 'importing')`)
const rename = statement(`UPDATE agents SET alias = :alias WHERE account_id = :account AND id = :id`)
const show = statement(`
  UPDATE agents SET deleted_at = NULL WHERE account_id = :account AND id IN (SELECT value FROM json_each(:agents))`)
const open = statement(`UPDATE accounts SET state = 'claimed' WHERE id = :account AND state = 'importing'`)
const forget = statement(`DELETE FROM store_facts WHERE key = :key`)

/** The key of an unfinished import's record, which makes retention keep rows that later rows may refer to. */
const keyOf = (account: string) => `import:${account}`

export const archiveImports = (db: Db) => ({
  /** Those of the given names that the grid already uses. A deleted agent's alias stays reserved. */
  taken: (account: string, aliases: string[], agents: string[]): Promise<TakenName[]> =>
    db.all(taken, { account, aliases: JSON.stringify(aliases), agents: JSON.stringify(agents) }),
  /** The digest of the archive whose import into the account is unfinished. */
  begun: async (account: string) => (await db.one(begun, { key: keyOf(account) }))?.value,
  /** Fails like `checkVersion` and `checkArchived`. */
  begin({ version, account }: ArchiveManifest, digest: string, at: number): Statement[] {
    checkVersion(version)
    checkArchived('account', account, at)
    const { turn_limits } = account
    return [
      db.bind(add, {
        id: account.id,
        name: account.name,
        createdAt: account.created_at,
        requiresSecondFactor: account.requires_second_factor,
        peopleSeeContents: account.people_see_blocked_texts,
        turnLimits: turn_limits && archivedAccount.convert!.turn_limits.fromArchive(String(turn_limits)),
        peopleReadSince: account.people_read_since,
        at,
      }),
      db.bind(note, { key: keyOf(String(account.id)), digest }),
    ]
  },
  requireBegun: (account: string, digest: string): Statement =>
    db.bind(requireBegun, { account, digest, key: keyOf(account) }),
  row: (account: string, record: string, row: ArchivedRow, at: number): Statement[] =>
    insertArchived(record, row, { account, at, bind: (statement, values) => db.bind(statement, values) }),
  /**
   * Makes the account and these agents visible, and renames agents. Fails with a constraint error if an alias is taken.
   */
  end: (account: string, agents: string[], aliases: [id: string, alias: string][]): Statement[] => [
    ...aliases.map(([id, alias]) => db.bind(rename, { account, id, alias })),
    db.bind(show, { account, agents: JSON.stringify(agents) }),
    db.bind(open, { account }),
    db.bind(forget, { key: keyOf(account) }),
  ],
})
