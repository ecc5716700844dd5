/** Guardrail objections: stored with the message, counted per hour, and listed for people. */
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
  /** Why the guardrail could not check the message; null if it could. */
  failure: string | null
}

export type JudgedMessage = Pick<NewMessage, 'id' | 'recipient' | 'at'> & {
  conversationHash: string | null
  senderAlias: string
  senderAccountId: string
  isStored: boolean
}

export interface BlockedError {
  message: string
  info: Record<string, string>
}

/** The effect of a guardrail on a message. `kinds` and `agents` (aliases) are JSON, `isOwn` is 0 or 1. */
interface VerdictOfMessage {
  isOwn: number
  guardrail: string
  direction: CheckedDirection
  action: VerdictAction
  kinds: string
  agents: string
}

/** A message on which a guardrail acted; `kinds` and `agents` (aliases) are JSON. */
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
  /** Null if the message was not delivered and therefore not stored. */
  messageId: string | null
}

/** A message that was not delivered because a guardrail blocked it or could not check it; `kinds` is JSON. */
export interface RefusedSend {
  id: string
  guardrailId: string
  guardrail: string
  action: VerdictAction
  kinds: string
  sender: string
  recipient: string
  createdAt: number
}

// If a send's conditions no longer hold, neither the message nor its verdicts are stored.
const isThere = `(:isStored = 0 OR EXISTS (
  SELECT 1 FROM messages WHERE messages.account_id = :senderAccount AND messages.id = :message))`
const add = statement(`
  INSERT INTO verdicts (account_id, id, guardrail_id, guardrail_name, direction, action, kinds, agent_ids,
    sender_alias, sender_account_id, recipient, message_id, conversation_hash, text_hash, content, created_at)
  SELECT :account, value ->> '$.id', value ->> '$.guardrailId', value ->> '$.guardrailName', value ->> '$.direction',
    value ->> '$.action', value ->> '$.kinds', value ->> '$.agentIds',
    :alias, :senderAccount, :recipient, iif(:isStored, :message, NULL), :conversation,
    value ->> '$.textHash', value ->> '$.content', :at
  FROM json_each(:verdicts) WHERE ${isThere}
  ON CONFLICT DO NOTHING`)
// Runs before `add`. Stored verdicts were already counted, so a retried unit counts nothing twice.
const tally = statement(`
  INSERT INTO guardrail_counts (account_id, guardrail_id, hour, action, n)
  SELECT :account, value ->> '$.guardrailId', :hour, value ->> '$.action', 1
  FROM json_each(:verdicts) WHERE ${isThere} AND NOT EXISTS (
    SELECT 1 FROM verdicts WHERE verdicts.account_id = :account AND verdicts.id = value ->> '$.id')
  ON CONFLICT (account_id, guardrail_id, hour, action) DO UPDATE SET n = n + excluded.n`)

const fail = statement(`
  UPDATE guardrails SET failing_since = coalesce(failing_since, :at), failure = found.value ->> '$.failure'
  FROM json_each(:verdicts) AS found
  WHERE guardrails.account_id = :account AND guardrails.id = found.value ->> '$.guardrailId'
    AND found.value ->> '$.failure' <> coalesce(guardrails.failure, '')`)

const addBlockedSend = statement(`
  INSERT INTO blocked_sends (account_id, agent_id, key, request_hash, error, created_at)
  SELECT :account, :from, :key, :requestHash, :error, :at
  WHERE ${isNewKey}
  ON CONFLICT (account_id, agent_id, key) DO UPDATE
    SET request_hash = excluded.request_hash, error = excluded.error, created_at = excluded.created_at
    WHERE created_at <= :keysSince`)

const aliases = `(SELECT json_group_array(agents.alias) FROM agents
  WHERE agents.account_id = :account AND agents.id IN (SELECT value FROM json_each(verdicts.agent_ids)))`
