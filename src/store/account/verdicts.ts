/** What guardrails objected to: stored with the message, counted by the hour, and listed for people. */
import { and, count, desc, eq, exists, gte, isNotNull, lt, notExists, or, sql } from 'drizzle-orm'
import {
  agents,
  blockedSends,
  guardrailCounts,
  guardrailExceptions,
  guardrails,
  idempotencyKeys,
  messages,
  verdicts,
} from '../../../db/schema.ts'
import { hour } from '../../lib/time.ts'
import { type AccountBinding, p, precondition, type Statement, value } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'
import type { CheckedDirection } from './guarding.ts'
import type { NewMessage } from './new-message.ts'

export type VerdictAction = typeof verdicts.$inferSelect.action

/** A verdict about to be stored. */
export interface NewVerdict {
  id: string
  guardrailId: string
  guardrailName: string
  direction: CheckedDirection
  action: VerdictAction
  kinds: readonly string[]
  /** The agents that it was asked for. */
  agentIds: readonly string[]
  /** SHA-256 of the text. */
  textHash: string
  /** The text, if it was blocked and people may see it; otherwise null. */
  content: string | null
}

/** The message that verdicts are about. */
export type JudgedMessage = Pick<NewMessage, 'id' | 'recipient' | 'at'> & {
  senderAlias: string
  senderAccountId: string
  /** Whether it reaches anybody, and so is stored in the same unit. */
  isStored: boolean
}

/** The error of a blocked send. */
export interface BlockedError {
  message: string
  info: Record<string, string>
}

