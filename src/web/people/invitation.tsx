/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { acceptInvitation, openInvitation, registerInvitedUser } from '../../grid/people/invitations.ts'
import { Name } from '../../html/bidi.tsx'
import { Notice } from '../../html/components.tsx'
import { ButtonForm, ButtonLink, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { homePath } from '../../html/paths.ts'
import { PageForm } from '../forms.tsx'
import { withNotice } from '../notices.ts'
import { type PageDeps, type Pages, type PublicVisit, signInPath, wholly } from '../visit.ts'
import { NameField, NewPasswordField } from './person-fields.tsx'

/** Joins an account by invitation, as an existing or a new user. See docs/people.md, "Signing in". */
export function invitationPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  const show = async (visit: PublicVisit) => {
    return await invitationPage(visit, await openInvitation(store, visit.param('token')))
  }
  get('/invitations/:token', show)
  post('/invitations/:token', async (visit) => {
    const id = await acceptInvitation(store, visit.param('token'), wholly(visit), visit.requestId)
    return { redirectTo: withNotice(homePath(id), 'joined') }
  }, show)
  post('/invitations/:token/register', async ({ request, form, address, requestId, param }) => {
    const input = { name: form.get('name') ?? '', password: form.get('password') ?? '' }
    const { userId, id } = await registerInvitedUser(store, param('token'), input, requestId)
    return {
      redirectTo: withNotice(homePath(id), 'joined'),
      cookie: await sessions.begin(request, userId, address),
    }
  }, show)
}

function invitationPage(visit: PublicVisit, invitation: Awaited<ReturnType<typeof openInvitation>>) {
  const { account, email, role, invitedBy, hasUser, isLinkShown } = invitation
  const { visitor, csrf, request, param } = visit
  const path = `/invitations/${encodeURIComponent(param('token'))}`
  return barePage(
    { title: 'Invitation', csrf },
    <>
      <h1>{account.name}</h1>
      <p>
        <Name text={invitedBy} /> invites <strong>{email}</strong> to this account as {role}.
      </p>
      {visitor && visit.inputError && <Notice kind='bad'>{visit.inputError.message}</Notice>}
      {visitor?.user.email === email && <ButtonForm action={path} isWhole>Accept invitation</ButtonForm>}
      {visitor && visitor.user.email !== email && (
        <>
          <Notice kind='warning' title='This invitation is for another address'>
            You are signed in as {visitor.user.email}. Sign out and open the link again.
          </Notice>
          <ButtonForm action='/sign-out' kind='plain' isWhole>Sign out</ButtonForm>
        </>
      )}
      {!visitor && hasUser && (
        <>
          <p>There is already a user with this address.</p>
          <ButtonLink kind='main-action' href={signInPath(new URL(path, request.url))}>Sign in to accept</ButtonLink>
        </>
      )}
      {!visitor && !hasUser && isLinkShown && (
        <p class='small soft'>
          This link does not prove that the address is yours. To claim agents or create accounts later, verify it first.
        </p>
      )}
      {!visitor && !hasUser && (
        <PageForm visit={visit} acts action={`${path}/register`} fields={['name', 'password']}>
          <NameField isFocused />
          <NewPasswordField email={email} />
          <SubmitButton isWhole>Join account</SubmitButton>
        </PageForm>
      )}
    </>,
  )
}
