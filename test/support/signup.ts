/** REST signups, and what they leave in the database. */
import type { Row } from '@libsql/client'
import { expect } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import type { AccountStore } from '../../src/store/account.ts'
import { rows } from './database.ts'
import type { TestGrid } from './grid.ts'

export const signupPath = '/api/v1/agentic-signup'

/** Sign up an agent `zoe` of ann@owner.example, unless `input` says otherwise. */
export function signUp(grid: TestGrid, input: Record<string, unknown>, address?: string): Promise<Response> {
  return grid.post(signupPath, { owner_email: 'ann@owner.example', alias: 'zoe', ...input }, {}, address)
}

/** Sign up; resolves to the account store of the new agent. */
export async function signedUp(grid: TestGrid, input: Record<string, unknown>): Promise<AccountStore> {
  const response = await signUp(grid, input)
  expect(response.status).toBe(201)
  return createAuthenticator(grid.store)(`Bearer ${(await response.json()).api_key}`)
}

/** Status and error code of a signup that fails. */
export async function refusal(
  grid: TestGrid,
  input: Record<string, unknown>,
): Promise<{ status: number; code: string }> {
  const response = await signUp(grid, input)
  return { status: response.status, code: await codeOf(response) }
}

/** The code of an error, whose body has exactly this shape. */
export async function codeOf(response: Response): Promise<string> {
  const body = await response.json()
  const { retry_after_seconds, ...error } = body.error
  expect(retry_after_seconds === undefined).toBe(response.status !== 429)
  expect({ ...body, error }).toEqual({
    error: { code: expect.any(String), message: expect.stringMatching(/^[A-Z\w].+/) },
  })
  return body.error.code
}

/** Set the account of an agent to claimed, as a claim does: it takes no more signups. */
export async function claim(grid: TestGrid, alias: string): Promise<void> {
  const accountId = await accountOf(grid, alias)
  await rows(grid, "UPDATE accounts SET state = 'claimed', join_email = NULL, claimed_at = 1 WHERE id = ?", [accountId])
}

/** The aliases of all agents in the account of an agent. */
export async function agentsInAccountOf(grid: TestGrid, alias: string): Promise<string[]> {
  const accountId = await accountOf(grid, alias)
  const found = await rows(grid, 'SELECT alias FROM agents WHERE account_id = ? ORDER BY alias', [accountId])
  return found.map((row) => String(row.alias))
}

/** The signups for an email address, in all accounts. */
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
