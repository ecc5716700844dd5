/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { requestVerification } from '../../grid/people/email-links.ts'
import { changePassword, requestEmailChange, setShortcuts, setUserName } from '../../grid/people/profile.ts'
import { findSeat, type Seat, suggestAlias } from '../../grid/people/seats.ts'
import { Badge, Card, Facts, Notice } from '../../html/components.tsx'
import { Form, PasswordInput, SubmitRow, TextInput } from '../../html/form.tsx'
import { formErrors, readChoice } from '../forms.tsx'
import { type NoticeCode, withNotice } from '../notices.ts'
import type { PageDeps } from '../page-deps.ts'
import { settingsPage, settingsPath } from '../settings.tsx'
import { utc } from '../../lib/time.ts'
import type { Pages, Visit } from '../visit.ts'
import { aliasActions, AliasCard } from './alias-card.tsx'
import { EmailNote } from './email-note.tsx'
import { NameField, NewPasswordField } from './person-fields.tsx'

/** The user's own profile. It is the same in all accounts, apart from the alias. */
export function profilePages({ get, post }: Pages<Visit>, deps: PageDeps): void {
  const { store, sessions } = deps
  const show = async (visit: Visit) => {
    const user = await store.global.users.byId(visit.actor.userId)
    return await page(visit, deps, {
      hasPassword: user?.passwordHash !== null,
      seat: await findSeat(visit.account),
      suggestion: visit.may('use') ? await suggestAlias(visit.account) : '',
    })
  }
  const path = (visit: Visit) => settingsPath(visit, 'profile')
  const sent = (notice: NoticeCode) => store.deps.email.isConfigured ? notice : 'link-logged'

  get('/settings/profile', show)
  aliasActions({ get, post }, show)
  post('/settings/profile/name', async (visit) => {
    await setUserName(store, visit.actor.userId, visit.form.get('name') ?? '')
    return { redirectTo: withNotice(path(visit), 'name-changed') }
  }, show)
  post('/settings/profile/keyboard', async (visit) => {
    const on = readChoice(visit.form, 'keys', ['on', 'off']) !== 'off'
    await setShortcuts(store, visit.actor.userId, on)
    return { redirectTo: withNotice(path(visit), on ? 'shortcuts-on' : 'shortcuts-off') }
  }, show)
  post('/settings/profile/verify', async (visit) => {
    await requestVerification(store, visit.visitor.user, visit.address)
    return { redirectTo: withNotice(path(visit), sent('verification-sent')) }
  }, show)
  post('/settings/profile/email', async (visit) => {
    const { form, actor, address } = visit
    const input = { email: form.get('email') ?? '', current: form.get('current') ?? '' }
    await requestEmailChange(store, actor.userId, input, address)
    return { redirectTo: withNotice(path(visit), sent('new-address-sent')) }
  }, show)
  post('/settings/profile/password', async (visit) => {
    const { request, form, actor, address, visitor: { user, confirmedAt } } = visit
    const input = { current: form.get('current') ?? '', password: form.get('password') ?? '' }
    await changePassword(store, actor.userId, input, address)
    return {
      redirectTo: withNotice(path(visit), 'password-changed'),
      // As much as the session before: the password alone proves nothing more about a user with a second factor.
      cookie: await sessions.begin(request, actor.userId, address, {
        hasSecondFactor: user.hasSecondFactor,
        confirmedAt,
      }),
    }
  }, show)
}

function page(
  visit: Visit,
  deps: PageDeps,
  { hasPassword, seat, suggestion }: { hasPassword: boolean; seat: Seat | undefined; suggestion: string },
) {
  return settingsPage(
    visit,
    'profile',
    <>
      <NameCard visit={visit} />
      <AliasCard visit={visit} seat={seat} suggestion={suggestion} />
      <KeyboardCard visit={visit} />
      <TimeZoneCard visit={visit} />
      <AddressCard visit={visit} deps={deps} hasPassword={hasPassword} />
      <PasswordCard visit={visit} hasPassword={hasPassword} />
    </>,
  )
}

function NameCard({ visit }: { visit: Visit }) {
  const { visitor: { user }, csrf, form } = visit
  const action = settingsPath(visit, 'profile', 'name')
  const errors = formErrors(visit, action, ['name'])
  return (
    <Card title='Your name' lead='The members of your accounts can see it.'>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <Form action={action} csrf={csrf}>
        <NameField
          label='Name'
          value={errors.name || errors.rest ? form.get('name') ?? '' : user.name}
          error={errors.name}
        />
        <SubmitRow>Save name</SubmitRow>
      </Form>
    </Card>
  )
}

