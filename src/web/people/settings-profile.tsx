/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { askForVerification } from '../../grid/people/email-links.ts'
import { askForNewEmail, changePassword, setOwnName } from '../../grid/people/own-profile.ts'
import { Badge, Card, Facts, Notice } from '../../html/bits.tsx'
import { Form, PasswordInput, SubmitButton, TextInput } from '../../html/form.tsx'
import { formFault } from '../faults.ts'
import { MailNote } from './email-note.tsx'
import { saying } from '../notices.ts'
import { NameField, NewPasswordField } from './person-fields.tsx'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'
import type { Web } from '../web.ts'

/** What people change about themselves; it holds in all their accounts. */
export function profilePages({ get, post }: Pages<Visit>, web: Web): void {
  const { store, sessions } = web
  const show = async (visit: Visit) => {
    const user = await store.global.users.byId(visit.actor.userId)
    return await page(visit, web, user?.passwordHash !== null)
  }
  const path = (visit: Visit) => settingsPath(visit, 'profile')

  get('/settings/profile', show)
  post('/settings/profile/name', async (visit) => {
    await setOwnName(store, visit.actor.userId, visit.form.get('name') ?? '')
    return { goTo: saying(path(visit), 'name-changed') }
  }, show)
  post('/settings/profile/verify', async (visit) => {
    await askForVerification(store, visit.visitor.user, visit.address)
    return { goTo: saying(path(visit), 'verification-sent') }
  }, show)
  post('/settings/profile/email', async (visit) => {
    const { form, actor, address } = visit
    const input = { email: form.get('email') ?? '', current: form.get('current') ?? '' }
    await askForNewEmail(store, actor.userId, input, address)
    return { goTo: saying(path(visit), 'new-address-sent') }
  }, show)
  post('/settings/profile/password', async (visit) => {
    const { request, form, actor, address } = visit
    const input = { current: form.get('current') ?? '', password: form.get('password') ?? '' }
    await changePassword(store, actor.userId, input, address)
    return {
      goTo: saying(path(visit), 'password-changed'),
      cookie: await sessions.begin(request, actor.userId, address),
    }
  }, show)
}

function page(visit: Visit, web: Web, hasPassword: boolean) {
  return settingsPage(
    visit,
    'profile',
    <>
      <NameCard visit={visit} />
      <AddressCard visit={visit} web={web} hasPassword={hasPassword} />
      <PasswordCard visit={visit} hasPassword={hasPassword} />
    </>,
  )
}

function NameCard({ visit }: { visit: Visit }) {
  const { visitor: { user }, csrf, form } = visit
  const action = settingsPath(visit, 'profile', 'name')
  const fault = formFault(visit, action, ['name'])
  return (
    <Card title='Your name' lead='The people of your accounts see it.'>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Form action={action} csrf={csrf}>
        <NameField
          label='Name'
          value={fault.name ? form.get('name') ?? '' : user.name}
          error={fault.name}
        />
        <div class='row'>
          <SubmitButton>Save name</SubmitButton>
        </div>
      </Form>
    </Card>
  )
}

function AddressCard({ visit, web, hasPassword }: { visit: Visit; web: Web; hasPassword: boolean }) {
  const { visitor: { user }, csrf, form } = visit
  const action = settingsPath(visit, 'profile', 'email')
  const verify = settingsPath(visit, 'profile', 'verify')
  const fault = formFault(visit, action, ['email', 'current'])
  const refused = formFault(visit, verify, []).rest ?? fault.rest
  const isVerified = user.emailVerifiedAt !== null
  return (
    <Card title='E-mail' lead='You sign in with it. Links and invitations are sent there.'>
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
          <p>Invitations and claims are only for verified addresses.</p>
          <div class='row'>
            <SubmitButton kind='plain'>Mail me a link to verify it</SubmitButton>
          </div>
        </Form>
      )}
      <MailNote web={web} />
      {!hasPassword ? <p class='soft'>To change it, choose a password first.</p> : (
        <Form action={action} csrf={csrf}>
          <TextInput
            name='email'
            type='email'
            label='New address'
            hint='We send a link there. Your address changes when you open it.'
            value={fault.email || fault.current ? form.get('email') ?? '' : ''}
            error={fault.email}
            autocomplete='email'
            isRequired
          />
          <PasswordInput
            name='current'
            id='email-current'
            label='Your password'
            error={fault.current}
            autocomplete='current-password'
            isRequired
          />
          <div class='row'>
            <SubmitButton>Change address</SubmitButton>
          </div>
        </Form>
      )}
    </Card>
  )
}

function PasswordCard({ visit, hasPassword }: { visit: Visit; hasPassword: boolean }) {
  const action = settingsPath(visit, 'profile', 'password')
  const fault = formFault(visit, action, ['current', 'password'])
  if (!hasPassword) {
    return (
      <Card title='Password' lead='You have none: you sign in by a mailed link.'>
        <p>
          <a href='/reset'>Mail me a link to choose a password</a>
        </p>
      </Card>
    )
  }
  return (
    <Card title='Password' lead='Changing it signs you out everywhere else.'>
      <p class='soft'>
        Programs that you let act for you stay signed in. They are listed, and ended, under{' '}
        <a href={settingsPath(visit, 'sessions')}>Sessions</a>.
      </p>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Form action={action} csrf={visit.csrf}>
        <PasswordInput
          name='current'
          label='Current password'
          error={fault.current}
          autocomplete='current-password'
          isRequired
        />
        <NewPasswordField label='New password' error={fault.password} />
        <div class='row'>
          <SubmitButton>Change password</SubmitButton>
        </div>
      </Form>
    </Card>
  )
}
