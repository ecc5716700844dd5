/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { acceptInvitation, openInvitation, registerInvited } from '../../grid/people/invitations.ts'
import { Notice } from '../../html/bits.tsx'
import { ButtonLink, Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formFault } from '../faults.ts'
import { saying } from '../notices.ts'
import { NameField, NewPasswordField } from './person-fields.tsx'
import { type OpenVisit, type Pages, signedIn, signInPath } from '../visit.ts'
import type { Web } from '../web.ts'

/** Coming into an account by invitation: as somebody who is known, or as a new person. Security: T6. */
export function invitationPages({ get, post }: Pages<OpenVisit>, { store, sessions }: Web): void {
  const show = async (visit: OpenVisit) => {
    return await ask(visit, await openInvitation(store, visit.param('token')))
  }
  get('/invitations/:token', show)
  post('/invitations/:token', async (visit) => {
    const id = await acceptInvitation(store, visit.param('token'), signedIn(visit), visit.requestId)
    return { goTo: saying(`/accounts/${id}`, 'joined') }
  }, show)
  post('/invitations/:token/register', async ({ request, form, address, requestId, param }) => {
    const input = { name: form.get('name') ?? '', password: form.get('password') ?? '' }
    const { userId, id } = await registerInvited(store, param('token'), input, requestId)
    return {
      goTo: saying(`/accounts/${id}`, 'joined'),
      cookie: await sessions.begin(request, userId, address),
    }
  }, show)
}

function ask(visit: OpenVisit, invitation: Awaited<ReturnType<typeof openInvitation>>) {
  const { account, email, role, invitedBy, hasUser } = invitation
  const { visitor, csrf, request, param } = visit
  const path = `/invitations/${encodeURIComponent(param('token'))}`
  return barePage(
    { title: 'Invitation' },
    <>
      <h1>{account.name}</h1>
      <p>
        {invitedBy} invites <strong>{email}</strong> to this account, as {role}.
      </p>
      {visitor?.user.email === email && (
        <Form action={path} csrf={csrf}>
          <SubmitButton isWhole>Accept the invitation</SubmitButton>
        </Form>
      )}
      {visitor && visitor.user.email !== email && (
        <>
          <Notice kind='warning' title='This invitation is for another address'>
            You are signed in as {visitor.user.email}. Sign out, and open the link again.
          </Notice>
          <Form action='/sign-out' csrf={csrf}>
            <SubmitButton kind='plain' isWhole>Sign out</SubmitButton>
          </Form>
        </>
      )}
      {!visitor && hasUser && (
        <>
          <p>This address has a user already.</p>
          <ButtonLink kind='main-action' href={signInPath(new URL(path, request.url))}>Sign in to accept</ButtonLink>
        </>
      )}
      {!visitor && !hasUser && <Register visit={visit} action={`${path}/register`} email={email} />}
    </>,
  )
}

function Register({ visit, action, email }: { visit: OpenVisit; action: string; email: string }) {
  const fault = formFault(visit, action, ['name', 'password'])
  return (
    <>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Form action={action} csrf={visit.csrf}>
        <NameField value={visit.form.get('name') ?? ''} error={fault.name} isFocused />
        <NewPasswordField email={email} error={fault.password} />
        <SubmitButton isWhole>Join the account</SubmitButton>
      </Form>
    </>
  )
}