export function prepareVerdicts(db: Db) {
  const one = { one: sql`1` }
  const member = <T = string>(path: string, as: string) => sql<T>`json_extract(value, ${path})`.as(as)
  const given = sql`json_each(${p('verdicts')})`
  // A send whose conditions no longer held stores nothing, and no verdicts either.
  const isThere = or(
    sql`${p('isStored')} = 0`,
    exists(
      db.select(one).from(messages).where(
        and(eq(messages.accountId, p('senderAccount')), eq(messages.id, p('message'))),
      ),
    ),
  )
  const isStored = exists(
    db.select(one).from(verdicts).where(inAccount(verdicts, sql`${verdicts.id} = json_extract(value, '$.id')`)),
  )
  const add = db.insert(verdicts).select(
    db.select({
      accountId: value('account'),
      id: member('$.id', 'id'),
      guardrailId: member('$.guardrailId', 'guardrail_id'),
      guardrailName: member('$.guardrailName', 'guardrail_name'),
      direction: member<CheckedDirection>('$.direction', 'direction'),
      action: member<VerdictAction>('$.action', 'action'),
      kinds: member('$.kinds', 'kinds'),
      agentIds: member('$.agentIds', 'agent_ids'),
      senderAlias: value('alias'),
      senderAccountId: value('senderAccount'),
      recipient: value('recipient'),
      messageId: sql<string>`iif(${p('isStored')}, ${p('message')}, NULL)`.as('message_id'),
      textHash: member('$.textHash', 'text_hash'),
      content: member<string | null>('$.content', 'content'),
      createdAt: value<number>('at'),
    }).from(given).where(isThere),
  ).onConflictDoNothing().toSQL()
  // Runs before `add`. What is stored already was counted, so that a repeated unit counts nothing twice.
  const tally = db.insert(guardrailCounts).select(
    db.select({
      accountId: value('account'),
      guardrailId: member('$.guardrailId', 'guardrail_id'),
      hour: value<number>('hour'),
      action: member<VerdictAction>('$.action', 'action'),
      n: sql<number>`1`.as('n'),
    }).from(given).where(and(isThere, sql`NOT ${isStored}`)),
  ).onConflictDoUpdate({
    target: [guardrailCounts.accountId, guardrailCounts.guardrailId, guardrailCounts.hour, guardrailCounts.action],
    set: { n: sql`${guardrailCounts.n} + excluded.n` },
  }).toSQL()

  const keyIsUnused = notExists(
    db.select(one).from(idempotencyKeys).where(inAccount(
      idempotencyKeys,
      eq(idempotencyKeys.agentId, p('from')),
      eq(idempotencyKeys.key, p('key')),
      sql`${idempotencyKeys.createdAt} > ${p('keysSince')}`,
    )),
  )
  const addBlockedSend = db.insert(blockedSends).select(
    db.select({
      accountId: value('account'),
      agentId: value('from'),
      key: value('key'),
      requestHash: value('requestHash'),
      error: value('error'),
      createdAt: value<number>('at'),
    }).from(sql`(SELECT 1)`).where(keyIsUnused),
  ).onConflictDoUpdate({
    target: [blockedSends.accountId, blockedSends.agentId, blockedSends.key],
    set: { requestHash: sql`excluded.request_hash`, error: sql`excluded.error`, createdAt: sql`excluded.created_at` },
    setWhere: sql`${blockedSends.createdAt} <= ${p('keysSince')}`,
  }).toSQL()

  const aliases = db.select({ json: sql`json_group_array(${agents.alias})` }).from(agents)
    .where(inAccount(agents, sql`${agents.id} IN (SELECT value FROM json_each(${verdicts.agentIds}))`))
  // Of another account, a sender learns what kind of thing was masked, and nothing else.
  const isOwn = eq(verdicts.accountId, p('account'))
  const ofMessage = db.select({
    isOwn: sql<number>`${isOwn}`.as('is_own'),
    guardrail: verdicts.guardrailName,
    direction: verdicts.direction,
    action: verdicts.action,
    kinds: verdicts.kinds,
    agents: sql<string>`(${aliases})`.as('aliases'),
  }).from(verdicts)
    .where(and(
      eq(verdicts.senderAccountId, p('account')),
      eq(verdicts.messageId, p('message')),
      isNotNull(verdicts.messageId),
      or(isOwn, eq(verdicts.action, sql`'redacted'`)),
    ))
    .orderBy(verdicts.id).limit(p('limit')).prepare()

  const caseFields = {
    id: verdicts.id,
    guardrailId: verdicts.guardrailId,
    guardrail: verdicts.guardrailName,
    direction: verdicts.direction,
    action: verdicts.action,
    kinds: verdicts.kinds,
    sender: verdicts.senderAlias,
    recipient: verdicts.recipient,
    agents: sql<string>`(${aliases})`.as('aliases'),
    textHash: verdicts.textHash,
    content: verdicts.content,
    createdAt: verdicts.createdAt,
    isAllowed: exists(
      db.select(one).from(guardrailExceptions).where(and(
        eq(guardrailExceptions.accountId, verdicts.accountId),
        eq(guardrailExceptions.guardrailId, verdicts.guardrailId),
        eq(guardrailExceptions.textHash, verdicts.textHash),
      )),
    ).as('is_allowed'),
  }
  const cases = db.select(caseFields).from(verdicts)
    .where(inAccount(verdicts, eq(verdicts.guardrailId, p('guardrail')), lt(verdicts.id, p('beforeCase'))))
    .orderBy(desc(verdicts.id)).limit(p('limit')).prepare()
  const counts = db.select({ hour: guardrailCounts.hour, action: guardrailCounts.action, n: guardrailCounts.n })
    .from(guardrailCounts)
    .where(inAccount(
      guardrailCounts,
      eq(guardrailCounts.guardrailId, p('guardrail')),
      gte(guardrailCounts.hour, p('from')),
      lt(guardrailCounts.hour, p('until')),
    ))
    .orderBy(guardrailCounts.hour).prepare()
  const nameOfCounted = db.select({ name: guardrails.name }).from(guardrails).where(and(
    eq(guardrails.accountId, guardrailCounts.accountId),
    eq(guardrails.id, guardrailCounts.guardrailId),
  ))
  const countsByGuardrail = db.select({
    guardrailId: guardrailCounts.guardrailId,
    action: guardrailCounts.action,
    n: sql<number>`sum(${guardrailCounts.n})`.as('n'),
    name: sql<string | null>`(${nameOfCounted})`.as('name'),
  }).from(guardrailCounts).where(inAccount(guardrailCounts, gte(guardrailCounts.hour, p('from'))))
    .groupBy(guardrailCounts.guardrailId, guardrailCounts.action).prepare()
  const exceptions = db.select({ textHash: guardrailExceptions.textHash, createdAt: guardrailExceptions.createdAt })
    .from(guardrailExceptions)
    .where(inAccount(guardrailExceptions, eq(guardrailExceptions.guardrailId, p('guardrail'))))
    .orderBy(desc(guardrailExceptions.createdAt), guardrailExceptions.textHash).limit(p('limit')).prepare()

  const isGuardrail = inAccount(guardrails, eq(guardrails.id, p('guardrail')))
  const allow = db.insert(guardrailExceptions).select(
    db.select({
      accountId: guardrails.accountId,
      guardrailId: guardrails.id,
      textHash: value('hash'),
      createdAt: value<number>('at'),
    }).from(guardrails).where(isGuardrail),
  ).onConflictDoNothing().toSQL()
  const ofGuardrail = inAccount(guardrailExceptions, eq(guardrailExceptions.guardrailId, p('guardrail')))
  const allowed = db.select({ n: count() }).from(guardrailExceptions).where(ofGuardrail)
  const requireAtMost = precondition(db, sql`(${allowed}) <= ${p('max')}`)
  const disallow = db.delete(guardrailExceptions)
    .where(inAccount(
      guardrailExceptions,
      eq(guardrailExceptions.guardrailId, p('guardrail')),
      eq(guardrailExceptions.textHash, p('hash')),
    )).toSQL()
  const disallowAll = db.delete(guardrailExceptions).where(ofGuardrail).toSQL()
  const forgetContents = db.update(verdicts).set({ content: null })
    .where(inAccount(verdicts, isNotNull(verdicts.content))).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /**
       * What guardrails did to a message of this account, in the order of asking; `kinds` and `agents` (aliases) are
       * JSON. Of other accounts only what was redacted, and of that only the kinds may be shown.
       */
      ofMessage: (message: string, limit: number) => account.all(ofMessage, { message, limit }),
      /** The cases of a guardrail before the case `before`, newest first; `kinds` and `agents` (aliases) are JSON. */
      cases: (guardrail: string, before: string, limit: number) =>
        account.all(cases, { guardrail, beforeCase: before, limit }),
      /** How often the guardrail did what, in hours that began from `from` on and before `until`. */
      counts: (guardrail: string, from: number, until: number) => account.all(counts, { guardrail, from, until }),
      /**
       * How often each guardrail of the account did what, in hours that began from `from` on. Deleted ones have no name.
       */
      countsByGuardrail: (from: number) => account.all(countsByGuardrail, { from }),
      /** The texts that a guardrail lets pass, newest first. */
      exceptions: (guardrail: string, limit: number) => account.all(exceptions, { guardrail, limit }),
    }),
    changes: (account: AccountBinding) => ({
      /** Count and store verdicts of guardrails of this account, in this order. */
      add: (judged: JudgedMessage, found: NewVerdict[]): [Statement, Statement] => {
        const { id: message, recipient, at, senderAlias: alias, senderAccountId: senderAccount } = judged
        const values = {
          ...{ message, recipient, at, alias, senderAccount, hour: at - at % hour },
          isStored: Number(judged.isStored),
          verdicts: JSON.stringify(found),
        }
        const rows = found.length
        return [{ ...account.bind(tally, values), rows }, { ...account.bind(add, values), rows }]
      },
      /** Remember that the send with this key was blocked, unless the key was used meanwhile. */
      addBlockedSend: ({ from, key, keysSince, at }: NewMessage, requestHash: string, error: BlockedError) =>
        account.bind(addBlockedSend, { from, key, keysSince, at, requestHash, error: JSON.stringify(error) }),
      /** Let exactly this text pass. Does nothing if the account has no such guardrail. */
      allow: (guardrail: string, hash: string, at: number) => account.bind(allow, { guardrail, hash, at }),
      /** Fails the unit if the guardrail has more than `max` exceptions when it runs. */
      requireAtMost: (guardrail: string, max: number) => account.bind(requireAtMost, { guardrail, max }),
      disallow: (guardrail: string, hash: string) => account.bind(disallow, { guardrail, hash }),
      /** Remove every exception of a guardrail. */
      disallowAll: (guardrail: string) => account.bind(disallowAll, { guardrail }),
      /** Remove the texts of blocked messages. */
      forgetContents: () => account.bind(forgetContents),
    }),
  }
}
