/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Signing in with a provider, and linking a provider's identity to a user. See docs/people.md, "Single sign-on". */
import {
  beginSso,
  type BegunSso,
  type FinishedSso,
  finishSso,
  gridProviderId,
  gridProviderName,
  keepSignIn,
  providerOfAccount,
  providerOfEmail,
  ssoFlowMs,
  takeSignIn,
} from './sign-in.ts'
import { isSameIssuer } from '../../lib/issuers.ts'
import { Facts, Notice } from '../../html/components.tsx'
import { ButtonForm, ButtonLink, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { cookieName, cookieOf, serializeCookie } from '../../lib/http/cookies.ts'
import { notices } from './words.ts'
import { allSso, type SignInReport } from './store.ts'
import type { Store } from '../../store/store.ts'
import { PageForm } from '../../web/forms.tsx'
import { withNotice } from '../../web/notices.ts'
import { withCookie } from '../../web/refused-form.tsx'
import { localPath, type PageDeps, type Pages, type PublicVisit, signedIn } from '../../web/visit.ts'
import { EmailField } from '../../web/people/person-fields.tsx'

interface NamedProvider {
  id: string
  name: string
}

/** Returns the path of the page that starts a sign-in with a provider. */
function ssoPath({ id }: { id: string }, next: string, isFresh = false): string {
  return `/sso/${id}?next=${encodeURIComponent(next)}${isFresh ? '&fresh=1' : ''}`
}

export function ssoPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  const isSecure = store.deps.config.appUrl.startsWith('https:')
  const cookie = cookieName('sso', isSecure)
  const cookieFor = (kept: string) => serializeCookie(cookie, kept, { isSecure, maxAgeMs: ssoFlowMs })
  const nextOf = ({ form, query }: PublicVisit) => localPath(form.get('next') ?? query.get('next'))

  const show = async (visit: PublicVisit) => {
    const id = visit.query.get('account')
    return id === null ? await emailPage(visit, nextOf(visit)) : await accountPage(visit, id)
  }
  get('/sso', show)
  post('/sso', async (visit) => {
    return await beginPage(visit, (await providerOfEmail(store, visit.form.get('email') ?? '')).id)
  }, show)
  get('/sso/unlinked', (visit) => unlinkedPage(visit, gridProviderName(store), nextOf(visit)))
  get('/sso/:provider', (visit) => beginPage(visit, visit.param('provider')))
  get('/sso/:provider/link', (visit) => ({ redirectTo: nextOf(visit) }))
  post('/sso/:provider/link', async (visit) => {
    const { address } = visit
    const link = signedIn(visit)
    const begun = await beginSso(store, visit.param('provider'), { next: nextOf(visit), address, link })
    return withCookie(await linkPage(visit, begun), cookieFor(begun.kept))
  })
  get('/sso/:provider/try', () => ({ redirectTo: '/' }))
  post('/sso/:provider/try', async (visit) => {
    const { address, form } = visit
    const trial = sessions.openAccount(signedIn(visit), form.get('account') ?? '')
    const next = `/accounts/${form.get('account')}/settings/account/sso`
    const begun = await beginSso(store, visit.param('provider'), { next, address, trial })
    return withCookie(await tryPage(visit, begun), cookieFor(begun.kept))
  })
  get('/sso/:provider/callback', async (visit) => {
    const { request, visitor, requestId, address } = visit
    const { search } = new URL(request.url)
    const kept = cookieOf(request, cookie)
    const id = visit.param('provider')
    const finished = await finishSso(store, id, { search, kept, visitor, requestId })
    if (finished.did === 'link') return { redirectTo: withNotice(finished.next, notices.linked) }
    if (finished.did === 'try') return await triedPage(visit, finished)
    const { next, userId, proof } = finished
    const current = visitor?.user ?? await sessions.halfVisitor(request)
    if (current && current.id !== userId) {
      const waiting = await keepSignIn(store, id, finished)
      const page = await replacePage(visit, {
        id,
        token: waiting.token,
        current,
        next: (await store.global.users.byId(userId))!,
      })
      return withCookie(page, cookieFor(waiting.kept))
    }
    return { redirectTo: localPath(next), cookie: await sessions.begin(request, userId, address, proof) }
  })
  get('/sso/:provider/replace', () => ({ redirectTo: '/' }))
  post('/sso/:provider/replace', async ({ request, form, address, param }) => {
    const [id, token] = [param('provider'), form.get('token') ?? '']
    const { next, userId, proof } = await takeSignIn(store, id, token, cookieOf(request, cookie))
    return { redirectTo: localPath(next), cookie: await sessions.begin(request, userId, address, proof) }
  })

  /**
   * The page that leads to the provider. Its link contains a one-time token for this browser, so another site cannot
   * start a sign-in without a click here. It is a link, because forms must not lead to other sites.
   */
  async function beginPage(visit: PublicVisit, id: string): Promise<Response> {
    const isFresh = visit.query.has('fresh')
    const begun = await beginSso(store, id, { next: nextOf(visit), address: visit.address, isFresh })
    const { name, accountName, url } = begun
    const page = await barePage(
      { title: `Sign in with ${name}`, csrf: visit.csrf },
      <>
        <h1>Sign in with {name}</h1>
        {accountName !== undefined && (
          <p>
            This opens the account <strong>{accountName}</strong>, and no other.
          </p>
        )}
        {visit.visitor && <p class='soft'>You are signed in as {visit.visitor.user.email}.</p>}
        <ButtonLink kind='main-action' href={url} isWhole>Go on to {name}</ButtonLink>
        <p class='small'>
          <a class='alone' href='/sign-in'>Sign in another way</a>
        </p>
      </>,
    )
    return withCookie(page, cookieFor(begun.kept))
  }

  /** The sign-in page of an account that requires another sign-in method. */
  async function accountPage(visit: PublicVisit, id: string): Promise<Response> {
    const next = nextOf(visit)
    const provider = await providerOfAccount(store, id)
    const isWhole = visit.visitor?.onlyAccount === null
    return await barePage(
      { title: 'Another sign-in', csrf: visit.csrf },
      <>
        <h1>Another sign-in</h1>
        <p>
          {provider
            ? `This account asks its members to sign in with ${provider.name}.`
            : 'Your sign-in is for another account only. Sign out, and sign in in another way to open this one.'}
        </p>
        {provider && <SignInWith provider={provider} next={next} isMain />}
        {provider && isWhole && visit.visitor!.closed.includes(id) && (
          <>
            <p class='small soft'>If you have not linked it to your user yet, do that first.</p>
            <ButtonForm action={`/sso/${provider.id}/link`} fields={{ next }} kind='plain' isWhole>
              Link {provider.name} to my user
            </ButtonForm>
          </>
        )}
        {visit.visitor && <ButtonForm action='/sign-out' kind='quiet' isSmall>Sign out</ButtonForm>}
      </>,
    )
  }
}

