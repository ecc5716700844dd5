/** Signups over REST, and their database rows. */
import type { Row } from '@libsql/client'
import { expect } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { claimAccount, openClaim } from '../../src/grid/accounts/claim.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { rows } from './database.ts'
import type { TestAccount, TestAgent, TestGrid } from './grid.ts'
import { membership, person } from './people.ts'

export const signupPath = '/api/v1/agentic-signup'

/** Signs up the agent `zoe` with the owner ann@owner.example. `input` overrides fields. */
export function signUp(grid: TestGrid, input: Record<string, unknown>, address?: string): Promise<Response> {
  return grid.post(signupPath, { owner_email: 'ann@owner.example', alias: 'zoe', ...input }, {}, address)
}

/** Signs up an agent. Resolves to the agent's account store. */
export async function signedUp(grid: TestGrid, input: Record<string, unknown>): Promise<AccountStore> {
  const response = await signUp(grid, input)
  expect(response.status).toBe(201)
  return createAuthenticator(grid.store)(`Bearer ${(await response.json()).api_key}`)
}

/** Sends a signup that the grid must refuse. Returns the response's status and error code. */
export async function refusal(
  grid: TestGrid,
  input: Record<string, unknown>,
): Promise<{ status: number; code: string }> {
  const response = await signUp(grid, input)
  return { status: response.status, code: await codeOf(response) }
}

/** Returns the code of an error response. Checks that the body has the exact shape of an error. */
export async function codeOf(response: Response): Promise<string> {
  const body = await response.json()
  const { retry_after_seconds, ...error } = body.error
  expect(retry_after_seconds === undefined).toBe(response.status !== 429)
  expect({ ...body, error }).toEqual({
    error: { code: expect.any(String), message: expect.stringMatching(/^[A-Z\w].+/) },
  })
  return body.error.code
}

/** A signed-up agent. `link` is the token in its claim link. */
export interface SignedUp extends TestAgent {
  home: string
  link: string
}

export async function signUpAs(grid: TestGrid, email: string, alias: string, more: object = {}): Promise<SignedUp> {
  const { api_key, trial } = await (await signUp(grid, { owner_email: email, alias, ...more })).json()
  const link = trial.claim_url.split('/').at(-1)
  const { provisionalId: home, agents } = await openClaim(grid.store, link)
  return { id: agents.find((agent) => agent.alias === alias)!.id, alias, key: api_key, home, link }
}

/**
 * Claims a claim link's agents as the user with the owner's email address. With `into`, moves them to that account,
 * which the same user owns, except the agents in `keep` and `discard`.
 */
export async function claimAgents(
  grid: TestGrid,
  link: string,
  { into, keep = [], discard = [] }: { into?: TestAccount; keep?: string[]; discard?: string[] } = {},
): Promise<void> {
  const { agents, ownerEmail: email } = await openClaim(grid.store, link)
  const known = await grid.store.global.users.byEmail(email)
  const { id } = known ?? await person(grid, { email, hasPassword: false })
  if (into && !known) {
    await grid.store.write([membership(grid.store, into.id, id, 'owner', grid.clock.now)])
  }
  const claimant = { user: { id, email, emailVerifiedAt: grid.clock.now }, sessionId: 'test' }
  const owner = { type: 'user' as const, userId: id, role: 'owner' as const, sessionId: 'test' }
  const idsOf = (isChosen: (alias: string) => boolean) =>
    agents.filter(({ alias }) => isChosen(alias)).map(({ id }) => id)
  const stays = (alias: string) => !into || keep.includes(alias)
  const decision = {
    keep: idsOf((alias) => stays(alias) && !discard.includes(alias)),
    move: idsOf((alias) => !stays(alias) && !discard.includes(alias)),
    discard: idsOf((alias) => discard.includes(alias)),
    into: into && { id: into.id, account: grid.store.account(into.id, owner) },
  }
  await claimAccount(grid.store, link, claimant, { ...decision, name: 'Zoe' }, null)
}

/** Marks an agent's account as claimed, as a claim does. The account then accepts no further signups. */
export async function claim(grid: TestGrid, alias: string): Promise<void> {
  const accountId = await accountOf(grid, alias)
  await rows(grid, "UPDATE accounts SET state = 'claimed', join_email = NULL, claimed_at = 1 WHERE id = ?", [accountId])
}

/** Returns the aliases of all agents in an agent's account. */
export async function agentsInAccountOf(grid: TestGrid, alias: string): Promise<string[]> {
  const accountId = await accountOf(grid, alias)
  const found = await rows(grid, 'SELECT alias FROM agents WHERE account_id = ? ORDER BY alias', [accountId])
  return found.map((row) => String(row.alias))
}

/** Returns the signups with an email address, in all accounts. */
export async function signups(grid: TestGrid, email: string): Promise<Row[]> {
  const found = await Promise.all(
    (await accountIds(grid)).map((id) =>
      rows(grid, 'SELECT * FROM signups WHERE account_id = ? AND owner_email = ?', [id, email])
    ),
  )
  return found.flat()
}

export async function accountCount(grid: TestGrid): Promise<number> {
  return (await accountIds(grid)).length
}

async function accountOf(grid: TestGrid, alias: string): Promise<string> {
  for (const id of await accountIds(grid)) {
    const found = await rows(grid, 'SELECT 1 FROM agents WHERE account_id = ? AND alias = ?', [id, alias])
    if (found.length > 0) return id
  }
  throw new Error(`no agent ${alias}`)
}

async function accountIds(grid: TestGrid): Promise<string[]> {
  return (await rows(grid, 'SELECT id FROM accounts')).map(({ id }) => String(id))
}
