/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/**
 * Pages for email links: requesting a link, and following each kind. Email scanners open links, so only a button on the
 * page redeems a link. See docs/people.md, "Signing in".
 */
import {
  checkLinkOwner,
  findEmailLinkUser,
  requestEmailLink,
  resetPassword,
  signInByLink,
  verifyEmail,
} from '../../grid/people/email-links.ts'
import { confirmEmailChange } from '../../grid/people/profile.ts'
import { findEmailLink } from '../../grid/people/send-email.ts'
import { Notice } from '../../html/components.tsx'
import { ButtonForm, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { PageForm } from '../forms.tsx'
import { noticeOf, withNotice } from '../notices.ts'
import { localPath, type PageDeps, type Pages, type PublicVisit, signedIn } from '../visit.ts'
import { EmailField, EmailNote, linkButton, NewPasswordField } from './person-fields.tsx'

const resetTitle = 'Choose a new password'

export function emailLinkPages(pages: Pages<PublicVisit>, deps: PageDeps): void {
  linkRequestPages(pages, deps, 'sign_in', {
    path: '/sign-in-link',
    title: 'Sign in by email',
    lead: 'A link signs you in without a password.',
  })
  linkRequestPages(pages, deps, 'reset', {
    path: '/reset',
    title: resetTitle,
    lead: 'With a link you can choose a new password, even if you have not had one so far.',
  })
  signInPages(pages, deps)
  resetPages(pages, deps)
  verifyPages(pages, deps)
}

function signInPages({ get, post }: Pages<PublicVisit>, { store, sessions, features }: PageDeps): void {
  get('/sign-in-link/:token', async ({ csrf, query, param }) => {
    const token = param('token')
    const { email } = await findEmailLinkUser(store, 'sign_in', token)
    return await barePage(
      { title: 'Sign in', csrf },
      <>
        <h1>Sign in</h1>
        <p>
          As <strong>{email}</strong>, in this browser.
        </p>
        <ButtonForm
          action={`/sign-in-link/${encodeURIComponent(token)}`}
          fields={{ next: localPath(query.get('next')) }}
          isWhole
        >
          Sign in
        </ButtonForm>
      </>,
    )
  })
  post('/sign-in-link/:token', async ({ request, requestId, form, address, param, visitor }) => {
    const { userId, isUnlinked } = await signInByLink(store, param('token'), requestId, visitor)
    return {
      redirectTo: pathAfterLink(features, localPath(form.get('next')), isUnlinked),
      cookie: await sessions.begin(request, userId, address),
    }
  })
}

function resetPages({ get, post }: Pages<PublicVisit>, { store, sessions, features }: PageDeps): void {
  const show = async (visit: PublicVisit) => {
    const { email } = await findEmailLinkUser(store, 'reset', visit.param('token'))
    return await newPasswordPage(visit, email)
  }
  get('/reset/:token', show)
  post('/reset/:token', async ({ request, requestId, form, address, param, visitor }) => {
    const password = form.get('password') ?? ''
    const { userId, isUnlinked } = await resetPassword(store, param('token'), password, requestId, visitor)
    return {
      redirectTo: pathAfterLink(features, withNotice('/', 'password-reset'), isUnlinked),
      cookie: await sessions.begin(request, userId, address),
    }
  }, show)
}

/** Returns the path after an email link. A user who has lost a provider's identity first sees a page about it. */
export function pathAfterLink(features: PageDeps['features'], next: string, isUnlinked: boolean): string {
  const way = isUnlinked ? features.find(({ signIn }) => signIn)?.signIn : undefined
  return way?.unlinkedPath(next) ?? next
}

function newPasswordPage(visit: PublicVisit, email: string) {
  const action = `/reset/${encodeURIComponent(visit.param('token'))}`
  return barePage(
    { title: resetTitle, csrf: visit.csrf },
    <>
      <h1>{resetTitle}</h1>
      <p>
        For{' '}
        <strong>{email}</strong>. You will be signed out everywhere else, and programs that you authorized will lose
        their access.
      </p>
      <PageForm visit={visit} acts action={action} fields={['password']}>
        <NewPasswordField label='New password' email={email} />
        <SubmitButton isWhole>Save and sign in</SubmitButton>
      </PageForm>
    </>,
  )
}

/** Verifies the user's current email address, or a new one. */
function verifyPages({ get, post }: Pages<PublicVisit>, { store }: PageDeps): void {
  const confirmations = [
    {
      path: '/verify',
      verb: 'Verify',
      done: 'address-verified',
      confirm: verifyEmail,
      find: (token: string) => findEmailLinkUser(store, 'verify', token),
    },
    {
      path: '/new-address',
      verb: 'Change',
      done: 'address-changed',
      confirm: confirmEmailChange,
      find: (token: string) => findEmailLink(store, 'change_email', token),
    },
  ] as const
  for (const { path, verb, done, find, confirm } of confirmations) {
    get(`${path}/:token`, async (visit) => {
      const { user } = signedIn(visit)
      const token = visit.param('token')
      const link = await find(token)
      checkLinkOwner(link, user.id)
      const title = `${verb} your address`
      return await barePage(
        { title, csrf: visit.csrf },
        <>
          <h1>{title}</h1>
          <p>
            Confirm that you use <strong>{link.email}</strong> on this grid.
          </p>
          <ButtonForm action={`${path}/${encodeURIComponent(token)}`} isWhole>{verb}</ButtonForm>
        </>,
      )
    })
    post(`${path}/:token`, async (visit) => {
      await confirm(store, visit.param('token'), signedIn(visit).user.id)
      return { redirectTo: withNotice('/', done) }
    })
  }
}

interface RequestPage {
  path: string
  title: string
  lead: string
}

/**
 * A page with a form that sends an email link. The response does not reveal whether the address is known. See
 * docs/security.md, "Requests".
 */
function linkRequestPages(
  { get, post }: Pages<PublicVisit>,
  deps: PageDeps,
  kind: 'sign_in' | 'reset',
  page: RequestPage,
): void {
  const show = (visit: PublicVisit) => linkRequestPage(visit, deps, page)
  const { path } = page
  get(path, show)
  post(path, async ({ form, address }) => {
    const next = localPath(form.get('next'))
    await requestEmailLink(deps.store, kind, { email: form.get('email') ?? '', next }, address)
    const nextParameter = next === '/' ? '' : `&next=${encodeURIComponent(next)}`
    const notice = deps.store.deps.email.isConfigured ? 'link-sent' : 'link-logged'
    return { redirectTo: `${withNotice(path, notice)}${nextParameter}` }
  }, show)
}

function linkRequestPage(visit: PublicVisit, deps: PageDeps, { path, title, lead }: RequestPage) {
  const { form, query } = visit
  const notice = noticeOf(query)
  const next = localPath(form.get('next') ?? query.get('next'))
  return barePage(
    { title, csrf: visit.csrf },
    <>
      <h1>{title}</h1>
      {notice
        ? (
          <>
            <Notice kind={notice.kind} title={notice.kind === 'good' ? 'Check your email' : 'Ask the operator'}>
              {notice.text}
            </Notice>
            {/* Email links cannot contain certain paths, such as an authorization request's, so link to them here. */}
            {next !== '/' && (
              <p>
                After you have signed in with the link in this browser, you can <a href={next}>continue here</a>.
              </p>
            )}
          </>
        )
        : (
          <>
            <p>{lead}</p>
            <EmailNote deps={deps} />
            <PageForm visit={visit} acts action={path} fields={['email']}>
              <input type='hidden' name='next' value={next} />
              <EmailField isFocused />
              <SubmitButton isWhole>{linkButton(deps)}</SubmitButton>
            </PageForm>
          </>
        )}
      <p class='small'>
        <a class='alone' href='/sign-in'>Back to sign-in</a>
      </p>
    </>,
  )
}
