/** What guardrails objected to: stored with the message, counted by the hour, and listed for people. */
import type { verdicts as table } from '../../../db/schema.ts'
import { hour } from '../../lib/time.ts'
import { type AccountDb, boolean, precondition, query, type Statement, statement } from '../sql.ts'
import type { CheckedDirection } from './guarding.ts'
import { isNewKey, type NewMessage } from './new-message.ts'

export type VerdictAction = typeof table.$inferSelect.action

export interface NewVerdict {
  id: string
  guardrailId: string
  guardrailName: string
  direction: CheckedDirection
  action: VerdictAction
  kinds: readonly string[]
  agentIds: readonly string[]
  textHash: string
  /** The text, if it was blocked and people may see it; otherwise null. */
  content: string | null
}

export type JudgedMessage = Pick<NewMessage, 'id' | 'recipient' | 'at'> & {
  senderAlias: string
  senderAccountId: string
  isStored: boolean
}

export interface BlockedError {
  message: string
  info: Record<string, string>
}

/** What a guardrail did to a message; `kinds` and `agents` (aliases) are JSON, `isOwn` is 0 or 1. */
interface VerdictOfMessage {
  isOwn: number
  guardrail: string
  direction: CheckedDirection
  action: VerdictAction
  kinds: string
  agents: string
}

/** A case of a guardrail; `kinds` and `agents` (aliases) are JSON. */
interface Case {
  id: string
  guardrailId: string
  guardrail: string
  direction: CheckedDirection
  action: VerdictAction
  kinds: string
  sender: string
  recipient: string
  agents: string
  textHash: string
  content: string | null
  createdAt: number
  isAllowed: boolean
}

// A send whose conditions no longer held stores nothing, and no verdicts either.
const isThere = `(:isStored = 0 OR EXISTS (
  SELECT 1 FROM messages WHERE messages.account_id = :senderAccount AND messages.id = :message))`
const add = statement(`
  INSERT INTO verdicts (account_id, id, guardrail_id, guardrail_name, direction, action, kinds, agent_ids,
    sender_alias, sender_account_id, recipient, message_id, text_hash, content, created_at)
  SELECT :account, value ->> '$.id', value ->> '$.guardrailId', value ->> '$.guardrailName', value ->> '$.direction',
    value ->> '$.action', value ->> '$.kinds', value ->> '$.agentIds',
    :alias, :senderAccount, :recipient, iif(:isStored, :message, NULL), value ->> '$.textHash', value ->> '$.content', :at
  FROM json_each(:verdicts) WHERE ${isThere}
  ON CONFLICT DO NOTHING`)
// Runs before `add`. What is stored already was counted, so that a repeated unit counts nothing twice.
const tally = statement(`
  INSERT INTO guardrail_counts (account_id, guardrail_id, hour, action, n)
  SELECT :account, value ->> '$.guardrailId', :hour, value ->> '$.action', 1
  FROM json_each(:verdicts) WHERE ${isThere} AND NOT EXISTS (
    SELECT 1 FROM verdicts WHERE verdicts.account_id = :account AND verdicts.id = value ->> '$.id')
  ON CONFLICT (account_id, guardrail_id, hour, action) DO UPDATE SET n = n + excluded.n`)

const addBlockedSend = statement(`
  INSERT INTO blocked_sends (account_id, agent_id, key, request_hash, error, created_at)
  SELECT :account, :from, :key, :requestHash, :error, :at
  WHERE ${isNewKey}
  ON CONFLICT (account_id, agent_id, key) DO UPDATE
    SET request_hash = excluded.request_hash, error = excluded.error, created_at = excluded.created_at
    WHERE created_at <= :keysSince`)

const aliases = `(SELECT json_group_array(agents.alias) FROM agents
  WHERE agents.account_id = :account AND agents.id IN (SELECT value FROM json_each(verdicts.agent_ids)))`
// Of another account, a sender learns what kind of thing was masked, and nothing else.
const ofMessage = query<VerdictOfMessage>(`
  SELECT verdicts.account_id = :account AS is_own, verdicts.guardrail_name AS guardrail, verdicts.direction,
    verdicts.action, verdicts.kinds, ${aliases} AS agents
  FROM verdicts
  WHERE verdicts.sender_account_id = :account AND verdicts.message_id = :message AND verdicts.message_id IS NOT NULL
    AND (verdicts.account_id = :account OR verdicts.action = 'redacted')
  ORDER BY verdicts.id LIMIT :limit`)
