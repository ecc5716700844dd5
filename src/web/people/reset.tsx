/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { openMailedLink, resetPassword } from '../../grid/people/email-links.ts'
import { Notice } from '../../html/bits.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { askPages } from './ask-for-link.tsx'
import { formFault } from '../faults.ts'
import { saying } from '../notices.ts'
import { NewPasswordField } from './person-fields.tsx'
import type { OpenVisit, Pages } from '../visit.ts'
import type { Web } from '../web.ts'

const words = {
  title: 'Choose a new password',
  lead: 'We send you a link with which you choose a new password. It also gives one to people who never had one.',
  button: 'Mail me a link',
}

/** Choosing a new password by a mailed link. */
export function resetPages(pages: Pages<OpenVisit>, web: Web): void {
  const { store, sessions } = web
  askPages(pages, web, { path: '/reset', kind: 'reset', words })

  const show = async (visit: OpenVisit) => {
    const { email } = await openMailedLink(store, 'reset', visit.param('token'))
    return await choose(visit, email)
  }
  pages.get('/reset/:token', show)
  pages.post('/reset/:token', async ({ request, requestId, form, address, param }) => {
    const userId = await resetPassword(store, param('token'), form.get('password') ?? '', requestId)
    return { goTo: saying('/', 'password-reset'), cookie: await sessions.begin(request, userId, address) }
  }, show)
}

function choose(visit: OpenVisit, email: string) {
  const action = `/reset/${encodeURIComponent(visit.param('token'))}`
  const fault = formFault(visit, action, ['password'])
  return barePage(
    { title: words.title },
    <>
      <h1>{words.title}</h1>
      <p>
        For{' '}
        <strong>{email}</strong>. You are signed out everywhere else, and programs that you let act for you have to be
        let in again.
      </p>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Form action={action} csrf={visit.csrf}>
        <NewPasswordField label='New password' email={email} error={fault.password} />
        <SubmitButton isWhole>Save and sign in</SubmitButton>
      </Form>
    </>,
  )
}
