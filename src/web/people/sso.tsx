/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Signing in with a provider, and linking a user to one. See docs/security.md, "Single sign-on". */
import {
  beginSso,
  finishSso,
  gridProviderId,
  gridProviderName,
  providerOfAccount,
  providerOfEmail,
  ssoFlowMs,
} from '../../grid/people/sso.ts'
import { ButtonForm, ButtonLink, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { cookieName, cookieOf, serializeCookie } from '../../lib/http/cookies.ts'
import type { Store } from '../../store/store.ts'
import { PageForm } from '../forms.tsx'
import { withNotice } from '../notices.ts'
import { withCookie } from '../refused-form.tsx'
import { localPath, type PageDeps, type Pages, type PublicVisit, signedIn } from '../visit.ts'
import { EmailField } from './person-fields.tsx'

interface NamedProvider {
  id: string
  name: string
}

/** Where the sign-in with a provider begins. A form may not lead to another site, so it is a link. */
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
    return await continuePage(visit, await providerOfEmail(store, visit.form.get('email') ?? ''), nextOf(visit))
  }, show)
  get('/sso/:provider', async (visit) => {
    const isFresh = visit.query.has('fresh')
    const { url, kept } = await beginSso(store, visit.param('provider'), {
      next: nextOf(visit),
      address: visit.address,
      isFresh,
    })
    return { redirectTo: url, cookie: cookieFor(kept) }
  })
  get('/sso/:provider/link', (visit) => ({ redirectTo: nextOf(visit) }))
  post('/sso/:provider/link', async (visit) => {
    const { address } = visit
    const link = signedIn(visit)
    const { url, kept, name } = await beginSso(store, visit.param('provider'), { next: nextOf(visit), address, link })
    const page = await barePage(
      { title: 'Link your sign-in', csrf: visit.csrf },
      <>
        <h1>Link your sign-in</h1>
        <p>Sign in at {name} now. From then on, you can sign in here with it.</p>
        <ButtonLink kind='main-action' href={url} isWhole>Go on to {name}</ButtonLink>
      </>,
    )
    return withCookie(page, cookieFor(kept))
  })
  get('/sso/:provider/callback', async (visit) => {
    const { request, visitor, requestId, address } = visit
    const { search } = new URL(request.url)
    const kept = cookieOf(request, cookie)
    const { next, userId, proof } = await finishSso(store, visit.param('provider'), {
      search,
      kept,
      visitor,
      requestId,
    })
    if (userId === undefined) return { redirectTo: withNotice(next, 'provider-linked') }
    return { redirectTo: localPath(next), cookie: await sessions.begin(request, userId, address, proof) }
  })

  /** For people whom an account asks for another sign-in. */
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
        {provider && isWhole && (
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

/** Asks for the address whose domain names the provider. */
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
        <a href='/sign-in'>Sign in another way</a>
      </p>
    </>,
  )
}

function continuePage({ csrf }: PublicVisit, provider: NamedProvider, next: string): Promise<Response> {
  return barePage(
    { title: 'Sign in with your company', csrf },
    <>
      <h1>Sign in with your company</h1>
      <SignInWith provider={provider} next={next} isMain />
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

/** What the sign-in page offers besides: the provider of the grid, and those of accounts. */
export async function ssoChoices(store: Store, next: string) {
  const name = gridProviderName(store)
  const hasCompanies = await store.global.sso.hasAny()
  return (
    <>
      {name !== undefined && <SignInWith provider={{ id: gridProviderId, name }} next={next} />}
      {hasCompanies && (
        <ButtonLink href={`/sso?next=${encodeURIComponent(next)}`} isWhole>Sign in with your company</ButtonLink>
      )}
    </>
  )
}

/** The provider with which a user, who began the session with it, proves again who they are. */
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
  const known = await store.global.sso.identitiesOf(userId)
  const isLinked = known.some(({ issuer }) => issuer === store.deps.config.oidcIssuer)
  return isLinked ? { id: gridProviderId, name } : undefined
}
