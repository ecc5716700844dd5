/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import {
  allowService,
  approvalConsent,
  disallowService,
  eventsProvider,
  type servicesFor,
} from '../../grid/guardrails/consents.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, Time } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import { readChoice, SwitchForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { AccountPages, PageResult, Visit } from '../visit.ts'

/** Registers the card's form. `show` renders the page that contains it. */
export function serviceActions({ may }: AccountPages, show: (visit: Visit) => Promise<PageResult>): void {
  may('use').post('/settings/profile/services', async (visit) => {
    const input = { provider: visit.form.get('provider') ?? '', host: visit.form.get('host') ?? '' }
    const isAllowed = visit.form.get('allow') === 'yes'
    await (isAllowed
      ? visit.record('allow_service', input, (account) => allowService(account, input))
      : visit.record('disallow_service', input, (account) => disallowService(account, input)))
    return visit.done(isAllowed ? 'service-allowed' : 'service-disallowed', 'settings', 'profile')
  }, show)
  may('use').post('/settings/profile/approvals', async (visit) => {
    const isAllowed = readChoice(visit.form, 'allow', ['yes', 'no']) === 'yes'
    await (isAllowed
      ? visit.record('allow_approvals', {}, (account) => allowService(account, approvalConsent))
      : visit.record('disallow_approvals', {}, (account) => disallowService(account, approvalConsent)))
    return visit.done('saved', 'settings', 'profile')
  }, show)
}

export type TextServices = Awaited<ReturnType<typeof servicesFor>>

/** Sets whether approval rules hold messages from and to the user's alias. See docs/people.md, "People who write". */
export function ApprovalsCard({ visit, services }: { visit: Visit; services: TextServices }) {
  const isOn = services.some(({ provider, allowedAt }) => provider === approvalConsent.provider && allowedAt !== null)
  return (
    <Card
      id='approvals'
      title='Approval of your messages'
      lead='People who decide on a held message read it. Rules hold messages from you and to you only if you allow it here, or if you alone decide.'
    >
      <SwitchForm
        visit={visit}
        action={settingsPath(visit, 'profile', 'approvals')}
        name='allow'
        isOn={isOn}
        turnOn='Allow others to decide on my messages'
        turnOff='Stop allowing it'
      />
    </Card>
  )
}

/** Sets which services may receive messages from and to the user's alias. See docs/people.md, "People who write". */
export function ServicesCard({ visit, services }: { visit: Visit; services: TextServices }) {
  const action = settingsPath(visit, 'profile', 'services')
  const now = visit.account.deps.now()
  return (
    <Card
      id='services'
      title='Services that get your messages'
      lead='Guardrails and webhooks of the account send messages from you and to you to these services only if you allow it here. A message shows that a guardrail sent its text there.'
    >
      <Table
        id='my-services'
        caption='Services that get your messages'
        rows={services.filter(({ provider }) => provider !== approvalConsent.provider)}
        columns={[
          {
            title: 'Service',
            cell: ({ provider, host }) => (
              <>
                <Name text={host} /> <span class='soft'>by {provider === eventsProvider ? 'webhook' : provider}</span>
              </>
            ),
          },
          {
            title: 'Your consent',
            cell: ({ allowedAt }) =>
              allowedAt === null ? <span class='soft'>not allowed</span> : (
                <>
                  <Badge kind='warning'>allowed</Badge> <Time at={allowedAt} now={now} />
                </>
              ),
          },
          {
            title: 'Change',
            isUntitled: true,
            cell: ({ provider, host, allowedAt }) => {
              const allow = allowedAt === null ? 'yes' : 'no'
              return (
                <ButtonForm action={action} fields={{ provider, host, allow }} kind='plain' isSmall>
                  {allow === 'yes' ? 'Allow' : 'Withdraw'}
                </ButtonForm>
              )
            },
          },
        ]}
      />
    </Card>
  )
}
