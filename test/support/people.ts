/** Users of a test grid. They are signed in without the sign-in page, because password hashing is slow. */
import type { Role, SignedInUser, UserActor } from '../../src/auth/actor.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import { createSessions } from '../../src/auth/session.ts'
import { servedOrigins } from '../../src/edge.ts'
import { acceptInvitation } from '../../src/grid/people/invitations.ts'
import { newId } from '../../src/lib/id.ts'
import type { Statement } from '../../src/store/sql.ts'
import type { Store } from '../../src/store/store.ts'
import { type Browser, browser } from './browse.ts'
import type { TestAccount, TestGrid } from './grid.ts'

/** The password of every user that `person` creates. */
export const password = 'correct horse battery'
let passwordHash: Promise<string> | undefined

/** Returns a statement that makes a user a member without any proof of identity. */
export function membership(store: Store, account: string, user: string, role: Role, at: number): Statement {
  return store.account(account, { type: 'system', job: 'test' }).change.team.addMember(user, role, at)
}

export interface Person {
  id: string
  email: string
  emailVerifiedAt: number | null
  actor(role: Role): UserActor
}

/** Creates a user with a verified address by default. A user with a role becomes a member of the account. */
export async function person(
  grid: TestGrid,
  { email, name = '', role, account = grid.acme, isVerified = true, hasPassword = true }: {
    email?: string
    name?: string
    role?: Role
    account?: TestAccount
    isVerified?: boolean
    hasPassword?: boolean
  } = {},
): Promise<Person> {
  const { store, clock } = grid
  const id = newId()
  const verifiedAt = isVerified ? clock.now : undefined
  const user = { id, email: email ?? `${id}@people.example`, name, verifiedAt }
  const hash = hasPassword ? await (passwordHash ??= hashPassword(password)) : null
  await store.write([
    store.global.users.add({ ...user, passwordHash: hash }, clock.now),
    ...(role ? [membership(store, account.id, id, role, clock.now)] : []),
  ])
  return {
    id,
    email: user.email,
    emailVerifiedAt: verifiedAt ?? null,
    actor: (role) => ({ type: 'user', userId: id, role, sessionId: 'test', confirmedAt: clock.now }),
  }
}

/** Accepts an invitation as the invited person, who is new to the grid. */
export async function acceptAs(grid: TestGrid, { email, url }: { email: string; url: string }): Promise<void> {
  await person(grid, { email })
  const user = (await grid.store.global.users.byEmail(email))!
  await acceptInvitation(grid.store, url.split('/').at(-1)!, { user, sessionId: 'test' } as SignedInUser, null)
}

/** Creates a browser with a session of the user, as if the user had passed a second factor. */
export async function signedIn(
  grid: TestGrid,
  { id }: { id: string },
  address?: string,
  userAgent = '',
): Promise<Browser> {
  const one = browser(grid, address)
  const begun = await createSessions(grid.store, servedOrigins(grid.deps.config))
    .begin(
      new Request(grid.deps.config.appUrl, { headers: { 'User-Agent': userAgent } }),
      id,
      address ?? '203.0.113.9',
      { hasSecondFactor: true },
    )
  const [, name, value] = begun.match(/^([^=]+)=([^;]*)/)!
  one.cookies.set(name, value)
  return one
}

/** Returns the path of the first page that a person sees in an account, with a query. */
export function arrivalOf({ id }: { id: string }, query: Record<string, string> = {}): string {
  const given = new URLSearchParams(query)
  return `/accounts/${id}/home${given.size === 0 ? '' : `?${given}`}`
}

/** Returns the path and query of the link in the newest email. */
export function emailedPath(grid: Pick<TestGrid, 'emails'>): string {
  const link = grid.emails.at(-1)?.link
  if (!link) throw new Error('No email with a link was sent')
  const { pathname, search } = new URL(link)
  return pathname + search
}

/** Returns the CSRF token of a page's forms. */
export async function csrfTokenOf(one: Browser, path: string): Promise<string> {
  const { html } = await one.open(path)
  return html.match(/name="csrf" value="([^"]+)"/)![1]
}

/** Creates a browser with a session of the user with this email address. */
export async function signedInByEmail(grid: TestGrid, email: string): Promise<Browser> {
  return await signedIn(grid, (await grid.store.global.users.byEmail(email))!)
}

/** Creates a browser with a session of a new member of an account. */
export async function signedInMember(grid: TestGrid, account: TestAccount, role: Role): Promise<Browser> {
  return await signedIn(grid, await person(grid, { account, role, name: `A ${role}` }))
}
