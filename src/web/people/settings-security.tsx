/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { allows } from '../../auth/actor.ts'
import { addPasskey, hasPasskeys, passkeyOptions, removePasskey } from '../../grid/people/passkeys.ts'
import {
  beginTotp,
  finishTotp,
  isProtected,
  listSecondFactors,
  pendingTotp,
  removeTotp,
  replaceRecoveryCodes,
  type SecondFactors,
} from '../../grid/people/second-factor.ts'
import { Badge, Card, EmptyState, Notice, Time } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { ButtonLink, Form, PasskeyForm, SubmitRow } from '../../html/form.tsx'
import { ConfirmDelete, CopyBlock, QrCode, SecretDialog } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import { formErrors, PageForm, Refusal } from '../forms.tsx'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { PageDeps, Pages, Visit } from '../visit.ts'
import { describeBrowser } from './settings-sessions.tsx'

/** The user's second factor, which is the same in all accounts. See docs/people.md, "Signing in". */
export function securityPages(pages: Pages<Visit>, deps: PageDeps): void {
  const { get, post } = pages
  const { store } = deps
  const path = (visit: Visit, ...action: string[]) => settingsPath(visit, 'security', ...action)
  const show = async (visit: Visit, codes?: string[]) => {
    const factors = await listSecondFactors(store, visit.actor.userId)
    return await settingsPage(
      visit,
      'security',
      <>
        {codes && <CodesDialog codes={codes} />}
        {visit.inputError && <Refusal visit={visit}>{visit.inputError.message}</Refusal>}
        <DemandNotice visit={visit} factors={factors} />
        <PasskeysCard visit={visit} factors={factors} isPossible={hasPasskeys(store)} />
        <TotpCard visit={visit} factors={factors} />
        <CodesCard visit={visit} factors={factors} />
        {await Promise.all(deps.features.map(({ security }) => security?.card(visit, deps)))}
      </>,
    )
  }
  const added = async (visit: Visit, codes: string[] | undefined, notice: 'passkey-added' | 'totp-added') =>
    codes ? await visit.showOnce(path(visit), codes) : visit.done(notice, 'settings', 'security')
  const toSecurity = (visit: Visit) => ({ redirectTo: path(visit) })
  const showPage = (visit: Visit) => show(visit)

  get('/settings/security', async (visit) => {
    const codes = await visit.takeShown<string[]>()
    if (codes === 'shown') return visit.done('codes-shown', 'settings', 'security')
    return await show(visit, codes)
  })

  for (const { security } of deps.features) security?.forms(pages, deps, showPage)

  const newPasskey = async (visit: Visit) =>
    await newPasskeyPage(visit, await passkeyOptions(store, visit.csrf, visit.visitor))
  get('/settings/security/passkeys/new', newPasskey)
  get('/settings/security/passkeys', toSecurity)
  post('/settings/security/passkeys', async (visit) => {
    const { form, csrf, visitor } = visit
    const input = { name: form.get('name') ?? '', answer: form.get('passkey') ?? '' }
    return await added(visit, await addPasskey(store, csrf, visitor, input), 'passkey-added')
  }, newPasskey)
  post('/settings/security/passkeys/:passkey/remove', async (visit) => {
    await removePasskey(store, visit.visitor, visit.param('passkey'))
    return visit.done('passkey-removed', 'settings', 'security')
  })

  const totpSetUp = async (visit: Visit) => await totpPage(visit, await pendingTotp(store, visit.visitor))
  post('/settings/security/totp', async (visit) => {
    await beginTotp(store, visit.visitor)
    return { redirectTo: path(visit, 'totp') }
  }, showPage)
  get('/settings/security/totp', totpSetUp)
  get('/settings/security/totp/finish', toSecurity)
  post('/settings/security/totp/finish', async (visit) => {
    const { form, visitor, address } = visit
    return await added(visit, await finishTotp(store, visitor, form.get('code') ?? '', address), 'totp-added')
  }, totpSetUp)
  post('/settings/security/totp/remove', async (visit) => {
    await removeTotp(store, visit.visitor)
    return visit.done('totp-removed', 'settings', 'security')
  })

  get('/settings/security/recovery-codes', toSecurity)
  post(
    '/settings/security/recovery-codes',
    async (visit) => await visit.showOnce(path(visit), await replaceRecoveryCodes(store, visit.visitor)),
    showPage,
  )
}

function DemandNotice({ visit, factors }: { visit: Visit; factors: SecondFactors }) {
  const { requiresSecondFactor, role } = visit.membership
  if (isProtected(factors) || !requiresSecondFactor || !allows(role, 'manage')) return null
  return (
    <Notice kind='warning' title='This account requires a second factor'>
      Its owners and admins need a passkey or an authenticator app. Add one to continue.
    </Notice>
  )
}