/** Asks for the email address whose domain determines the provider. */
function emailPage(visit: PublicVisit, next: string): Promise<Response> {
  return barePage(
    { title: 'Sign in with your company', csrf: visit.csrf },
    <>
      <h1>Sign in with your company</h1>
      <PageForm visit={visit} acts action='/sso' fields={['email']}>
        <input type='hidden' name='next' value={next} />
        <EmailField value={visit.form.get('email') ?? ''} isFocused />
        <SubmitButton isWhole>Continue</SubmitButton>
      </PageForm>
      <p class='small'>
        <a class='alone' href='/sign-in'>Sign in another way</a>
      </p>
    </>,
  )
}

function linkPage({ csrf }: PublicVisit, { name, accountName, url }: BegunSso): Promise<Response> {
  return barePage(
    { title: 'Link your sign-in', csrf },
    <>
      <h1>Link your sign-in</h1>
      <p>
        Sign in at {name} now. From then on, you can sign in here with it
        {accountName !== undefined && ` to the account ${accountName}`}.
      </p>
      <ButtonLink kind='main-action' href={url} isWhole>Go on to {name}</ButtonLink>
    </>,
  )
}

function tryPage({ csrf }: PublicVisit, { name, url }: BegunSso): Promise<Response> {
  return barePage(
    { title: `Try ${name}`, csrf },
    <>
      <h1>Try {name}</h1>
      <p>Sign in at {name}. You see what it says about you. Nothing is changed.</p>
      <ButtonLink kind='main-action' href={url} isWhole>Go on to {name}</ButtonLink>
    </>,
  )
}

interface Replacement {
  id: string
  token: string
  current: { email: string }
  next: { email: string }
}

/** Asks before a sign-in replaces another user's session. */
function replacePage({ csrf }: PublicVisit, { id, token, current, next }: Replacement): Promise<Response> {
  return barePage(
    { title: 'Another user', csrf },
    <>
      <h1>Another user</h1>
      <p>
        You are signed in as <strong>{current.email}</strong>. The provider has signed you in as{' '}
        <strong>{next.email}</strong>.
      </p>
      <ButtonForm action={`/sso/${id}/replace`} fields={{ token }} isWhole>Go on as {next.email}</ButtonForm>
      <ButtonLink href='/' isWhole>Stay {current.email}</ButtonLink>
    </>,
  )
}