// A sender learns only what kinds of content another account's guardrail redacted. Callers omit the guardrail's name.
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
    verdicts.content, verdicts.created_at, verdicts.message_id,
    EXISTS (SELECT 1 FROM guardrail_exceptions WHERE guardrail_exceptions.account_id = verdicts.account_id
      AND guardrail_exceptions.guardrail_id = verdicts.guardrail_id
      AND guardrail_exceptions.text_hash = verdicts.text_hash) AS is_allowed
  FROM verdicts
  WHERE verdicts.account_id = :account AND verdicts.guardrail_id = :guardrail AND verdicts.id < :beforeCase
  ORDER BY verdicts.id DESC LIMIT :limit`,
  { isAllowed: boolean },
)
// Uses the index of refused messages. Finds only verdicts of this account's own guardrails.
const refused = query<RefusedSend>(`
  SELECT id, guardrail_id, guardrail_name AS guardrail, action, kinds, sender_alias AS sender, recipient, created_at
  FROM verdicts
  WHERE account_id = :account AND message_id IS NULL AND recipient IN (SELECT value FROM json_each(:recipients))
    AND created_at >= :from AND created_at < :until
    AND (:senders IS NULL OR (sender_alias IN (SELECT value FROM json_each(:senders))
      AND conversation_hash IS :conversation))
  ORDER BY created_at DESC LIMIT :limit`)
const unchecked = query<{ seq: number; others: number }>(`
  SELECT listed.value AS seq, count(iif(verdicts.action <> 'unchecked', 1, NULL)) AS others
  FROM json_each(:seqs) AS listed CROSS JOIN messages CROSS JOIN verdicts
  WHERE messages.seq = listed.value AND verdicts.account_id = :account
    AND verdicts.sender_account_id = messages.account_id AND verdicts.message_id = messages.id
  GROUP BY listed.value HAVING count(iif(verdicts.action = 'unchecked', 1, NULL)) > 0`)
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

/**
 * `senders` and `conversation`, a hash, identify a conversation; `senders` is null for a channel. `from` and `until`
 * are times.
 */
interface RefusedOf {
  recipients: string[]
  senders: string[] | null
  conversation: string | null
  from: number
  until: number
}

export const verdicts = {
  reads: (account: AccountDb) => ({
    /**
     * The effects of guardrails on one of this account's messages. For other accounts' guardrails, only the redacted
     * kinds may be shown.
     */
    ofMessage: (message: string, limit: number) => account.all(ofMessage, { message, limit }),
    cases: (guardrail: string, before: string, limit: number) =>
      account.all(cases, { guardrail, beforeCase: before, limit }),
    /** How often the guardrail took each action, in hours that began at or after `from` and before `until`. */
    counts: (guardrail: string, from: number, until: number) => account.all(counts, { guardrail, from, until }),
    countsByGuardrail: (from: number) => account.all(countsByGuardrail, { from }),
    /** The newest undelivered messages to these recipients from these senders. For a channel, from any sender. */
    refused: (of: RefusedOf, limit: number) =>
      account.all(refused, {
        ...of,
        recipients: JSON.stringify(of.recipients),
        senders: of.senders && JSON.stringify(of.senders),
        limit,
      }),
    /** The messages that a guardrail delivered without a check, each with its number of other verdicts. */
    unchecked: (seqs: number[]) => account.all(unchecked, { seqs: JSON.stringify(seqs) }),
    exceptions: (guardrail: string, limit: number) => account.all(exceptions, { guardrail, limit }),
  }),
  changes: (account: AccountDb) => ({
    add: (judged: JudgedMessage, found: NewVerdict[]): Statement[] => {
      const { id: message, recipient, at, senderAlias: alias, senderAccountId: senderAccount } = judged
      const values = {
        ...{ message, recipient, at, alias, senderAccount, hour: at - at % hour },
        isStored: judged.isStored,
        conversation: judged.conversationHash,
        verdicts: JSON.stringify(found),
      }
      const rows = found.length
      return [
        { ...account.bind(tally, values), rows },
        { ...account.bind(add, values), rows },
        ...(found.some(({ failure }) => failure !== null)
          ? [account.bind(fail, { at, verdicts: values.verdicts })]
          : []),
      ]
    },
    /** Records that the send with this key was blocked, unless the key has been used. */
    addBlockedSend: (
      { from, key, keysSince, at }: Pick<NewMessage, 'from' | 'key' | 'keysSince' | 'at'>,
      requestHash: string,
      error: BlockedError,
    ) => account.bind(addBlockedSend, { from, key, keysSince, at, requestHash, error: JSON.stringify(error) }),
    /** Allows exactly this text. Does nothing if the account has no such guardrail. */
    allow: (guardrail: string, hash: string, at: number) => account.bind(allow, { guardrail, hash, at }),
    requireAtMost: (guardrail: string, max: number) => account.bind(requireAtMost, { guardrail, max }),
    disallow: (guardrail: string, hash: string) => account.bind(disallow, { guardrail, hash }),
    disallowAll: (guardrail: string) => account.bind(disallowAll, { guardrail }),
    forgetContents: () => account.bind(forgetContents),
  }),
}
