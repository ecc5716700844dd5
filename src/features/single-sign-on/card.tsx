/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The account's single sign-on settings, for owners. See docs/people.md, "Single sign-on". */
import { recordOf, removeProvider, requireProvider, saveProvider, type SsoProvider, verifyDomain } from './provider.ts'
import { letIn } from './joining.ts'
import { Badge, Card, Disclosure, Facts, Notice, Time } from '../../html/components.tsx'
import { Checkbox, PasswordInput, TextArea, TextInput } from '../../html/fields.tsx'
import { ButtonForm, SubmitRow } from '../../html/form.tsx'
import { ConfirmDelete, CopyText } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import { type ListedSignIn, type MissingDomain, ssoTables } from './store.ts'
import { showSubject } from '../../web/accounts/settings-account.tsx'
import { PageForm, SwitchForm } from '../../web/forms.tsx'
import { reportFacts } from './pages.tsx'
import { notices } from './words.ts'
import { settingsPath } from '../../web/settings.tsx'
import type { AccountPages, AccountSubject, FeatureWords, PageDeps, Visit } from '../../web/visit.ts'

const texts = ['name', 'issuer', 'clientId', 'domain', 'roleClaim', 'roles', 'emailClaim', 'scopes'] as const
const maxSignIns = 10

/** How Attention describes a domain whose record is missing. */
export const domainWords: FeatureWords<MissingDomain> = {
  inWords: ({ domain, verifiedAt, missingSince }) => ({
    icon: 'key',
    tone: verifiedAt === null ? 'bad' : 'warning',
    what: <>The TXT record of {domain} is gone</>,
    facts: [verifiedAt === null ? 'single sign-on has stopped' : 'single sign-on stops after a week'],
    at: missingSince,
  }),
  many: (n) => `The TXT records of ${n} domains are gone`,
  href: (visit) => visit.may('own') ? settingsPath(visit, 'account', 'sso') : undefined,
}

/** The card's forms. */
export function ssoActions({ may }: AccountPages, deps: PageDeps): void {
  const { post } = may('own')
  const show = (visit: Visit) => showSubject(visit, deps, ssoSubject)
  const done = (visit: Visit) => visit.done('saved', 'settings', 'account', 'sso')
  post('/settings/account/sso', async (visit) => {
    const given = Object.fromEntries(texts.map((name) => [name, visit.form.get(name) ?? '']))
    const isTrusted = visit.form.has('isTrusted')
    const input = { ...given as Record<(typeof texts)[number], string>, isTrusted }
    const clientSecret = visit.form.get('clientSecret') ?? ''
    await visit.record('save_provider', input, (account) => saveProvider(account, { ...input, clientSecret }))
    return done(visit)
  }, show)
  post('/settings/account/sso/let-in', async (visit) => {
    const userId = visit.form.get('member') ?? ''
    await visit.record('let_member_in', { userId }, (account) => letIn(account, userId))
    return visit.done(notices.letIn, 'settings', 'account', 'sso')
  }, show)
  post('/settings/account/sso/verify', async (visit) => {
    const isVerified = await visit.record('verify_domain', {}, verifyDomain)
    return visit.done(isVerified ? notices.verified : notices.notVerified, 'settings', 'account', 'sso')
  }, show)
  post('/settings/account/sso/required', async (visit) => {
    const input = { isRequired: visit.form.get('required') === 'yes' }
    await visit.record('require_provider', input, (account) => requireProvider(account, input))
    return done(visit)
  }, show)
  post('/settings/account/sso/remove', async (visit) => {
    await visit.record('remove_provider', {}, removeProvider)
    return done(visit)
  }, show)
}

export const ssoSubject: AccountSubject & { after: string } = {
  after: 'second-factor',
  path: 'sso',
  title: 'Single sign-on',
  words: 'sso oidc openid provider domain',
  may: 'own',
  async state(visit) {
    const provider = await visit.account.feature(ssoTables).read.get()
    return provider ? { text: stateOf(provider), link: 'Change' } : { text: 'Not set up', link: 'Set up' }
  },
  page: (visit) => ssoCard(visit),
}

function stateOf({ name, domain, draft, verifiedAt, missingSince, isRequired }: SsoProvider): string {
  if (draft !== '') return 'A draft, which signs nobody in'
  if (missingSince !== null) return `The TXT record of ${domain} is gone`
  if (verifiedAt === null) return `${domain} is not verified`
  return `${name}, ${isRequired ? 'required' : 'optional'} for members from ${domain}`
}

async function ssoCard(visit: Visit) {
  const { read } = visit.account.feature(ssoTables)
  const [provider, signIns] = await Promise.all([read.get(), read.signIns(maxSignIns)])
  const action = (...parts: string[]) => settingsPath(visit, 'account', 'sso', ...parts)
  return (
    <Card
      title='Single sign-on'
      lead='People from your domain sign in to this account with your provider.'
    >
      {provider && <ProviderState visit={visit} provider={provider} action={action} />}
      {provider
        ? (
          <Disclosure title='Change the provider' isOpen={visit.inputError !== undefined}>
            <ProviderForm visit={visit} provider={provider} action={action()} />
          </Disclosure>
        )
        : <ProviderForm visit={visit} action={action()} />}
      {signIns.length > 0 && <SignIns visit={visit} signIns={signIns} action={action('let-in')} />}
    </Card>
  )
}

