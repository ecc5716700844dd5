/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { servicesFor } from '../../grid/guardrails/consents.ts'
import { changePassword, requestEmailChange, setShortcuts, setUserName } from '../../grid/people/profile.ts'
import { findPersonAlias, type PersonAlias, suggestAlias } from '../../grid/people/person-aliases.ts'
import { sendVerificationLink } from '../../grid/people/send-email.ts'
import { Badge, Card, Disclosure, Facts } from '../../html/components.tsx'
import { ChoiceList, PasswordInput, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { serializeCookie } from '../../lib/http/cookies.ts'
import { day, utc } from '../../lib/time.ts'
import { PageForm, readChoice } from '../forms.tsx'
import { type NoticeCode, withNotice } from '../notices.ts'
import { settingsPage, settingsPath } from '../settings.tsx'
import { themeCookie, themeOf, themes } from '../theme.ts'
import type { AccountPages, PageDeps, Visit } from '../visit.ts'
import { aliasActions, AliasCard } from './alias-card.tsx'
import { ApprovalsCard, serviceActions, ServicesCard, type TextServices } from './services-card.tsx'
import { EmailNote, NameField, NewPasswordField } from './person-fields.tsx'

/** The user's own profile. It is the same in all accounts, except for the alias. */
export function profilePages(pages: AccountPages, deps: PageDeps): void {
  const { get, post } = pages
  const { store, sessions } = deps
  const show = async (visit: Visit) => {
    const [user, personAlias] = await Promise.all([
      store.global.users.byId(visit.actor.userId),
      findPersonAlias(visit.account),
    ])
    const [services, suggestion] = await Promise.all([
      personAlias ? servicesFor(visit.account, personAlias.agentId) : [],
      personAlias || !visit.may('use') ? '' : suggestAlias(visit.account, visit.visitor.user),
    ])
    return await page(visit, deps, { hasPassword: user?.passwordHash !== null, personAlias, services, suggestion })
  }
  const path = (visit: Visit) => settingsPath(visit, 'profile')
  const sent = (notice: NoticeCode) => store.deps.email.isConfigured ? notice : 'link-logged'

  get('/settings/profile', show)
  aliasActions(pages, show)
  serviceActions(pages, show)
  post('/settings/profile/name', async (visit) => {
    await setUserName(store, visit.actor.userId, visit.form.get('name') ?? '')
    return visit.done('name-changed', 'settings', 'profile')
  }, show)
  post('/settings/profile/keyboard', async (visit) => {
    const on = readChoice(visit.form, 'keys', ['on', 'off']) !== 'off'
    await setShortcuts(store, visit.actor.userId, on)
    return visit.done(on ? 'shortcuts-on' : 'shortcuts-off', 'settings', 'profile')
  }, show)
  post('/settings/profile/theme', (visit) => {
    const theme = readChoice(visit.form, 'theme', themes) ?? 'system'
    const isSecure = store.deps.config.appUrl.startsWith('https:')
    const maxAgeMs = theme === 'system' ? 0 : 365 * day
    return {
      redirectTo: withNotice(path(visit), 'theme-chosen'),
      cookie: serializeCookie(themeCookie, theme, { isSecure, maxAgeMs }),
    }
  }, show)
  post('/settings/profile/verify', async (visit) => {
    await sendVerificationLink(store, visit.visitor.user, visit.address)
    return visit.done(sent('verification-sent'), 'settings', 'profile')
  }, show)
  post('/settings/profile/email', async (visit) => {
    const { form, actor, address } = visit
    const input = { email: form.get('email') ?? '', current: form.get('current') ?? '' }
    await requestEmailChange(store, actor.userId, input, address)
    return visit.done(sent('new-address-sent'), 'settings', 'profile')
  }, show)
  post('/settings/profile/password', async (visit) => {
    const { request, form, actor, address, visitor: { user, confirmedAt, onlyAccount, identity } } = visit
    const input = { current: form.get('current') ?? '', password: form.get('password') ?? '' }
    await changePassword(store, actor.userId, input, address)
    return {
      redirectTo: withNotice(path(visit), 'password-changed'),
      // The new session proves no more than the previous one, because a password does not replace the second factor.
      cookie: await sessions.begin(request, actor.userId, address, {
        hasSecondFactor: user.hasSecondFactor,
        confirmedAt,
        onlyAccount,
        identity,
      }),
    }
  }, show)
}

function page(
  visit: Visit,
  deps: PageDeps,
  { hasPassword, personAlias, services, suggestion }: {
    hasPassword: boolean
    personAlias: PersonAlias | undefined
    services: TextServices
    suggestion: string
  },
) {
  return settingsPage(
    visit,
    'profile',
    <>
      <NameCard visit={visit} />
      <AliasCard visit={visit} personAlias={personAlias} suggestion={suggestion} />
      {services.length > 1 && <ServicesCard visit={visit} services={services} />}
      {services.length > 0 && <ApprovalsCard visit={visit} services={services} />}
      <DisplayCard visit={visit} />
      <AddressCard visit={visit} deps={deps} hasPassword={hasPassword} />
      <PasswordCard visit={visit} hasPassword={hasPassword} />
    </>,
  )
}

function NameCard({ visit }: { visit: Visit }) {
  return (
    <Card title='Your name' lead='The members of your accounts can see it.'>
      <PageForm visit={visit} action={settingsPath(visit, 'profile', 'name')} fields={['name']}>
        <NameField label='Name' value={visit.visitor.user.name} />
        <SubmitRow>Save name</SubmitRow>
      </PageForm>
    </Card>
  )
}

function DisplayCard({ visit }: { visit: Visit }) {
  const { timeZone } = visit
  const { shortcuts } = visit.visitor.user
  const titles = { system: 'As on this device', light: 'Light', dark: 'Dark' }
  return (
    <Card title='Display and keyboard'>
      <PageForm visit={visit} action={settingsPath(visit, 'profile', 'theme')} fields={['theme']}>
        <ChoiceList
          name='theme'
          label='Theme of this browser'
          options={themes.map((value) => ({ value, title: titles[value] }))}
          values={[themeOf(visit.request)]}
        />
        <SubmitRow kind='plain'>Save theme</SubmitRow>
      </PageForm>
      <div class='stack tight part' id='keyboard'>
        <h3>Single keys</h3>
        <p class='soft'>
          {shortcuts ? 'On' : 'Off'}. They open, answer and mark messages, and do nothing while you type in a field.
          {shortcuts && ' Press ? to see them.'}
        </p>
        {
          // Users can turn single keys off: speech input can trigger them. See WCAG 2.2, "Character Key Shortcuts".
        }
        <PageForm visit={visit} action={settingsPath(visit, 'profile', 'keyboard')} acts>
          <input type='hidden' name='keys' value={shortcuts ? 'off' : 'on'} />
          <SubmitRow kind='plain'>{shortcuts ? 'Turn single keys off' : 'Turn single keys on'}</SubmitRow>
        </PageForm>
      </div>
      <div class='stack tight part'>
        <h3>Time zone</h3>
        <p class='soft'>
          Times of the day are in <strong>{timeZone}</strong>, also for “until tomorrow”.{' '}
          {timeZone === utc ? 'A browser with scripts sets its own zone.' : 'Your browser set it.'}
        </p>
      </div>
    </Card>
  )
}

function AddressCard({ visit, deps, hasPassword }: { visit: Visit; deps: PageDeps; hasPassword: boolean }) {
  const { user } = visit.visitor
  const isVerified = user.emailVerifiedAt !== null
  const changeEmail = settingsPath(visit, 'profile', 'email')
  return (
    <Card title='Email' lead='You sign in with this address. Links and invitations are sent to it.'>
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
        <PageForm visit={visit} acts action={settingsPath(visit, 'profile', 'verify')}>
          <p>To accept invitations and claim agents, you need a verified address.</p>
          <SubmitRow kind='plain'>Email me a verification link</SubmitRow>
        </PageForm>
      )}
      <EmailNote deps={deps} />
      {!hasPassword
        ? <p class='soft'>To change the address, set a password first.</p>
        : (
          <Disclosure title='Change the address' isOpen={isRefused(visit, changeEmail)}>
            <PageForm visit={visit} acts action={changeEmail} fields={['email', 'current']}>
              <TextInput
                name='email'
                type='email'
                label='New address'
                hint='We will send a link to this address. Your address changes when you open the link.'
                autocomplete='email'
                isRequired
              />
              <PasswordInput
                name='current'
                id='email-current'
                label='Your password'
                autocomplete='current-password'
                isRequired
              />
              <SubmitRow>Change address</SubmitRow>
            </PageForm>
          </Disclosure>
        )}
    </Card>
  )
}

function PasswordCard({ visit, hasPassword }: { visit: Visit; hasPassword: boolean }) {
  if (!hasPassword) {
    return (
      <Card title='Password' lead='You have no password and sign in by email link.'>
        <p>
          <a href='/reset'>Email me a link to set a password</a>
        </p>
      </Card>
    )
  }
  const action = settingsPath(visit, 'profile', 'password')
  return (
    <Card title='Password'>
      <p class='soft'>
        Changing it signs you out everywhere else. Programs that you authorized stay signed in; disconnect them under
        {' '}
        <a href={settingsPath(visit, 'sessions')}>Sessions</a>.
      </p>
      <Disclosure title='Change the password' isOpen={isRefused(visit, action)}>
        <PageForm visit={visit} acts action={action} fields={['current', 'password']}>
          <PasswordInput
            name='current'
            label='Current password'
            autocomplete='current-password'
            isRequired
          />
          <NewPasswordField label='New password' />
          <SubmitRow>Change password</SubmitRow>
        </PageForm>
      </Disclosure>
    </Card>
  )
}

/** Whether this page shows the refused form again, with the user's input. */
function isRefused({ inputError, request }: Visit, action: string): boolean {
  return inputError !== undefined && new URL(request.url).pathname === action
}
