/** A signed-in person who answers a listening grid's consent pages as a browser does. */
import { createSessions } from '../../src/auth/session.ts'
import { servedOrigins } from '../../src/edge.ts'
import { rows } from './database.ts'
import type { LiveGrid } from './server.ts'

/** Opens a consent page, and allows the selected entry or denies access. Follows the redirect. */
export type AnswerConsent = (address: string, decision?: 'allow' | 'deny') => Promise<void>

/** Signs in the first member of Acme. */
export async function liveConsent(grid: LiveGrid): Promise<AnswerConsent> {
  const { url, store, deps, acme } = grid
  const [{ user_id: id }] = await rows(grid, 'SELECT user_id FROM memberships WHERE account_id = ?', [acme.id])
  const sessions = createSessions(store, servedOrigins(deps.config))
  const [session] = (await sessions.begin(new Request(url), String(id), '127.0.0.1')).split(';')

  return async function answer(address, decision = 'allow') {
    const page = await fetch(address, { headers: { cookie: session } })
    const html = await page.text()
    const field = (name: string) => html.match(new RegExp(`name="${name}" value="([^"]+)"`))?.[1]
    const pick = html.match(/<input type="radio" name="pick" value="([^"]+)"[^>]* checked/)?.[1]
    if (field('handle') === undefined) {
      throw new Error(`No consent page: ${html.replace(/<[^>]+>/g, ' ').slice(0, 500)}`)
    }
    const cookies = [session, ...page.headers.getSetCookie().map((set) => set.split(';')[0])].join('; ')
    const answered = await fetch(new URL('/oauth/authorize', address), {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookies, Origin: new URL(address).origin },
      body: new URLSearchParams({ csrf: field('csrf')!, handle: field('handle')!, decision, ...(pick && { pick }) }),
    })
    await fetch(answered.headers.get('location')!)
  }
}
