/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { findEmailLinkUser, signInByLink } from '../../grid/people/email-links.ts'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import type { PageDeps } from '../page-deps.ts'
import { localPath, type Pages, type PublicVisit } from '../visit.ts'
import { linkRequestPages } from './request-link.tsx'

const texts = {
  title: 'Sign in by email',
  lead: 'A link signs you in without a password.',
}

/** Signing in by email link. Email scanners open links, so only the button redeems it. See docs/security.md, "Email links". */
export function signInLinkPages(pages: Pages<PublicVisit>, deps: PageDeps): void {
  const { store, sessions } = deps
  linkRequestPages(pages, deps, { path: '/sign-in-link', kind: 'sign_in', texts })

  pages.get('/sign-in-link/:token', async ({ csrf, query, param }) => {
    const token = param('token')
    const { email } = await findEmailLinkUser(store, 'sign_in', token)
    return await barePage(
      { title: 'Sign in' },
      <>
        <h1>Sign in</h1>
        <p>
          As <strong>{email}</strong>, in this browser.
        </p>
        <Form action={`/sign-in-link/${encodeURIComponent(token)}`} csrf={csrf}>
          <input type='hidden' name='next' value={localPath(query.get('next'))} />
          <SubmitButton isWhole>Sign in</SubmitButton>
        </Form>
      </>,
    )
  })
  pages.post('/sign-in-link/:token', async ({ request, requestId, form, address, param }) => {
    const userId = await signInByLink(store, param('token'), requestId)
    return { redirectTo: localPath(form.get('next')), cookie: await sessions.begin(request, userId, address) }
  })
}
