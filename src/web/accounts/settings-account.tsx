/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { requirePermission } from '../../auth/actor.ts'
import { createAdminKey, deleteAdminKey, renameAccount, requireSecondFactor } from '../../grid/accounts/accounts.ts'
import { deleteAccount } from '../../grid/accounts/deletion.ts'
import { revokeGrant } from '../../grid/oauth/grants.ts'
import { Card, Facts } from '../../html/components.tsx'
import { TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { CopyText } from '../../html/secrets.tsx'
import { PageForm, SwitchForm } from '../forms.tsx'
import { type NoticeCode, withNotice } from '../notices.ts'
import { programs } from '../oauth/programs.tsx'
import type { AccountPages, AccountSubject, PageDeps, Visit } from '../visit.ts'
import { settingsPage, settingsPath } from '../settings.tsx'
import { adminAccess, type CreatedKey, showAdminAccess } from './admin-access.tsx'
import { conversationActions, turns } from './conversations.tsx'
import { contents, reading, readingActions } from './reading-cards.tsx'
import { usage } from './usage-card.tsx'

const name: AccountSubject = {
  path: 'name',
  title: 'Account name',
  words: 'rename id role',
  state: ({ membership, may }) => ({ text: membership.name, link: may('own') ? 'Change' : 'Open' }),
  page: (visit) => <NameCard visit={visit} />,
}

const secondFactor: AccountSubject = {
  path: 'second-factor',
  title: 'Second factor',
  words: '2fa passkey authenticator require',
  state: (visit) => ({ text: whoNeedsIt(visit), link: visit.may('own') ? 'Change' : 'Open' }),
  page: (visit) => <SecondFactorCard visit={visit} />,
}

const deletion: AccountSubject = {
  path: 'delete',
  title: 'Delete this account',
  words: 'remove close',
  may: 'own',
  state: () => ({ text: 'An owner can bring it back for 7 days', link: 'Open' }),
  page: (visit) => <DeleteAccountCard visit={visit} />,
}

/** Returns the subjects in display order, including the subjects of features. */
export function accountSubjects({ features }: Pick<Visit, 'features'>): AccountSubject[] {
  const added = features.flatMap(({ accountSubjects }) => accountSubjects ?? [])
  return [name, usage, secondFactor, turns, reading, contents, adminAccess, programs, deletion]
    .flatMap((subject) => [subject, ...added.filter(({ after }) => after === subject.path)])
}

/**
 * Account settings, plus the admin keys and OAuth clients that can access the account. See docs/protocol/README.md,
 * "Admin keys", and docs/protocol/oauth.md, "Grants".
 */
export function accountSettingsPages({ get, post, may }: AccountPages, deps: PageDeps): void {
  const show = (subject: AccountSubject) => (visit: Visit) => showSubject(visit, deps, subject)
  const done = (visit: Visit, notice: NoticeCode, { path }: AccountSubject) =>
    visit.done(notice, 'settings', 'account', path)

  get('/settings/account', (visit) => showList(visit, deps))
  for (const subject of accountSubjects(deps)) {
    if (subject !== adminAccess) get(`/settings/account/${subject.path}`, show(subject))
  }
  may('own').post('/settings/account/name', async (visit) => {
    const given = visit.form.get('name') ?? ''
    await visit.record('rename_account', { name: given }, (account) => renameAccount(account, { name: given }))
    return done(visit, 'account-renamed', name)
  }, show(name))

  may('own').post('/settings/account/second-factor', async (visit) => {
    const input = { isRequired: visit.form.get('required') === 'yes' }
    await visit.record('require_second_factor', input, (account) => requireSecondFactor(account, input))
    return done(visit, 'saved', secondFactor)
  }, show(secondFactor))

  may('own').post('/settings/account/delete', async (visit) => {
    const given = visit.form.get('confirmation') ?? ''
    await visit.record('delete_account', {}, (account) => deleteAccount(account, { name: given }))
    return { redirectTo: withNotice('/new-account', 'account-deleted') }
  }, show(deletion))

  conversationActions({ get, post }, show(turns))
  readingActions(may('own'), show)

  get('/settings/account/keys', async (visit) => {
    const created = await visit.takeShown<CreatedKey>()
    if (created === 'shown') return done(visit, 'admin-key-shown', adminAccess)
    return await showSubject(visit, deps, { ...adminAccess, page: () => showAdminAccess(visit, created) })
  })
  post('/settings/account/keys', async (visit) => {
    const given = visit.form.get('name') ?? ''
    const { adminKey } = await visit.record('create_admin_key', { name: given }, (account) => {
      return createAdminKey(account, given)
    })
    return await visit.showOnce(settingsPath(visit, 'account', 'keys'), { name: given.trim(), key: adminKey })
  }, show(adminAccess))
  post('/settings/account/keys/:key/delete', async (visit) => {
    const id = visit.param('key')
    await visit.record('delete_admin_key', { id }, (account) => deleteAdminKey(account, id))
    return done(visit, 'key-deleted', adminAccess)
  })
  post('/settings/account/programs/:grant/end', async (visit) => {
    const id = visit.param('grant')
    await visit.record('revoke_grant', { id }, (account) => revokeGrant(account, id))
    return done(visit, 'grant-ended', programs)
  })
}

/** Shows a subject's page. Fails with `not_allowed`. */
export async function showSubject(visit: Visit, deps: PageDeps, subject: AccountSubject): Promise<Response> {
  requirePermission(visit.actor, subject.may ?? 'view')
  return await settingsPage(visit, 'account', await subject.page(visit, deps), subject.title)
}

/** Lists the subjects, each linked to its page. */
async function showList(visit: Visit, deps: PageDeps): Promise<Response> {
  const subjects = accountSubjects(visit).filter(({ may }) => visit.may(may ?? 'view'))
  const states = await Promise.all(subjects.map((subject) => subject.state(visit, deps)))
  return await settingsPage(
    visit,
    'account',
    <Card isFlush>
      <ul class='needs subjects' aria-label='Settings of the account'>
        {subjects.map(({ path, title }, n) => (
          <li id={path}>
            <div class='line'>
              <div class='what'>
                <p>
                  <a class='open' href={settingsPath(visit, 'account', path)}>{title}</a>
                </p>
                <div>
                  <bdi class={states[n].isBad ? 'bad' : undefined}>{states[n].text}</bdi>
                </div>
              </div>
              <span class='at'>{states[n].link}</span>
            </div>
          </li>
        ))}
      </ul>
    </Card>,
  )
}

function NameCard({ visit }: { visit: Visit }) {
  const { membership } = visit
  return (
    <Card title='Account name'>
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

/** Deletes the account. The user must type its name as confirmation. */
function DeleteAccountCard({ visit }: { visit: Visit }) {
  return (
    <Card
      title='Delete this account'
      isDanger
      lead='Its agents, keys and pages stop working at once; their open tasks fail. For 7 days an owner can bring it back under “New account”; then everything in it is removed.'
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

function whoNeedsIt({ membership }: Visit): string {
  return membership.requiresSecondFactor ? 'Required for owners and admins' : 'Optional for owners and admins'
}

/** Sets whether owners and admins must have a second factor. See docs/people.md, "Signing in". */
function SecondFactorCard({ visit }: { visit: Visit }) {
  const { requiresSecondFactor } = visit.membership
  return (
    <Card title='Second factor' lead='A passkey, or the code of an authenticator app after the password or email link.'>
      <p>{whoNeedsIt(visit)}.</p>
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