/** The result of a test sign-in, for the owner who tests the provider. */
function triedPage(
  { csrf }: PublicVisit,
  { report, refusal, next }: Extract<FinishedSso, { did: 'try' }>,
): Promise<Response> {
  return barePage(
    { title: 'What the provider says', csrf },
    <>
      <h1>What the provider says</h1>
      {refusal === undefined
        ? <Notice kind='good' title='It works'>A person with these claims joins the account.</Notice>
        : <Notice kind='warning' title='A person with these claims does not join'>{refusal}</Notice>}
      <Facts items={reportFacts(report)} />
      <p class='soft'>Nothing was changed.</p>
      <ButtonLink href={next} isWhole>Back</ButtonLink>
    </>,
  )
}

/** A provider's claims about a user, as a list of facts. */
export function reportFacts({ email, isVerified, roles, claims, missing, notes }: SignInReport): [string, string][] {
  const list = (names: string[]) => names.length === 0 ? 'none' : names.join(', ')
  return [
    ['Address', email === null ? 'none' : `${email} (${isVerified ? 'verified' : 'not verified'})`],
    ['Values of the claim with roles', list(roles)],
    ['Claims that came', list(claims)],
    ['Claims that were not received', list(missing)],
    ...notes.map((note): [string, string] => ['No role was changed', noteTexts[note]]),
  ]
}

const noteTexts: Record<SignInReport['notes'][number], string> = {
  overage: 'The user has too many groups for the token (_claim_names). Send only the groups of this application.',
  userinfo: 'The userinfo endpoint has failed.',
}

export function unlinkedPath(next: string): string {
  return `/sso/unlinked?next=${encodeURIComponent(next)}`
}

export function ssoPathOfAccount(id: string, next: string): string {
  return `/sso?account=${id}&next=${encodeURIComponent(next)}`
}

function unlinkedPage(visit: PublicVisit, name: string | undefined, next: string): Promise<Response> {
  signedIn(visit)
  return barePage(
    { title: 'Your address is verified', csrf: visit.csrf },
    <>
      <h1>Your address is verified</h1>
      <p>
        The sign-in of a provider was unlinked from your user: before you proved the address, somebody else may have
        linked it. If it is yours, link it again.
      </p>
      {name !== undefined && (
        <ButtonForm action={`/sso/${gridProviderId}/link`} fields={{ next }} isWhole>Link {name}</ButtonForm>
      )}
      <ButtonLink href={next} isWhole>Go on</ButtonLink>
      <p class='small soft'>Providers of accounts are linked under Settings, Security.</p>
    </>,
  )
}

function SignInWith({ provider, next, isMain }: { provider: NamedProvider; next: string; isMain?: boolean }) {
  return (
    <ButtonLink kind={isMain ? 'main-action' : 'plain'} href={ssoPath(provider, next)} isWhole>
      Sign in with {provider.name}
    </ButtonLink>
  )
}

/** The additional sign-in methods: the provider of the grid, and those of accounts. */
export async function ssoChoices(store: Store, next: string) {
  const name = gridProviderName(store)
  const hasCompanies = await store.feature(allSso).hasAny()
  return (
    <>
      {name !== undefined && <SignInWith provider={{ id: gridProviderId, name }} next={next} />}
      {hasCompanies && (
        <ButtonLink href={`/sso?next=${encodeURIComponent(next)}`} isWhole>Sign in with your company</ButtonLink>
      )}
    </>
  )
}

/** Returns the provider with which users confirm their identity, if it started their session. */
export async function confirmingProvider(store: Store, visit: PublicVisit, next: string) {
  const { onlyAccount, user } = signedIn(visit)
  const provider = onlyAccount === null
    ? await linkedGridProvider(store, user.id)
    : await providerOfAccount(store, onlyAccount)
  return provider && (
    <ButtonLink href={ssoPath(provider, next, true)} isWhole>Sign in again with {provider.name}</ButtonLink>
  )
}

async function linkedGridProvider(store: Store, userId: string): Promise<NamedProvider | undefined> {
  const name = gridProviderName(store)
  if (name === undefined) return undefined
  const known = await store.global.identities.ofUser(userId)
  const isLinked = known.some(({ issuer }) => isSameIssuer(issuer, store.deps.config.oidcIssuer!))
  return isLinked ? { id: gridProviderId, name } : undefined
}
