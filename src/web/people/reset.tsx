/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { findEmailLinkUser, resetPassword } from '../../grid/people/email-links.ts'
import { Notice } from '../../html/components.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formErrors } from '../forms.tsx'
import { withNotice } from '../notices.ts'
import type { PageDeps } from '../page-deps.ts'
import type { Pages, PublicVisit } from '../visit.ts'
import { NewPasswordField } from './person-fields.tsx'
import { linkRequestPages } from './request-link.tsx'

const texts = {
  title: 'Choose a new password',
  lead: 'With a link you can choose a new password, even if you have not had one so far.',
}

/** Resetting the password with an email link. */
export function resetPages(pages: Pages<PublicVisit>, deps: PageDeps): void {
  const { store, sessions } = deps
  linkRequestPages(pages, deps, { path: '/reset', kind: 'reset', texts })

  const show = async (visit: PublicVisit) => {
    const { email } = await findEmailLinkUser(store, 'reset', visit.param('token'))
    return await newPasswordPage(visit, email)
  }
  pages.get('/reset/:token', show)
  pages.post('/reset/:token', async ({ request, requestId, form, address, param }) => {
    const userId = await resetPassword(store, param('token'), form.get('password') ?? '', requestId)
    return { redirectTo: withNotice('/', 'password-reset'), cookie: await sessions.begin(request, userId, address) }
  }, show)
}

function newPasswordPage(visit: PublicVisit, email: string) {
  const action = `/reset/${encodeURIComponent(visit.param('token'))}`
  const errors = formErrors(visit, action, ['password'])
  return barePage(
    { title: texts.title },
    <>
      <h1>{texts.title}</h1>
      <p>
        For{' '}
        <strong>{email}</strong>. You will be signed out everywhere else, and programs that you authorized will lose
        their access.
      </p>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <Form action={action} csrf={visit.csrf}>
        <NewPasswordField label='New password' email={email} error={errors.password} />
        <SubmitButton isWhole>Save and sign in</SubmitButton>
      </Form>
    </>,
  )
}
