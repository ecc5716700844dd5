/** The frame of error pages, so that signed-in people stay inside the application. */
import type { Visitor } from '../auth/session.ts'
import type { GridError } from '../errors.ts'
import type { ErrorFrame } from '../html/error-page.tsx'
import type { FrameNeeds } from '../html/frame.tsx'
import { sectionPath, sectionsWith } from '../html/paths.ts'
import { countedVisit } from './attention/counts.ts'
import type { PageDeps } from './visit.ts'

const maxNamed = 3

/**
 * Returns the frame for a request's error page, in the path's account or the user's first one. Undefined without a
 * session or an account, or while the database is unavailable.
 */
export async function errorFrame(
  { store, sessions, attention, features }: PageDeps,
  request: Request,
  error: GridError,
): Promise<ErrorFrame | undefined> {
  if (error.kind === 'unavailable') return undefined
  try {
    const visitor = await sessions.visitor(request)
    return visitor && await frameFor(visitor)
  } catch {
    // Report the request's error, not an error in its frame.
    return undefined
  }

  async function frameFor(visitor: Visitor): Promise<ErrorFrame | undefined> {
    const { user, accounts, csrf } = visitor
    const [, place, id, below] = new URL(request.url).pathname.split('/')
    const inPath = place === 'accounts' ? accounts.find((account) => account.id === id) : undefined
    const account = inPath ?? accounts[0]
    if (!account) return undefined
    const sections = sectionsWith(features.flatMap(({ section }) => section ?? []))
    const current = inPath && sections.flat().find(({ name }) => name === below)
    const { name, title } = current ?? sections[0][0]
    const roles = inPath && error.details.allowedRoles
    return {
      frame: {
        account,
        accounts,
        user,
        csrf,
        sections,
        current: current?.name,
        needs: inPath && needsIn(visitor, account.id),
      },
      next: { title: `Go to ${title}`, href: sectionPath(account.id, name) },
      allowed: roles ? await membersOf(visitor, account.id, roles) : [],
    }
  }

  /** Returns the count for the navigation. Undefined if the session does not open the account. */
  async function needsIn(visitor: Visitor, id: string): Promise<FrameNeeds | undefined> {
    try {
      return await attention.now(countedVisit(store, visitor, { id, account: sessions.openAccount(visitor, id) }))
    } catch {
      return undefined
    }
  }

  async function membersOf(visitor: Visitor, id: string, roles: readonly string[]): Promise<string[]> {
    const members = await sessions.openAccount(visitor, id).read.team.members()
    return members.filter((member) => roles.includes(member.role)).slice(0, maxNamed)
      .map(({ name, email }) => name || email)
  }
}