/** In which zone times are shown, and what ends tomorrow ends. */
function TimeZoneCard({ visit: { timeZone } }: { visit: Visit }) {
  return (
    <Card title='Time zone'>
      <p>
        Times of the day are in <strong>{timeZone}</strong>, and so is what you snooze until tomorrow.{' '}
        {timeZone === utc ? 'That is so until a browser tells its own, which needs script.' : 'Your browser says so.'}
      </p>
    </Card>
  )
}

/** Users who speak to their computer, or press keys by accident, turn them off. See WCAG 2.2, "Character Key Shortcuts". */
function KeyboardCard({ visit }: { visit: Visit }) {
  const action = settingsPath(visit, 'profile', 'keyboard')
  const { shortcuts } = visit.visitor.user
  const refused = formErrors(visit, action, []).rest
  return (
    <Card id='keyboard' title='Keyboard' lead='Single keys open, answer and mark what you read.'>
      {refused && <Notice kind='bad'>{refused}</Notice>}
      <p>
        Single keys are {shortcuts ? 'on' : 'off'}. They never do anything while you type in a field.
        {shortcuts && ' Press ? to see them.'}
      </p>
      <Form action={action} csrf={visit.csrf}>
        <input type='hidden' name='keys' value={shortcuts ? 'off' : 'on'} />
        <SubmitRow kind='plain'>{shortcuts ? 'Turn single keys off' : 'Turn single keys on'}</SubmitRow>
      </Form>
    </Card>
  )
}

function AddressCard({ visit, deps, hasPassword }: { visit: Visit; deps: PageDeps; hasPassword: boolean }) {
  const { visitor: { user }, csrf, form } = visit
  const action = settingsPath(visit, 'profile', 'email')
  const verify = settingsPath(visit, 'profile', 'verify')
  const errors = formErrors(visit, action, ['email', 'current'])
  const refused = formErrors(visit, verify, []).rest ?? errors.rest
  const isVerified = user.emailVerifiedAt !== null
  return (
    <Card title='Email' lead='You sign in with this address. Links and invitations are sent to it.'>
      {refused && <Notice kind='bad'>{refused}</Notice>}
      <Facts
        items={[[
          'Address',
          <>
            {user.email}{' '}
            <Badge kind={isVerified ? 'good' : 'warning'}>{isVerified ? 'verified' : 'not verified'}</Badge>
          </>,
        ]]}
      />
      {!isVerified && (
        <Form action={verify} csrf={csrf}>
          <p>To accept invitations and claim agents, you need a verified address.</p>
          <SubmitRow kind='plain'>Email me a verification link</SubmitRow>
        </Form>
      )}
      <EmailNote deps={deps} />
      {!hasPassword
        ? <p class='soft'>To change the address, set a password first.</p>
        : (
          <Form action={action} csrf={csrf}>
            <TextInput
              name='email'
              type='email'
              label='New address'
              hint='We will send a link to this address. Your address changes when you open the link.'
              value={errors.email || errors.current || errors.rest ? form.get('email') ?? '' : ''}
              error={errors.email}
              autocomplete='email'
              isRequired
            />
            <PasswordInput
              name='current'
              id='email-current'
              label='Your password'
              error={errors.current}
              autocomplete='current-password'
              isRequired
            />
            <SubmitRow>Change address</SubmitRow>
          </Form>
        )}
    </Card>
  )
}

function PasswordCard({ visit, hasPassword }: { visit: Visit; hasPassword: boolean }) {
  const action = settingsPath(visit, 'profile', 'password')
  const errors = formErrors(visit, action, ['current', 'password'])
  if (!hasPassword) {
    return (
      <Card title='Password' lead='You have no password and sign in by email link.'>
        <p>
          <a href='/reset'>Email me a link to set a password</a>
        </p>
      </Card>
    )
  }
  return (
    <Card title='Password' lead='Changing it signs you out everywhere else.'>
      <p class='soft'>
        Programs that you authorized stay signed in. You can disconnect them under{' '}
        <a href={settingsPath(visit, 'sessions')}>Sessions</a>.
      </p>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <Form action={action} csrf={visit.csrf}>
        <PasswordInput
          name='current'
          label='Current password'
          error={errors.current}
          autocomplete='current-password'
          isRequired
        />
        <NewPasswordField label='New password' error={errors.password} />
        <SubmitRow>Change password</SubmitRow>
      </Form>
    </Card>
  )
}
