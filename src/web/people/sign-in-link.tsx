/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { openMailedLink, signInByLink } from '../../grid/people/email-links.ts'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { askPages } from './ask-for-link.tsx'
import { type OpenVisit, ownPath, type Pages } from '../visit.ts'
import type { Web } from '../web.ts'

const words = {
  title: 'Sign in by mail',
  lead: 'We send you a link that signs you in. No password is needed.',
  button: 'Mail me a link',
}

/** Signing in by a mailed link. Mail scanners open links, so only the button uses it up (security O15). */
export function signInLinkPages(pages: Pages<OpenVisit>, web: Web): void {
  const { store, sessions } = web
  askPages(pages, web, { path: '/sign-in-link', kind: 'sign_in', words })

  pages.get('/sign-in-link/:token', async ({ csrf, query, param }) => {
    const token = param('token')
    const { email } = await openMailedLink(store, 'sign_in', token)
    return await barePage(
      { title: 'Sign in' },
      <>
        <h1>Sign in</h1>
        <p>
          As <strong>{email}</strong>, in this browser.
        </p>
        <Form action={`/sign-in-link/${encodeURIComponent(token)}`} csrf={csrf}>
          <input type='hidden' name='next' value={ownPath(query.get('next'))} />
          <SubmitButton isWhole>Sign in</SubmitButton>
        </Form>
      </>,
    )
  })
  pages.post('/sign-in-link/:token', async ({ request, form, address, param }) => {
    const userId = await signInByLink(store, param('token'))
    return { goTo: ownPath(form.get('next')), cookie: await sessions.begin(request, userId, address) }
  })
}
