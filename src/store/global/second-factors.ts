/** Passkeys, authenticator apps and recovery codes of users. */
import {
  and,
  asc,
  count,
  eq,
  exists,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  ne,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { memberships, passkeyChallenges, passkeys, recoveryCodes, totps, users } from '../../../db/schema.ts'
import type { SealedToken } from '../../lib/key-ring.ts'
import { bind, p, precondition, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { excludedToken, insertedToken, sealedColumns } from '../driver/sealed-columns.ts'

/** A stored passkey. Times are milliseconds since the epoch. */
export type Passkey = Awaited<ReturnType<ReturnType<typeof prepareSecondFactors>['passkeysOf']>>[number]

/** The authenticator app of a user, confirmed or not. */
export type StoredTotp = NonNullable<Awaited<ReturnType<ReturnType<typeof prepareSecondFactors>['totpOf']>>>

/** What the answer to a challenge may be used for. */
export type ChallengePurpose = typeof passkeyChallenges.$inferInsert.purpose

export interface NewPasskey {
  id: string
  userId: string
  /** Base64url, as the browser says it. */
  credentialId: string
  /** COSE, in base64url. */
  publicKey: string
  counter: number
  transports: string[]
  name: string
}

/** SQL that is true if a user has a second factor: a passkey, or a confirmed authenticator app. */
export function hasSecondFactor(db: Db, user: SQL | typeof users.id | typeof memberships.userId): SQL {
  const passkey = db.select({ one: sql`1` }).from(passkeys).where(eq(passkeys.userId, user))
  const totp = db.select({ one: sql`1` }).from(totps).where(and(eq(totps.userId, user), isNotNull(totps.confirmedAt)))
  return or(exists(passkey), exists(totp))!
}

/**
 * The statements of second factors. What is used up is marked with the id of the attempt, so that a unit that is sent
 * again succeeds again.
 */
export function prepareSecondFactors(db: Db, crossAccountQueries: CrossAccountQueries) {
  const passkey = {
    id: passkeys.id,
    userId: passkeys.userId,
    credentialId: passkeys.credentialId,
    publicKey: passkeys.publicKey,
    counter: passkeys.counter,
    transports: passkeys.transports,
    name: passkeys.name,
    createdAt: passkeys.createdAt,
    lastUsedAt: passkeys.lastUsedAt,
  }
  const passkeysOf = db.select(passkey).from(passkeys).where(eq(passkeys.userId, p('user')))
    .orderBy(asc(passkeys.createdAt), asc(passkeys.id)).prepare()
  const passkeyByCredential = db.select(passkey).from(passkeys).where(eq(passkeys.credentialId, p('credential')))
    .prepare()
  const totpOf = db.select({
    ...sealedColumns(totps),
    confirmedAt: totps.confirmedAt,
  }).from(totps).where(eq(totps.userId, p('user'))).prepare()
  const isUnused = isNull(recoveryCodes.usedBy)
  const codesOf = db.select({ n: count() }).from(recoveryCodes).where(
    and(eq(recoveryCodes.userId, p('user')), isUnused),
  )
    .prepare()

  // The accounts of a user in which the caller is no owner. See docs/security.md, "Lost second factor".
  const own = alias(memberships, 'own')
  const ownerOf = db.select({ one: sql`1` }).from(own)
    .where(and(eq(own.accountId, memberships.accountId), eq(own.userId, p('owner')), eq(own.role, sql`'owner'`)))
  const accountsNotOwned = db.select({ id: memberships.accountId }).from(memberships)
    .where(and(eq(memberships.userId, p('user')), sql`NOT ${exists(ownerOf)}`))
  const findNotOwned = accountsNotOwned.limit(1).prepare()
  const requireOwned = precondition(db, sql`NOT ${exists(accountsNotOwned)}`)
  crossAccountQueries.set(findNotOwned.getQuery().sql, 'accounts of a user that another user does not own')
  crossAccountQueries.set(requireOwned.sql, 'accounts of a user are owned by another user')

  const addPasskey = db.insert(passkeys).values({
    id: p('id'),
    userId: p('userId'),
    credentialId: p('credentialId'),
    publicKey: p('publicKey'),
    counter: p('counter'),
    // SQL, because a placeholder of a JSON column would be encoded again.
    transports: sql`${p('transports')}`,
    name: p('name'),
    createdAt: p('at'),
  }).onConflictDoNothing({ target: passkeys.id }).toSQL()
  const usePasskey = db.update(passkeys)
    .set({ counter: sql`${p('counter')}`, lastUsedAt: sql`${p('at')}`, usedBy: sql`${p('attempt')}` })
    .where(and(
      eq(passkeys.id, p('id')),
      or(
        lt(passkeys.counter, p('counter')),
        and(eq(passkeys.counter, sql`0`), sql`${p('counter')} = 0`),
        eq(passkeys.usedBy, p('attempt')),
      ),
    )).returning({ id: passkeys.id }).toSQL()
  const removePasskey = db.delete(passkeys).where(and(eq(passkeys.userId, p('user')), eq(passkeys.id, p('id'))))
    .returning({ id: passkeys.id }).toSQL()

  const setTotp = db.insert(totps).values({
    userId: p('user'),
    ...insertedToken,
    createdAt: p('at'),
  }).onConflictDoUpdate({
    target: totps.userId,
    set: {
      ...excludedToken,
      lastStep: sql`0`,
      createdAt: sql`excluded.created_at`,
    },
    setWhere: isNull(totps.confirmedAt),
  }).returning({ userId: totps.userId }).toSQL()
  // The secret that the code was checked against: another set-up may have replaced it meanwhile.
  const isTotp = and(eq(totps.userId, p('user')), eq(totps.tokenIv, p('iv')))
  const isNewStep = lt(totps.lastStep, p('step'))
  const isOwn = eq(totps.usedBy, p('attempt'))
  const use = { lastStep: sql`${p('step')}`, usedBy: sql`${p('attempt')}` }
  const useTotp = db.update(totps).set(use).where(and(isTotp, isNotNull(totps.confirmedAt), or(isNewStep, isOwn)))
    .returning({ userId: totps.userId }).toSQL()
  const isPending = and(isNewStep, isNull(totps.confirmedAt))
  const confirmTotp = db.update(totps).set({ ...use, confirmedAt: sql`${p('at')}` }).where(and(isTotp, isPending))
    .toSQL()
  const requirePendingTotp = precondition(
    db,
    exists(db.select({ one: sql`1` }).from(totps).where(and(isTotp, or(isPending, isOwn)))),
  )
  // Besides the one that the unit itself adds: it may be there already, if the unit is sent again.
  const otherPasskey = db.select({ one: sql`1` }).from(passkeys)
    .where(and(eq(passkeys.userId, p('user')), ne(passkeys.id, p('attempt'))))
  const otherTotp = db.select({ one: sql`1` }).from(totps).where(and(
    eq(totps.userId, p('user')),
    isNotNull(totps.confirmedAt),
    sql`${totps.usedBy} IS NOT ${p('attempt')}`,
  ))
  const hasOther = or(exists(otherPasskey), exists(otherTotp))!
  const requireOther = precondition(db, hasOther)
  const requireNoOther = precondition(db, sql`NOT ${hasOther}`)
  const removeTotp = db.delete(totps).where(eq(totps.userId, p('user'))).returning({ userId: totps.userId }).toSQL()

  const addCodes = db.insert(recoveryCodes).select(
    db.select({
      userId: sql<string>`${p('user')}`.as('user_id'),
      hash: sql<string>`value`.as('hash'),
      usedBy: sql<null>`NULL`.as('used_by'),
    })
      .from(sql`json_each(${p('hashes')})`),
  ).toSQL()
  const useCode = db.update(recoveryCodes).set({ usedBy: sql`${p('attempt')}` })
    .where(and(
      eq(recoveryCodes.userId, p('user')),
      eq(recoveryCodes.hash, p('hash')),
      or(isUnused, eq(recoveryCodes.usedBy, p('attempt'))),
    ))
    .returning({ userId: recoveryCodes.userId }).toSQL()
  const removeCodes = db.delete(recoveryCodes).where(eq(recoveryCodes.userId, p('user'))).toSQL()
  const removeAllPasskeys = db.delete(passkeys).where(eq(passkeys.userId, p('user'))).toSQL()
  const removeCodesWithoutFactor = db.delete(recoveryCodes)
    .where(and(eq(recoveryCodes.userId, p('user')), sql`NOT ${hasSecondFactor(db, sql`${p('user')}`)}`)).toSQL()

  const addChallenge = db.insert(passkeyChallenges)
    .values({ hash: p('hash'), purpose: p('purpose'), holder: p('holder'), expiresAt: p('expiresAt') })
    .onConflictDoNothing().toSQL()
  const takeChallenge = db.update(passkeyChallenges).set({ usedBy: sql`${p('attempt')}` }).where(and(
    eq(passkeyChallenges.hash, p('hash')),
    eq(passkeyChallenges.purpose, p('purpose')),
    eq(passkeyChallenges.holder, p('holder')),
    gt(passkeyChallenges.expiresAt, p('at')),
    or(isNull(passkeyChallenges.usedBy), eq(passkeyChallenges.usedBy, p('attempt'))),
  )).returning({ hash: passkeyChallenges.hash }).toSQL()
  const expired = db.select({ hash: passkeyChallenges.hash }).from(passkeyChallenges)
    .where(lte(passkeyChallenges.expiresAt, p('at'))).limit(p('limit'))
  const removeExpiredChallenges = db.delete(passkeyChallenges).where(inArray(passkeyChallenges.hash, expired))
    .returning({ hash: passkeyChallenges.hash }).toSQL()

  return {
    /** The passkeys of a user, oldest first. */
    passkeysOf: (user: string) => runQuery(passkeysOf, { user }),
    /** The passkey with this id of its authenticator. */
    passkeyByCredential: async (credential: string) => (await runQuery(passkeyByCredential, { credential }))[0],
    /** The authenticator app of a user, also one whose set-up is not finished. */
    totpOf: async (user: string) => (await runQuery(totpOf, { user }))[0],
    /** How many recovery codes a user has left. */
    codesOf: async (user: string) => (await runQuery(codesOf, { user }))[0].n,
    /** Whether a user belongs to an account that `owner` does not own. */
    isBeyond: async (owner: string, user: string) => (await runQuery(findNotOwned, { owner, user })).length > 0,
    /** Fails the unit unless `owner` owns every account of the user when it runs. */
    requireOwned: (owner: string, user: string): Statement => bind(requireOwned, { owner, user }),

    /** A constraint error if the passkey is registered already, under another id. */
    addPasskey: ({ transports, ...passkey }: NewPasskey, at: number): Statement =>
      bind(addPasskey, { ...passkey, transports: JSON.stringify(transports), at }),
    /** No row if the passkey is gone, or its counter has moved on meanwhile. */
    usePasskey: (id: string, counter: number, attempt: string, at: number): Statement =>
      bind(usePasskey, { id, counter, attempt, at }),
    /** No row if the user has no such passkey. */
    removePasskey: (user: string, id: string): Statement => bind(removePasskey, { user, id }),

    /** Begin a set-up. No row if the user has a confirmed authenticator app. */
    setTotp: (user: string, secret: SealedToken, at: number): Statement => bind(setTotp, { user, ...secret, at }),
    /** Use the code of a time step. No row if this step or a later one was used already. `iv` is that of the secret. */
    useTotp: (user: string, iv: string, step: number, attempt: string): Statement =>
      bind(useTotp, { user, iv, step, attempt }),
    /** Finish a set-up: two statements, of which the first fails the unit if it is not pending any more. */
    confirmTotp: (user: string, iv: string, step: number, attempt: string, at: number): Statement[] => [
      bind(requirePendingTotp, { user, iv, step, attempt }),
      bind(confirmTotp, { user, iv, step, attempt, at }),
    ],
    /**
     * Fails the unit unless the user has (`isFirst` false) or has no (true) factor besides the one that the unit adds.
     * `own` is the id of that passkey, or the attempt that confirms the app.
     */
    requireFirst: (user: string, own: string, isFirst: boolean): Statement =>
      bind(isFirst ? requireNoOther : requireOther, { user, attempt: own }),
    /** No row if the user has none. */
    removeTotp: (user: string): Statement => bind(removeTotp, { user }),

    /** Replace all recovery codes. */
    setCodes: (user: string, hashes: string[]): Statement[] => [
      bind(removeCodes, { user }),
      { ...bind(addCodes, { user, hashes: JSON.stringify(hashes) }), rows: hashes.length },
    ],
    /** No row if the user has no such code, or has used it. */
    useCode: (user: string, hash: string, attempt: string): Statement => bind(useCode, { user, hash, attempt }),
    /** Remove the recovery codes of a user who has no second factor left. */
    removeCodesWithoutFactor: (user: string): Statement => bind(removeCodesWithoutFactor, { user }),
    /** Remove everything. */
    removeAll: (user: string): Statement[] =>
      [removeAllPasskeys, removeTotp, removeCodes].map((query) => bind(query, { user })),

    addChallenge: (
      challenge: { hash: string; purpose: ChallengePurpose; holder: string; expiresAt: number },
    ): Statement => bind(addChallenge, { ...challenge }),
    /** Use up a challenge. No row if it is unknown, expired, used, or of another purpose or holder. */
    takeChallenge: (
      hash: string,
      purpose: ChallengePurpose,
      holder: string,
      attempt: string,
      at: number,
    ): Statement => bind(takeChallenge, { hash, purpose, holder, attempt, at }),
    /** Deletes at most `limit` expired challenges. Returns a row for each one deleted. */
    removeExpiredChallenges: (at: number, limit: number): Statement => ({
      ...bind(removeExpiredChallenges, { at, limit }),
      rows: limit,
    }),
  }
}
