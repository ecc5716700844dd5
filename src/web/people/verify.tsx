/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { openLink } from '../../grid/people/links.ts'
import { checkOwner, openMailedLink, verifyEmail } from '../../grid/people/email-links.ts'
import { takeNewEmail } from '../../grid/people/own-profile.ts'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { type OpenVisit, type Pages, signedIn } from '../visit.ts'
import type { Web } from '../web.ts'

/** Showing that an address is one's own: the one that a person has, or the one that they want to have. */
export function verifyPages({ get, post }: Pages<OpenVisit>, { store }: Web): void {
  get('/verify/:token', async (visit) => {
    const { user } = signedIn(visit)
    const link = await openMailedLink(store, 'verify', visit.param('token'))
    checkOwner(link, user.id)
    return await button(visit, '/verify', { title: 'Verify your address', email: link.email, verb: 'Verify' })
  })
  post('/verify/:token', async (visit) => {
    await verifyEmail(store, visit.param('token'), signedIn(visit).user.id)
    return { goTo: '/?done=address-verified' }
  })

  get('/new-address/:token', async (visit) => {
    const { user } = signedIn(visit)
    const link = await openLink(store, 'change_email', visit.param('token'))
    checkOwner(link, user.id)
    return await button(visit, '/new-address', { title: 'Change your address', email: link.email, verb: 'Change' })
  })
  post('/new-address/:token', async (visit) => {
    await takeNewEmail(store, visit.param('token'), signedIn(visit).user.id)
    return { goTo: '/?done=address-changed' }
  })
}

function button(
  { csrf, param }: OpenVisit,
  path: string,
  { title, email, verb }: { title: string; email: string; verb: string },
) {
  return barePage(
    { title },
    <>
      <h1>{title}</h1>
      <p>
        From now on you are <strong>{email}</strong> on this grid.
      </p>
      <Form action={`${path}/${encodeURIComponent(param('token'))}`} csrf={csrf}>
        <SubmitButton isWhole>{verb}</SubmitButton>
      </Form>
    </>,
  )
}
