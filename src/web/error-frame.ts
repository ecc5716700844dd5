/** The frame of error pages: people who are signed in stay inside the application. */
import type { Role } from '../auth/actor.ts'
import type { Visitor } from '../auth/session.ts'
import type { GridError } from '../errors.ts'
import type { ErrorFrame } from '../html/error-page.tsx'
import { sectionTitles } from '../html/frame.tsx'
import { type NavItem, navItems, sectionPath } from '../html/paths.ts'
import type { PageDeps } from './page-deps.ts'

/** How many people an error page names. */
const maxNamed = 3

/**
 * The frame for the error of a request, in the account of its path or the first one of the user. Undefined without a
 * session, without an account, and while the database does not answer.
 */
export async function errorFrame(
  { store, sessions }: Pick<PageDeps, 'store' | 'sessions'>,
  request: Request,
  error: GridError,
): Promise<ErrorFrame | undefined> {
  if (error.kind === 'unavailable') return undefined
  try {
    const visitor = await sessions.visitor(request)
    return visitor && await frameFor(visitor)
  } catch {
    // The error of the request matters, not that of its page.
    return undefined
  }

  async function frameFor({ user, accounts, csrf }: Visitor): Promise<ErrorFrame | undefined> {
    const [, place, id, below] = new URL(request.url).pathname.split('/')
    const inPath = place === 'accounts' ? accounts.find((account) => account.id === id) : undefined
    const account = inPath ?? accounts[0]
    if (!account) return undefined
    const current = inPath && navItems.find((item) => item === below)
    const section: NavItem = current ?? 'overview'
    const roles = inPath && error.details.allowedRoles
    return {
      frame: { account, accounts, user, csrf, current },
      next: { title: `Go to ${sectionTitles[section]}`, href: sectionPath(account.id, section) },
      allowed: roles ? await membersOf(account.id, user.id, account.role, roles) : [],
    }
  }

  async function membersOf(id: string, userId: string, role: Role, roles: readonly string[]): Promise<string[]> {
    const members = await store.account(id, { type: 'user', userId, role, sessionId: '' }).read.team.members()
    return members.filter((member) => roles.includes(member.role)).slice(0, maxNamed)
      .map(({ name, email }) => name || email)
  }
}