const cases = query<Case>(
  `
  SELECT verdicts.id, verdicts.guardrail_id, verdicts.guardrail_name AS guardrail, verdicts.direction, verdicts.action,
    verdicts.kinds, verdicts.sender_alias AS sender, verdicts.recipient, ${aliases} AS agents, verdicts.text_hash,
    verdicts.content, verdicts.created_at,
    EXISTS (SELECT 1 FROM guardrail_exceptions WHERE guardrail_exceptions.account_id = verdicts.account_id
      AND guardrail_exceptions.guardrail_id = verdicts.guardrail_id
      AND guardrail_exceptions.text_hash = verdicts.text_hash) AS is_allowed
  FROM verdicts
  WHERE verdicts.account_id = :account AND verdicts.guardrail_id = :guardrail AND verdicts.id < :beforeCase
  ORDER BY verdicts.id DESC LIMIT :limit`,
  { isAllowed: boolean },
)
const counts = query<{ hour: number; action: VerdictAction | 'failed'; n: number }>(`
  SELECT hour, action, n FROM guardrail_counts
  WHERE account_id = :account AND guardrail_id = :guardrail AND hour >= :from AND hour < :until
  ORDER BY hour`)
const countsByGuardrail = query<
  { guardrailId: string; action: VerdictAction | 'failed'; n: number; name: string | null }
>(`
  SELECT guardrail_counts.guardrail_id, guardrail_counts.action, sum(guardrail_counts.n) AS n,
    (SELECT guardrails.name FROM guardrails WHERE guardrails.account_id = guardrail_counts.account_id
      AND guardrails.id = guardrail_counts.guardrail_id) AS name
  FROM guardrail_counts WHERE guardrail_counts.account_id = :account AND guardrail_counts.hour >= :from
  GROUP BY guardrail_counts.guardrail_id, guardrail_counts.action`)
const ofGuardrail = 'account_id = :account AND guardrail_id = :guardrail'
const exceptions = query<{ textHash: string; createdAt: number }>(`
  SELECT text_hash, created_at FROM guardrail_exceptions WHERE ${ofGuardrail}
  ORDER BY created_at DESC, text_hash LIMIT :limit`)

const allow = statement(`
  INSERT INTO guardrail_exceptions (account_id, guardrail_id, text_hash, created_at)
  SELECT account_id, id, :hash, :at FROM guardrails WHERE account_id = :account AND id = :guardrail
  ON CONFLICT DO NOTHING`)
const requireAtMost = precondition(`(SELECT count(*) FROM guardrail_exceptions WHERE ${ofGuardrail}) <= :max`)
const disallow = statement(`DELETE FROM guardrail_exceptions WHERE ${ofGuardrail} AND text_hash = :hash`)
const disallowAll = statement(`DELETE FROM guardrail_exceptions WHERE ${ofGuardrail}`)
const forgetContents = statement(
  `UPDATE verdicts SET content = NULL WHERE account_id = :account AND content IS NOT NULL`,
)

export const verdicts = {
  reads: (account: AccountDb) => ({
    /** What guardrails did to a message of this account. Of other accounts only the kinds that were redacted may be shown. */
    ofMessage: (message: string, limit: number) => account.all(ofMessage, { message, limit }),
    cases: (guardrail: string, before: string, limit: number) =>
      account.all(cases, { guardrail, beforeCase: before, limit }),
    /** How often the guardrail did what, in hours that began from `from` on and before `until`. */
    counts: (guardrail: string, from: number, until: number) => account.all(counts, { guardrail, from, until }),
    countsByGuardrail: (from: number) => account.all(countsByGuardrail, { from }),
    exceptions: (guardrail: string, limit: number) => account.all(exceptions, { guardrail, limit }),
  }),
  changes: (account: AccountDb) => ({
    add: (judged: JudgedMessage, found: NewVerdict[]): [Statement, Statement] => {
      const { id: message, recipient, at, senderAlias: alias, senderAccountId: senderAccount } = judged
      const values = {
        ...{ message, recipient, at, alias, senderAccount, hour: at - at % hour },
        isStored: judged.isStored,
        verdicts: JSON.stringify(found),
      }
      const rows = found.length
      return [{ ...account.bind(tally, values), rows }, { ...account.bind(add, values), rows }]
    },
    /** Remember that the send with this key was blocked, unless the key has been used. */
    addBlockedSend: ({ from, key, keysSince, at }: NewMessage, requestHash: string, error: BlockedError) =>
      account.bind(addBlockedSend, { from, key, keysSince, at, requestHash, error: JSON.stringify(error) }),
    /** Let exactly this text pass. Does nothing if the account has no such guardrail. */
    allow: (guardrail: string, hash: string, at: number) => account.bind(allow, { guardrail, hash, at }),
    requireAtMost: (guardrail: string, max: number) => account.bind(requireAtMost, { guardrail, max }),
    disallow: (guardrail: string, hash: string) => account.bind(disallow, { guardrail, hash }),
    disallowAll: (guardrail: string) => account.bind(disallowAll, { guardrail }),
    forgetContents: () => account.bind(forgetContents),
  }),
}
