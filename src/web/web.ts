/** Every page of the web application. */
import { type Context, Hono } from 'hono'
import type { Sessions } from '../auth/session.ts'
import type { AppEnv } from '../edge.ts'
import { GridError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { asGridError, htmlError } from '../wire.ts'
import { activityPages } from './activity.tsx'
import { agentPages } from './agents.tsx'
import { claimPages } from './claim.tsx'
import { claimProofPages } from './claim-proof.tsx'
import { overview } from './overview.tsx'
import { setUpPages } from './set-up.tsx'
import { signInPages } from './sign-in.tsx'
import { accountPages, openPages, signInPath } from './visit.ts'
import { welcome } from './welcome.tsx'

/** What the pages work with. */
export interface Web {
  store: Store
  sessions: Sessions
  /** The client of a request, as limits count it. */
  address(c: Context<AppEnv>): string
}

/** The pages, to be mounted at `/`. Refusals are pages too. */
export function web(web: Web): Hono<AppEnv> {
  const { store: { deps }, sessions } = web
  const app = new Hono<AppEnv>({ strict: true })
  const open = openPages(app, web)
  const pages = accountPages(app, web)

  app.get('/', async (c) => {
    const visitor = await sessions.visitor(c.req.raw)
    if (!visitor) return welcome(deps.config)
    const [first] = visitor.accounts
    if (!first) {
      throw new GridError('account_not_found', 'You belong to no account. Ask an owner or admin to invite you.')
    }
    return c.redirect(`/accounts/${first.id}`, 303)
  })
  signInPages(open, web)
  setUpPages(open, web)
  claimPages(open, web)
  claimProofPages(open, web)
  pages.get('', overview)
  agentPages(pages)
  activityPages(pages)

  app.onError((error, c) => {
    const known = asGridError(error, deps.log, c.get('requestId'))
    if (known.code === 'unauthenticated' && c.req.method === 'GET') {
      return c.redirect(signInPath(new URL(c.req.url)), 303)
    }
    return htmlError(known)
  })
  return app
}
