/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Single sign-on of the account, for its owners. See docs/security.md, "Single sign-on". */
import {
  recordOf,
  removeProvider,
  requireProvider,
  saveProvider,
  type SsoProvider,
  verifyDomain,
} from '../../grid/accounts/sso-provider.ts'
import { Badge, Card, Facts, Notice } from '../../html/components.tsx'
import { PasswordInput, TextArea, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { ConfirmDelete, CopyText } from '../../html/secrets.tsx'
import { PageForm, SwitchForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { PageResult, Pages, Visit } from '../visit.ts'

const texts = ['name', 'issuer', 'clientId', 'domain', 'roleClaim', 'roles'] as const

/** The forms of the card. `show` is the page that has it. */
export function ssoActions({ post }: Pages<Visit>, show: (visit: Visit) => Promise<PageResult>): void {
  const done = (visit: Visit) => visit.done('saved', 'settings', 'account')
  post('/settings/account/sso', async (visit) => {
    const given = Object.fromEntries(texts.map((name) => [name, visit.form.get(name) ?? '']))
    const input = given as Record<(typeof texts)[number], string>
    const clientSecret = visit.form.get('clientSecret') ?? ''
    await visit.record('save_provider', input, (account) => saveProvider(account, { ...input, clientSecret }))
    return done(visit)
  }, show)
  post('/settings/account/sso/verify', async (visit) => {
    const isVerified = await visit.record('verify_domain', {}, verifyDomain)
    return visit.done(isVerified ? 'domain-verified' : 'domain-not-verified', 'settings', 'account')
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

export async function SsoCard({ visit }: { visit: Visit }) {
  const provider = await visit.account.read.sso.get()
  const action = (...parts: string[]) => settingsPath(visit, 'account', 'sso', ...parts)
  return (
    <Card
      id='sso'
      title='Single sign-on'
      lead='People of a domain of yours sign in to this account with your provider.'
    >
      {provider && <ProviderState visit={visit} provider={provider} action={action} />}
      <PageForm visit={visit} action={action()} fields={[...texts, 'clientSecret']}>
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
          hint='New users need an address of it.'
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
        <SubmitRow kind='plain'>{provider ? 'Change single sign-on' : 'Set up single sign-on'}</SubmitRow>
      </PageForm>
    </Card>
  )
}

function ProviderState(
  { visit, provider, action }: { visit: Visit; provider: SsoProvider; action: (...parts: string[]) => string },
) {
  const { verifiedAt, missingSince, isRequired, domain, id } = provider
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
          ['TXT record of it', <CopyText id='sso-record' label='the record' text={recordOf(provider)} />],
          ['Redirect URI', <CopyText id='sso-redirect' label='the URI' text={`${appUrl}/sso/${id}/callback`} />],
        ]}
      />
      {missingSince !== null && (
        <Notice kind='warning' title='The record is gone'>
          {verifiedAt === null ? 'Nobody can sign in with the provider.' : 'After a week, nobody can sign in with it.'}
        </Notice>
      )}
      <p>{isRequired ? 'Members must sign in with it.' : 'Members may also sign in in other ways.'}</p>
      {(verifiedAt !== null || isRequired) && (
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
        <SubmitRow kind='plain'>Look the record up</SubmitRow>
      </PageForm>
      <div class='row'>
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
