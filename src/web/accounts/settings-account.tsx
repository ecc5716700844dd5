/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { createAdminKey, deleteAdminKey, renameAccount, requireSecondFactor } from '../../grid/accounts/accounts.ts'
import { deleteAccount } from '../../grid/accounts/deletion.ts'
import { listGrants, revokeGrant } from '../../grid/oauth/grants.ts'
import { Card, Facts } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { CopyText } from '../../html/secrets.tsx'
import { PageForm, SwitchForm } from '../forms.tsx'
import { type NoticeCode, withNotice } from '../notices.ts'
import { AccountPrograms } from '../oauth/programs.tsx'
import type { AccountPages, PageDeps, Visit } from '../visit.ts'
import { settingsPage, settingsPath } from '../settings.tsx'
import { AdminAccess, type CreatedKey } from './admin-access.tsx'
import { conversationActions, TurnLimitsCard } from './conversations.tsx'
import { ContentsCard, PeopleReadCard, readingActions } from './reading-cards.tsx'
import { UsageCard } from './usage-card.tsx'

/**
 * The account itself, and the admin keys and programs with access to it. See docs/protocol/README.md, "Admin keys", and
 * docs/protocol/oauth.md, "Grants".
 */
export function accountSettingsPages({ get, post, may }: AccountPages, deps: PageDeps): void {
  const show = (visit: Visit, createdKey?: CreatedKey) => showAccountSettings(visit, deps, createdKey)
  const done = (visit: Visit, notice: NoticeCode) => visit.done(notice, 'settings', 'account')

  get('/settings/account', async (visit) => {
    const created = await visit.takeShown<CreatedKey>()
    if (created === 'shown') return done(visit, 'admin-key-shown')
    return await show(visit, created)
  })
  may('own').post('/settings/account/name', async (visit) => {
    const name = visit.form.get('name') ?? ''
    await visit.record('rename_account', { name }, (account) => renameAccount(account, { name }))
    return done(visit, 'account-renamed')
  }, (visit) => show(visit))

  may('own').post('/settings/account/second-factor', async (visit) => {
    const input = { isRequired: visit.form.get('required') === 'yes' }
    await visit.record('require_second_factor', input, (account) => requireSecondFactor(account, input))
    return done(visit, 'saved')
  }, (visit) => show(visit))

  may('own').post('/settings/account/delete', async (visit) => {
    const name = visit.form.get('confirmation') ?? ''
    await visit.record('delete_account', {}, (account) => deleteAccount(account, { name }))
    return { redirectTo: withNotice('/new-account', 'account-deleted') }
  }, (visit) => show(visit))

  conversationActions({ get, post }, show)
  readingActions(may('own'), show)

  post('/settings/account/keys', async (visit) => {
    const name = visit.form.get('name') ?? ''
    const { adminKey } = await visit.record('create_admin_key', { name }, (account) => createAdminKey(account, name))
    return await visit.showOnce(settingsPath(visit, 'account'), { name: name.trim(), key: adminKey })
  }, (visit) => show(visit))
  get('/settings/account/keys', (visit) => ({ redirectTo: settingsPath(visit, 'account') }))
  post('/settings/account/keys/:key/delete', async (visit) => {
    const id = visit.param('key')
    await visit.record('delete_admin_key', { id }, (account) => deleteAdminKey(account, id))
    return done(visit, 'key-deleted')
  })
  post('/settings/account/programs/:grant/end', async (visit) => {
    const id = visit.param('grant')
    await visit.record('revoke_grant', { id }, (account) => revokeGrant(account, id))
    return done(visit, 'grant-ended')
  })
}

/** The page. `createdKey` is shown on it once. */
export async function showAccountSettings(visit: Visit, deps: PageDeps, createdKey?: CreatedKey): Promise<Response> {
  const { config, now } = visit.account.deps
  const { keys, profile, team, turns } = visit.account.read
  const [manages, owns] = [visit.may('manage'), visit.may('own')]
  const [adminKeys, members, grants, limits, since, isVisible, usage, signInCards, featureCards] = await Promise.all([
    manages ? keys.adminKeys() : [],
    manages ? team.members() : [],
    manages ? listGrants(visit.account) : undefined,
    turns.limits(),
    profile.peopleReadSince(),
    profile.showsContents(),
    UsageCard({ visit }),
    Promise.all(visit.features.map(({ cards }) => cards?.accountSignIn?.(visit))),
    Promise.all(visit.features.map(({ cards }) => cards?.account?.(visit, deps))),
  ])
  return await settingsPage(
    visit,
    'account',
    <>
      <NameCard visit={visit} />
      {usage}
      <SecondFactorCard visit={visit} />
      {signInCards}
      <TurnLimitsCard visit={visit} limits={limits} />
      <PeopleReadCard visit={visit} since={since} />
      <ContentsCard visit={visit} isVisible={isVisible} />
      <AdminAccess
        visit={visit}
        adminKeys={{ keys: adminKeys, members }}
        createdKey={createdKey}
        baseUrl={config.appUrl}
        now={now()}
      />
      {grants && <AccountPrograms visit={visit} grants={grants} now={now()} />}
      {featureCards}
      {owns && <DeleteAccountCard visit={visit} />}
    </>,
  )
}

function NameCard({ visit }: { visit: Visit }) {
  const { membership } = visit
  return (
    <Card title='Account'>
      {visit.may('own')
        ? (
          <PageForm visit={visit} action={settingsPath(visit, 'account', 'name')} fields={['name']}>
            <TextInput name='name' label='Name' value={membership.name} maxLength={80} isRequired />
            <SubmitRow>Rename account</SubmitRow>
          </PageForm>
        )
        : <p class='soft'>Owners of the account can rename it.</p>}
      <Facts
        items={[
          ...(visit.may('own') ? [] : [['Name', membership.name] as [string, string]]),
          ['Your role', membership.role],
          ['Id', <CopyText id='account-id' label='the id of the account' text={membership.id} />],
        ]}
      />
    </Card>
  )
}

/** It asks for the name of the account. */
function DeleteAccountCard({ visit }: { visit: Visit }) {
  return (
    <Card
      title='Delete this account'
      isDanger
      lead='At once no one reaches its agents, keys and pages, and tasks that wait for its agents fail. For 7 days an owner can bring it back under “New account”; then everything in it is removed.'
    >
      <PageForm visit={visit} acts action={settingsPath(visit, 'account', 'delete')} fields={['confirmation']}>
        <TextInput
          name='confirmation'
          id='delete-confirmation'
          label='Name of the account, to confirm'
          maxLength={80}
          isRequired
        />
        <SubmitRow kind='danger'>Delete account</SubmitRow>
      </PageForm>
    </Card>
  )
}

/** Whether owners and admins need a second factor. See docs/security.md, "Signing in". */
function SecondFactorCard({ visit }: { visit: Visit }) {
  const { requiresSecondFactor } = visit.membership
  return (
    <Card title='Second factor' lead='A passkey, or the code of an authenticator app after the password or email link.'>
      <p>
        {requiresSecondFactor
          ? 'Owners and admins of this account must have one.'
          : 'Owners and admins of this account do not have to have one.'}
      </p>
      {visit.may('own') && (
        <SwitchForm
          visit={visit}
          action={settingsPath(visit, 'account', 'second-factor')}
          name='required'
          isOn={requiresSecondFactor}
          turnOn='Require it'
          turnOff='Do not require it'
        />
      )}
    </Card>
  )
}