function ProviderForm({ visit, provider, action }: { visit: Visit; provider?: SsoProvider; action: string }) {
  return (
    <PageForm visit={visit} action={action} fields={[...texts, 'clientSecret']}>
      <TextInput
        name='name'
        id='sso-name'
        label='Name of the provider'
        value={provider?.name}
        maxLength={80}
        isRequired
      />
      <TextInput
        name='issuer'
        label='Issuer'
        hint='As its OpenID configuration says, for example https://login.company.example.'
        value={provider?.issuer}
        maxLength={2_000}
        isRequired
        isMono
      />
      <TextInput name='clientId' label='Client ID' value={provider?.clientId} maxLength={500} isRequired isMono />
      <PasswordInput name='clientSecret' label='Client secret' autocomplete='new-password' isRequired />
      <TextInput
        name='domain'
        label='Domain'
        hint='People who join with the provider need a verified address in it.'
        value={provider?.domain}
        maxLength={253}
        isRequired
        isMono
      />
      <TextInput
        name='roleClaim'
        label='Claim with roles'
        hint='Without one, new users are members, and roles are changed here.'
        value={provider?.roleClaim}
        maxLength={100}
        isOptional
        isMono
      />
      <TextArea
        name='roles'
        label='Roles'
        hint='A line for each value of the claim, such as admin: platform-team. Owners stay owners.'
        value={Object.entries(provider?.roles ?? {}).map(([value, role]) => `${role}: ${value}`).join('\n')}
        isMono
        isOptional
      />
      <Checkbox
        name='isTrusted'
        label='Addresses of the domain count as verified'
        hint='For a provider that does not report it, such as Entra. Only if users cannot choose their own address there.'
        isChecked={provider?.isTrusted}
      />
      <TextInput
        name='emailClaim'
        label='Claim with the address'
        hint='Such as preferred_username or upn, if addresses count as verified. Empty: email.'
        value={provider?.emailClaim}
        maxLength={100}
        isOptional
        isMono
      />
      <TextInput
        name='scopes'
        label='More scopes'
        hint='In addition to openid, email and profile, separated by spaces.'
        value={provider?.scopes}
        maxLength={200}
        isOptional
        isMono
      />
      <SubmitRow kind='plain'>{provider ? 'Change single sign-on' : 'Set up single sign-on'}</SubmitRow>
    </PageForm>
  )
}

const outcomes: Record<ListedSignIn['outcome'], string> = {
  ok: 'signed in',
  no_address: 'refused: no address',
  not_verified: 'refused: the address does not count as verified',
  other_domain: 'refused: an address of another domain',
  removed: 'refused: removed from the account',
  address_taken: 'refused: another user has the address',
}

/** Lists the claims of the latest sign-ins. Owners can readmit removed members here. */
function SignIns({ visit, signIns, action }: { visit: Visit; signIns: ListedSignIn[]; action: string }) {
  return (
    <Table
      id='sso-sign-ins'
      caption='Newest sign-ins with the provider'
      rows={signIns}
      columns={[
        { title: 'Address', cell: ({ report }) => <bdi>{report.email ?? 'none'}</bdi> },
        { title: 'When', cell: ({ at }) => <Time at={at} now={visit.account.deps.now()} /> },
        { title: 'Outcome', cell: ({ outcome }) => outcomes[outcome] },
        {
          title: 'Claims',
          cell: ({ report }) => (
            <Disclosure title={report.missing.length === 0 ? 'All claims' : `Without ${report.missing.join(', ')}`}>
              <Facts items={reportFacts(report)} />
            </Disclosure>
          ),
        },
        {
          title: 'Let in',
          isUntitled: true,
          cell: ({ outcome, userId }) =>
            outcome === 'removed' && userId !== null && (
              <ButtonForm action={action} fields={{ member: userId }} kind='plain' isSmall>Let in again</ButtonForm>
            ),
        },
      ]}
    />
  )
}

function ProviderState(
  { visit, provider, action }: { visit: Visit; provider: SsoProvider; action: (...parts: string[]) => string },
) {
  const { verifiedAt, missingSince, isRequired, domain, id, draft } = provider
  const { appUrl } = visit.account.deps.config
  return (
    <>
      <Facts
        items={[
          [
            'Domain',
            <>
              {domain}{' '}
              <Badge kind={verifiedAt === null ? 'warning' : 'good'}>
                {verifiedAt === null ? 'not verified' : 'verified'}
              </Badge>
            </>,
          ],
          ['TXT record', <CopyText id='sso-record' label='the record' text={recordOf(provider)} />],
          ['Redirect URI', <CopyText id='sso-redirect' label='the URI' text={`${appUrl}/sso/${id}/callback`} />],
        ]}
      />
      {draft !== '' && (
        <Notice kind='warning' title='This is a draft, which signs nobody in'>
          {draft} Save it again once the provider answers.
        </Notice>
      )}
      {missingSince !== null && (
        <Notice kind='warning' title='The record is gone'>
          {verifiedAt === null ? 'Nobody can sign in with the provider.' : 'After a week, nobody can sign in with it.'}
        </Notice>
      )}
      <p>{isRequired ? 'Members must sign in with it.' : 'Members may also sign in in other ways.'}</p>
      {((verifiedAt !== null && draft === '') || isRequired) && (
        <SwitchForm
          visit={visit}
          action={action('required')}
          name='required'
          isOn={isRequired}
          turnOn='Require it'
          turnOff='Do not require it'
        />
      )}
      <PageForm visit={visit} acts action={action('verify')}>
        <SubmitRow kind='plain'>Check the record</SubmitRow>
      </PageForm>
      <div class='row'>
        <ButtonForm action={`/sso/${id}/try`} fields={{ account: visit.membership.id }} kind='plain'>
          Try it
        </ButtonForm>
        <ConfirmDelete
          action={action('remove')}
          label='Remove'
          isSmall
          question='Remove single sign-on? Its sessions end, and members sign in in other ways.'
        />
      </div>
    </>
  )
}
