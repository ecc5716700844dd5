import { Hono } from 'hono'
import { GridError } from '../errors.ts'
import { homePath } from '../html/paths.ts'
import { staticAnswer } from '../lib/http/static-answer.ts'
import type { AppEnv } from '../request-context.ts'
import { htmlError } from '../wire.ts'
import { activityPages } from './accounts/activity.tsx'
import { claimLinkPages } from './accounts/claim-link.tsx'
import { claimPages } from './accounts/claim.tsx'
import { newAccountPages } from './accounts/new-account.tsx'
import { accountSettingsPages } from './accounts/settings-account.tsx'
import { agentPages } from './agents/agents.tsx'
import { skillPages } from './agents/skills.tsx'
import { heldPages } from './approvals/held.tsx'
import { approvalRulePages } from './approvals/rules.tsx'
import { attentionPages } from './attention/attention.tsx'
import { channelPages } from './channels/channels.tsx'
import { conversationPages } from './conversations/conversations.tsx'
import { messagePages } from './conversations/message.tsx'
import { errorFrame } from './error-frame.ts'
import { guardrailPages } from './guardrails/guardrails.tsx'
import { homePages } from './home/home.tsx'
import { emailLinkPages } from './people/email-links.tsx'
import { handOverPages } from './people/hand-over.tsx'
import { invitationPages } from './people/invitation.tsx'
import { proofPages } from './people/proof.tsx'
import { setUpPages } from './people/set-up.tsx'
import { profilePages } from './people/settings-profile.tsx'
import { securityPages } from './people/settings-security.tsx'
import { sessionPages } from './people/settings-sessions.tsx'
import { teamPages } from './people/settings-team.tsx'
import { signInPages } from './people/sign-in.tsx'
import { welcome } from './people/welcome.tsx'
import { reservationPages } from './reservations/reservations.tsx'
import { searchPages } from './search/search.tsx'
import { settingsPath } from './settings.tsx'
import { taskPages } from './tasks/tasks.tsx'
import { themeOf } from './theme.ts'
import { accountPages, confirmPath, type FormRoute, type PageDeps, publicPages, signInPath } from './visit.ts'

/** Shown if no registered feature can sign the user in to the account. */
const noOtherSignIn =
  'This account asks for a sign-in of its own, which this grid does not offer. Sign out and sign in ' +
  'again; if that does not help, ask the operator to run stop-requiring-sso.'

/** Creates the web app, to be mounted at `/`. Errors are HTML pages. The account pages' forms are added to `routes`. */
export function createWebApp(pageDeps: PageDeps, routes: FormRoute[] = []): Hono<AppEnv> {
  const { store: { deps: { config } }, sessions } = pageDeps
  const app = new Hono<AppEnv>({ strict: true })
  const publicRoutes = publicPages(app, pageDeps)
  const accountRoutes = accountPages(app, pageDeps, { routes })
  /** Registers pages on which users manage their own data. */
  const ownRoutes = accountRoutes.may('view')
  const welcomePage = staticAnswer(() => welcome(config))

  app.get('/', async (c) => {
    const visitor = await sessions.visitor(c.req.raw)
    if (!visitor) {
      if (await sessions.halfVisitor(c.req.raw)) return c.redirect('/second-factor', 303)
      // `welcomePage` may be compressed, and a compressed page cannot be given a theme.
      return themeOf(c.req.raw) === 'system' ? welcomePage(c.req.raw) : await welcome(config)
    }
    const [first] = visitor.accounts
    const id = first?.id ?? visitor.closed[0]
    return c.redirect(id ? `${homePath(id)}${new URL(c.req.url).search}` : '/new-account', 303)
  })
  signInPages(publicRoutes, pageDeps)
  proofPages(publicRoutes, pageDeps)
  emailLinkPages(publicRoutes, pageDeps)
  setUpPages(publicRoutes, pageDeps)
  claimPages(publicRoutes, pageDeps)
  claimLinkPages(publicRoutes, pageDeps)
  invitationPages(publicRoutes, pageDeps)
  newAccountPages(publicRoutes, pageDeps)

  homePages(accountRoutes, pageDeps)
  conversationPages(accountRoutes)
  messagePages(accountRoutes)
  searchPages(accountRoutes)
  attentionPages(ownRoutes, pageDeps)
  taskPages(accountRoutes)
  reservationPages(accountRoutes)
  agentPages(accountRoutes)
  channelPages(accountRoutes)
  skillPages(accountRoutes)
  guardrailPages(accountRoutes)
  approvalRulePages(accountRoutes)
  heldPages(accountRoutes)
  activityPages(accountRoutes)
  accountRoutes.get('/settings', (visit) => ({ redirectTo: settingsPath(visit, 'profile') }))
  profilePages(ownRoutes, pageDeps)
  securityPages(
    accountPages(app, pageDeps, { routes, may: 'view', isOfUser: true, withoutSecondFactor: true }),
    pageDeps,
  )
  accountSettingsPages(accountRoutes, pageDeps)
  teamPages(accountRoutes, pageDeps)
  handOverPages(accountRoutes.may('own'))
  sessionPages(accountPages(app, pageDeps, { routes, may: 'view', isOfUser: true }), pageDeps)
  for (const { pages, publicPages } of pageDeps.features) {
    publicPages?.(publicRoutes, pageDeps)
    pages?.(accountRoutes, pageDeps)
  }

  const otherSignIn = pageDeps.features.find(({ signIn }) => signIn)?.signIn
  app.onError(async (error, c) => {
    // An error that sends the user to another page is not a refusal.
    const code = error instanceof GridError ? error.code : undefined
    if (code === 'unauthenticated' && c.req.method === 'GET') {
      return c.redirect(signInPath(new URL(c.req.url)), 303)
    }
    if (code === 'confirmation_required') {
      return c.redirect(confirmPath(new URL(c.req.url), c.req.method), 303)
    }
    if (code === 'other_sign_in_required' && !otherSignIn) {
      const refusal = c.get('trace').refusal(new GridError(code, noOtherSignIn))
      return await htmlError(refusal, await errorFrame(pageDeps, c.req.raw, refusal))
    }
    if (code === 'other_sign_in_required' && c.req.method === 'GET') {
      const { pathname, search } = new URL(c.req.url)
      return c.redirect(otherSignIn!.pathOfAccount(pathname.split('/')[2], pathname + search), 303)
    }
    if (code === 'second_factor_required' && c.req.method === 'GET') {
      const id = new URL(c.req.url).pathname.split('/')[2]
      return c.redirect(`/accounts/${id}/settings/security`, 303)
    }
    const gridError = c.get('trace').refusal(error)
    return await htmlError(gridError, await errorFrame(pageDeps, c.req.raw, gridError))
  })
  return app
}
