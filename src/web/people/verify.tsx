/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { findEmailLink } from '../../grid/people/send-email.ts'
import { checkLinkOwner, findEmailLinkUser, verifyEmail } from '../../grid/people/email-links.ts'
import { confirmEmailChange } from '../../grid/people/profile.ts'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import type { PageDeps } from '../page-deps.ts'
import { type Pages, type PublicVisit, signedIn } from '../visit.ts'

/** Verifying the user's current email address, or a new one. */
export function verifyPages({ get, post }: Pages<PublicVisit>, { store }: PageDeps): void {
  get('/verify/:token', async (visit) => {
    const { user } = signedIn(visit)
    const link = await findEmailLinkUser(store, 'verify', visit.param('token'))
    checkLinkOwner(link, user.id)
    return await confirmPage(visit, '/verify', { title: 'Verify your address', email: link.email, verb: 'Verify' })
  })
  post('/verify/:token', async (visit) => {
    await verifyEmail(store, visit.param('token'), signedIn(visit).user.id)
    return { redirectTo: '/?done=address-verified' }
  })

  get('/new-address/:token', async (visit) => {
    const { user } = signedIn(visit)
    const link = await findEmailLink(store, 'change_email', visit.param('token'))
    checkLinkOwner(link, user.id)
    return await confirmPage(visit, '/new-address', { title: 'Change your address', email: link.email, verb: 'Change' })
  })
  post('/new-address/:token', async (visit) => {
    await confirmEmailChange(store, visit.param('token'), signedIn(visit).user.id)
    return { redirectTo: '/?done=address-changed' }
  })
}

function confirmPage(
  { csrf, param }: PublicVisit,
  path: string,
  { title, email, verb }: { title: string; email: string; verb: string },
) {
  return barePage(
    { title },
    <>
      <h1>{title}</h1>
      <p>
        Confirm that you use <strong>{email}</strong> on this grid.
      </p>
      <Form action={`${path}/${encodeURIComponent(param('token'))}`} csrf={csrf}>
        <SubmitButton isWhole>{verb}</SubmitButton>
      </Form>
    </>,
  )
}
