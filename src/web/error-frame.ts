/** The frame of error pages: people who are signed in stay inside the application. */
import type { Sessions, Visitor } from '../auth/session.ts'
import type { GridError } from '../errors.ts'
import type { ErrorFrame } from '../html/error-page.tsx'
import { sectionTitles } from '../html/frame.tsx'
import { type NavItem, navItems, sectionPath } from '../html/paths.ts'

const maxNamed = 3

/**
 * The frame for the error of a request, in the account of its path or the first one of the user. Undefined without a
 * session, without an account, and while the database does not answer.
 */
export async function errorFrame(
  sessions: Sessions,
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

  async function frameFor(visitor: Visitor): Promise<ErrorFrame | undefined> {
    const { user, accounts, csrf } = visitor
    const [, place, id, below] = new URL(request.url).pathname.split('/')
    const inPath = place === 'accounts' ? accounts.find((account) => account.id === id) : undefined
    const account = inPath ?? accounts[0]
    if (!account) return undefined
    const current = inPath && navItems.find((item) => item === below)
    const section: NavItem = current ?? 'home'
    const roles = inPath && error.details.allowedRoles
    return {
      frame: { account, accounts, user, csrf, current },
      next: { title: `Go to ${sectionTitles[section]}`, href: sectionPath(account.id, section) },
      allowed: roles ? await membersOf(visitor, account.id, roles) : [],
    }
  }

  async function membersOf(visitor: Visitor, id: string, roles: readonly string[]): Promise<string[]> {
    const members = await sessions.openAccount(visitor, id).read.team.members()
    return members.filter((member) => roles.includes(member.role)).slice(0, maxNamed)
      .map(({ name, email }) => name || email)
  }
}