function PasskeysCard(
  { visit, factors: { passkeys }, isPossible }: { visit: Visit; factors: SecondFactors; isPossible: boolean },
) {
  const now = visit.account.deps.now()
  return (
    <Card
      title='Passkeys'
      lead='A passkey is on your device or in your password manager, and signs you in without a password.'
    >
      {passkeys.length === 0
        ? <EmptyState icon='key' title='No passkeys'>You sign in with a password or an email link.</EmptyState>
        : (
          <Table
            id='passkeys'
            caption='Your passkeys'
            rows={passkeys}
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Added', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
              {
                title: 'Last used',
                cell: ({ lastUsedAt }) => <Time at={lastUsedAt} now={now} />,
              },
              {
                title: 'Remove',
                isUntitled: true,
                cell: ({ id, name }) => (
                  <ConfirmDelete
                    action={settingsPath(visit, 'security', 'passkeys', id, 'remove')}
                    label='Remove'
                    isSmall
                    question={
                      <>
                        Remove <strong>{name}</strong>? You can no longer sign in with it.
                      </>
                    }
                  />
                ),
              },
            ]}
          />
        )}
      {isPossible
        ? (
          <div class='row'>
            <ButtonLink href={settingsPath(visit, 'security', 'passkeys', 'new')}>Add a passkey</ButtonLink>
          </div>
        )
        : <p class='soft'>Passkeys need this grid to have a host name and HTTPS.</p>}
    </Card>
  )
}

function newPasskeyPage(visit: Visit, options: string) {
  const action = settingsPath(visit, 'security', 'passkeys')
  const errors = formErrors(visit, action, ['name', 'passkey'])
  return settingsPage(
    visit,
    'security',
    <Card title='Add a passkey' lead='Your browser asks where to keep it, and how to unlock it.'>
      {errors.rest && <Refusal visit={visit}>{errors.rest}</Refusal>}
      <PasskeyForm action={action} use='create' options={options} error={errors.passkey}>
        <TextInput
          name='name'
          label='Name'
          hint='A name that you recognize, such as “laptop”.'
          value={visit.form.get('name') ?? describeBrowser(visit.request.headers.get('user-agent') ?? '')}
          error={errors.name}
          maxLength={80}
          isRequired
        />
        <SubmitRow cancel={settingsPath(visit, 'security')}>Add passkey</SubmitRow>
      </PasskeyForm>
    </Card>,
    'New passkey',
  )
}

function TotpCard({ visit, factors: { hasTotp } }: { visit: Visit; factors: SecondFactors }) {
  return (
    <Card
      title='Authenticator app'
      lead='An app on your phone shows a code of six digits, which you enter after your password or email link.'
      actions={hasTotp ? <Badge kind='good'>set up</Badge> : <Badge>not set up</Badge>}
    >
      {hasTotp
        ? (
          <ConfirmDelete
            action={settingsPath(visit, 'security', 'totp', 'remove')}
            label='Remove app'
            question='Remove the authenticator app? Its codes are no longer accepted.'
          />
        )
        : (
          <Form action={settingsPath(visit, 'security', 'totp')}>
            <SubmitRow kind='plain'>Set up an app</SubmitRow>
          </Form>
        )}
    </Card>
  )
}

function totpPage(visit: Visit, { secret, uri }: { secret: string; uri: string }) {
  const action = settingsPath(visit, 'security', 'totp', 'finish')
  return settingsPage(
    visit,
    'security',
    <Card title='Set up an authenticator app' lead='Scan this with the app, or enter the secret by hand.'>
      <QrCode text={uri} label='QR code with the secret' />
      <CopyBlock id='secret-text' label='Secret' text={secret.replace(/.{4}(?!$)/g, '$& ')} wraps />
      <p>
        On this device, <a href={uri}>open the app</a>.
      </p>
      <PageForm visit={visit} acts action={action} fields={['code']}>
        <TextInput
          name='code'
          label='Code'
          hint='The six digits that the app shows now.'
          autocomplete='one-time-code'
          maxLength={10}
          isMono
          isRequired
          isFocused
        />
        <SubmitRow cancel={settingsPath(visit, 'security')}>Finish</SubmitRow>
      </PageForm>
    </Card>,
    'New authenticator app',
  )
}

function CodesCard({ visit, factors }: { visit: Visit; factors: SecondFactors }) {
  if (!isProtected(factors)) return null
  const { codesLeft } = factors
  return (
    <Card
      title='Recovery codes'
      lead='Each signs you in once, if you have lost your other second factors.'
      actions={<Badge kind={codesLeft < 3 ? 'warning' : 'plain'}>{codesLeft} left</Badge>}
    >
      <Form action={settingsPath(visit, 'security', 'recovery-codes')}>
        <p class='soft'>New codes replace the old ones.</p>
        <SubmitRow kind='plain'>Make new codes</SubmitRow>
      </Form>
    </Card>
  )
}

function CodesDialog({ codes }: { codes: string[] }) {
  return (
    <SecretDialog title='Your recovery codes' label='Recovery codes' secret={codes.join('\n')}>
      <p>Keep them where you find them without your devices. Each works once, instead of your second factor.</p>
    </SecretDialog>
  )
}
