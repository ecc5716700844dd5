/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import {
  inviteMember,
  resendInvitation,
  type SentInvitation,
  withdrawInvitation,
} from '../../grid/people/invitations.ts'
import { resetMemberSecondFactor } from '../../grid/people/second-factor.ts'
import { sendInvitationEmail } from '../../grid/people/send-email.ts'
import { leaveAccount, removeMember, setMemberRole } from '../../grid/people/team.ts'
import { requireEmailAttempt } from '../../grid/people/throttle.ts'
import { Card, Time } from '../../html/components.tsx'
import { ConfirmDelete, SecretDialog } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import type { AccountStore } from '../../store/account.ts'
import { Refusal } from '../forms.tsx'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { AccountPages, PageDeps, Visit } from '../visit.ts'
import { InvitationsCard, LeaveCard, MembersCard } from './team-cards.tsx'

export function teamPages({ get, post, may }: AccountPages, { store }: PageDeps): void {
  const show = async (visit: Visit, shown?: ShownInvitation) => {
    const { agents, keys, team } = visit.account.read
    const manages = visit.may('manage')
    const [members, hasAgents, invitations, issuers, formerKeys] = await Promise.all([
      team.members(),
      agents.hasPrograms(),
      manages ? team.invitations() : [],
      manages ? keys.issuers() : [],
      manages ? keys.ofFormerMembers() : [],
    ])
    return await settingsPage(
      visit,
      'team',
      <>
        {shown && <InvitationDialog invitation={shown} />}
        {visit.inputError && isAboutMembers(visit) && <Refusal visit={visit}>{visit.inputError.message}</Refusal>}
        <MembersCard
          visit={visit}
          members={members}
          issuedKeys={new Map(issuers.map(({ userId, keys }) => [userId, keys]))}
        />
        {formerKeys.length > 0 && <FormerKeysCard visit={visit} keys={formerKeys} />}
        <InvitationsCard visit={visit} invitations={invitations} />
        <LeaveCard visit={visit} members={members} hasAgents={hasAgents} />
      </>,
    )
  }
  const checkEmailLimit = ({ address, actor }: Visit) => (email: string) =>
    requireEmailAttempt(store, { purpose: 'invitation', email, address, sender: actor.userId })
  const sendInvitation = async (visit: Visit, invitation: SentInvitation) => {
    const { email, url, isLinkShown } = invitation
    if (isLinkShown) return await visit.showOnce(settingsPath(visit, 'team'), { email, url })
    const from = { invitedBy: visit.visitor.user.email, accountName: visit.membership.name }
    sendInvitationEmail(store, invitation, from)
    return visit.done(store.deps.email.isConfigured ? 'invited' : 'invitation-logged', 'settings', 'team')
  }
  const showPage = (visit: Visit) => show(visit)

  get('/settings/team', async (visit) => {
    const shown = await visit.takeShown<ShownInvitation>()
    if (shown === 'shown') return visit.done('invitation-shown', 'settings', 'team')
    return await show(visit, shown)
  })
  post('/settings/team/invitations', async (visit) => {
    const input = { email: visit.form.get('email') ?? '', role: visit.form.get('role') ?? '' }
    const invite = (account: AccountStore) => inviteMember(account, input, checkEmailLimit(visit))
    return await sendInvitation(visit, await visit.record('invite_member', input, invite))
  }, showPage)
  post('/settings/team/invitations/:invitation/again', async (visit) => {
    const id = visit.param('invitation')
    const again = (account: AccountStore) => resendInvitation(account, id, checkEmailLimit(visit))
    return await sendInvitation(visit, await visit.record('invite_member', { id }, again))
  }, showPage)
  post('/settings/team/invitations/:invitation/withdraw', async (visit) => {
    const id = visit.param('invitation')
    await visit.record('withdraw_invitation', { id }, (account) => withdrawInvitation(account, id))
    return visit.done('invitation-withdrawn', 'settings', 'team')
  }, showPage)

  post('/settings/team/members/:member/role', async (visit) => {
    const input = { userId: visit.param('member'), role: visit.form.get('role') ?? '' }
    await visit.record('set_member_role', input, (account) => setMemberRole(account, input))
    return visit.done('role-changed', 'settings', 'team')
  }, showPage)
  post('/settings/team/members/:member/remove', async (visit) => {
    const userId = visit.param('member')
    // Look up the address now, because the removal makes it unavailable.
    const email = (await visit.account.read.team.member(userId))?.email
    await visit.record('remove_member', { userId, email }, (account) => removeMember(account, userId))
    return userId === visit.actor.userId ? { redirectTo: '/' } : visit.done('member-removed', 'settings', 'team')
  }, showPage)
  may('own').post('/settings/team/members/:member/reset-second-factor', async (visit) => {
    const userId = visit.param('member')
    const reset = (account: AccountStore) => resetMemberSecondFactor(store, account, userId)
    await visit.record('reset_second_factor', { userId }, reset)
    return visit.done('second-factor-reset', 'settings', 'team')
  }, showPage)
  may('view').post('/settings/team/leave', async (visit) => {
    await visit.record('leave_account', {}, leaveAccount)
    return { redirectTo: '/' }
  }, showPage)
}

/** Whether the request is about members. The invitation form shows its own errors. */
function isAboutMembers(visit: Visit): boolean {
  return new URL(visit.request.url).pathname !== settingsPath(visit, 'team', 'invitations')
}

/** An agent key that was shown to a person who may no longer act as the account's agents. */
interface FormerKey {
  alias: string
  /** The person's name or email address. */
  person: string | null
  last4: string
  lastUsedAt: number | null
}

/** Lists keys that former members and viewers still know, each with a button to replace it. */
function FormerKeysCard({ visit, keys }: { visit: Visit; keys: FormerKey[] }) {
  const now = visit.account.deps.now()
  return (
    <Card
      title='Keys to replace'
      lead='These agent keys were shown to people who have left the account or may no longer use its agents. The keys still work. Replace each one, and give the new key to the client of the agent.'
      id='former-keys'
    >
      <Table
        id='former-keys-table'
        caption='Agent keys that former members know'
        rows={keys}
        columns={[
          { title: 'Agent', cell: ({ alias }) => <a href={visit.path('agents', alias)}>@{alias}</a> },
          { title: 'Key', cell: ({ last4 }) => <code>grid_agt_…{last4}</code> },
          { title: 'Issued by', cell: ({ person }) => person },
          {
            title: 'Last used',
            cell: ({ lastUsedAt }) => <Time at={lastUsedAt} now={now} />,
          },
          {
            title: 'Replace',
            isUntitled: true,
            cell: ({ alias }) => (
              <ConfirmDelete
                action={visit.path('agents', alias, 'key')}
                label='Replace'
                icon='again'
                isSmall
                question={`Every key of @${alias} stops working at once. The new one is shown only once; give it to the client.`}
              />
            ),
          },
        ]}
      />
    </Card>
  )
}

interface ShownInvitation {
  email: string
  url: string
}

/** Shows an invitation's link to the inviter, once. See docs/people.md, "Signing in". */
function InvitationDialog({ invitation: { email, url } }: { invitation: ShownInvitation }) {
  return (
    <SecretDialog title='Pass this link on' label='Invitation link' secret={url}>
      <p>
        This grid does not send email. Give the link to <strong>{email}</strong>{' '}
        yourself, over a private channel. It works once, for 24 hours.
      </p>
      <p class='soft small'>
        Anyone who opens it can join with this address. It does not prove the address, so claiming agents and creating
        accounts need a proof first.
      </p>
    </SecretDialog>
  )
}
