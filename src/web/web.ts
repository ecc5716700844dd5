/** Every page of the web application. */
import { type Context, Hono } from 'hono'
import type { Sessions } from '../auth/session.ts'
import type { AppEnv } from '../edge.ts'
import type { Store } from '../store/store.ts'
import { asGridError, htmlError } from '../wire.ts'
import { activityPages } from './accounts/activity.tsx'
import { agentPages } from './agents/agents.tsx'
import { channelPages } from './channels/channels.tsx'
import { claimPages } from './accounts/claim.tsx'
import { claimProofPages } from './accounts/claim-link.tsx'
import { guardrailPages } from './guardrails/guardrails.tsx'
import { invitationPages } from './people/invitation.tsx'
import { newAccountPages } from './accounts/new-account.tsx'
import { overview } from './accounts/overview.tsx'
import { resetPages } from './people/reset.tsx'
import { setUpPages } from './people/set-up.tsx'
import { accountSettingsPages } from './accounts/settings-account.tsx'
import { profilePages } from './people/settings-profile.tsx'
import { sessionPages } from './people/settings-sessions.tsx'
import { teamPages } from './people/settings-team.tsx'
import { settingsPath } from './settings.tsx'
import { signInLinkPages } from './people/sign-in-link.tsx'
import { signInPages } from './people/sign-in.tsx'
import { skillPages } from './agents/skills.tsx'
import { verifyPages } from './people/verify.tsx'
import { accountPages, openPages, signInPath } from './visit.ts'
import { welcome } from './people/welcome.tsx'

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
    return c.redirect(first ? `/accounts/${first.id}${new URL(c.req.url).search}` : '/new-account', 303)
  })
  signInPages(open, web)
  signInLinkPages(open, web)
  resetPages(open, web)
  verifyPages(open, web)
  setUpPages(open, web)
  claimPages(open, web)
  claimProofPages(open, web)
  invitationPages(open, web)
  newAccountPages(open, web)

  pages.get('', overview)
  agentPages(pages)
  channelPages(pages)
  skillPages(pages)
  guardrailPages(pages)
  activityPages(pages)
  pages.get('/settings', (visit) => ({ goTo: settingsPath(visit, 'profile') }))
  profilePages(pages, web)
  accountSettingsPages(pages, web)
  teamPages(pages, web)
  sessionPages(pages, web)

  app.onError((error, c) => {
    const known = asGridError(error, deps.log, c.get('requestId'))
    if (known.code === 'unauthenticated' && c.req.method === 'GET') {
      return c.redirect(signInPath(new URL(c.req.url)), 303)
    }
    return htmlError(known)
  })
  return app
}
