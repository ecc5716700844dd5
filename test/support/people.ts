/** People of a test grid, signed in without the sign-in page, whose passwords take a moment each. */
import type { Role, UserActor } from '../../src/auth/actor.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import { sessions } from '../../src/auth/session.ts'
import { servedOrigins } from '../../src/edge.ts'
import { newId } from '../../src/lib/id.ts'
import { type Browser, browser } from './browse.ts'
import type { TestAccount, TestGrid } from './grid.ts'

/** What everybody of `person` signs in with. */
export const password = 'correct horse battery'
let passwordHash: Promise<string> | undefined

export interface Person {
  id: string
  email: string
  actor(role: Role): UserActor
}

/** A new person with a proved address, in an account if they have a role there. */
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
  const user = { id, email: email ?? `${id}@people.example`, name, verifiedAt: isVerified ? clock.now : undefined }
  const hash = hasPassword ? await (passwordHash ??= hashPassword(password)) : null
  await store.write([
    store.global.users.add({ ...user, passwordHash: hash }, clock.now),
    ...(role ? [store.global.users.addMembership(account.id, id, role, clock.now)] : []),
  ])
  return { id, email: user.email, actor: (role) => ({ type: 'user', userId: id, role, sessionId: 'test' }) }
}

/** A browser in which somebody is signed in; `userAgent` is how it names itself. */
export async function signedIn(
  grid: TestGrid,
  { id }: { id: string },
  address?: string,
  userAgent = '',
): Promise<Browser> {
  const one = browser(grid, address)
  const begun = await sessions(grid.store, servedOrigins(grid.deps.config))
    .begin(new Request(grid.deps.config.appUrl, { headers: { 'User-Agent': userAgent } }), id, address ?? '203.0.113.9')
  const [, name, value] = begun.match(/^([^=]+)=([^;]*)/)!
  one.cookies.set(name, value)
  return one
}

/** The path of the newest mailed link. */
export function mailedPath(grid: Pick<TestGrid, 'mails'>): string {
  const link = grid.mails.at(-1)?.link
  if (!link) throw new Error('No mail with a link was sent')
  const { pathname, search } = new URL(link)
  return pathname + search
}

/** The `csrf` of the forms of a page. */
export async function csrfAt(one: Browser, path: string): Promise<string> {
  const { html } = await one.open(path)
  return html.match(/name="csrf" value="([^"]+)"/)![1]
}

/** The person of an address, signed in. */
export async function signedInAs(grid: TestGrid, email: string): Promise<Browser> {
  return await signedIn(grid, (await grid.store.global.users.byEmail(email))!)
}

/** A new person with a role in an account, signed in. */
export async function personAs(grid: TestGrid, account: TestAccount, role: Role): Promise<Browser> {
  return await signedIn(grid, await person(grid, { account, role, name: `A ${role}` }))
}
