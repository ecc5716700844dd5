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
import { assignableRoles, leaveAccount, removeMember, setMemberRole } from '../../grid/people/team.ts'
import { requireEmailAttempt } from '../../grid/people/throttle.ts'
import { Notice } from '../../html/components.tsx'
import type { AccountStore } from '../../store/account.ts'
import { withNotice } from '../notices.ts'
import type { PageDeps } from '../page-deps.ts'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'
import { FormerKeysCard } from './former-keys-card.tsx'
import { InvitationDialog, type ShownInvitation } from './invitation-dialog.tsx'
import { InvitationsCard, LeaveCard, MembersCard } from './team-cards.tsx'

/** The members of the account, and its invitations. */
export function teamPages({ get, post }: Pages<Visit>, deps: PageDeps): void {
  const { store } = deps
  const show = async (visit: Visit, shown?: ShownInvitation) => {
    const { team } = visit.account.read
    const members = await team.members()
    const invitations = visit.may('manage') ? await team.invitations() : []
    const issuers = visit.may('manage') ? await visit.account.read.keys.issuers() : []
    const formerKeys = visit.may('manage') ? await visit.account.read.keys.ofFormerMembers() : []
    const now = store.deps.now()
    return await settingsPage(
      visit,
      'team',
      <>
        {shown && <InvitationDialog invitation={shown} />}
        {visit.inputError && isAboutMembers(visit) && <Notice kind='bad'>{visit.inputError.message}</Notice>}
        <MembersCard
          visit={visit}
          members={members}
          issuedKeys={new Map(issuers.map(({ userId, keys }) => [userId, keys]))}
          assignableRoles={assignableRoles(visit.actor.role)}
          now={now}
        />
        {formerKeys.length > 0 && <FormerKeysCard visit={visit} keys={formerKeys} now={now} />}
        <InvitationsCard
          visit={visit}
          deps={deps}
          invitations={invitations}
          assignableRoles={assignableRoles(visit.actor.role)}
          now={now}
        />
        <LeaveCard visit={visit} members={members} hasAgents={await visit.account.read.agents.hasPrograms()} />
      </>,
    )
  }
  const path = (visit: Visit) => settingsPath(visit, 'team')
  const checkEmailLimit = ({ address, actor }: Visit) => (email: string) =>
    requireEmailAttempt(store, { purpose: 'invitation', email, address, sender: actor.userId })
  const sendInvitation = async (visit: Visit, invitation: SentInvitation) => {
    const { email, url, isLinkShown } = invitation
    if (isLinkShown) return await visit.showOnce(path(visit), { email, url })
    const from = { invitedBy: visit.visitor.user.email, accountName: visit.membership.name }
    sendInvitationEmail(store, invitation, from)
    return { redirectTo: withNotice(path(visit), store.deps.email.isConfigured ? 'invited' : 'invitation-logged') }
  }
  const showPage = (visit: Visit) => show(visit)

  get('/settings/team', async (visit) => {
    const shown = await visit.takeShown<ShownInvitation>()
    if (shown === 'shown') return { redirectTo: withNotice(path(visit), 'invitation-shown') }
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
    return { redirectTo: withNotice(path(visit), 'invitation-withdrawn') }
  }, showPage)

  post('/settings/team/members/:member/role', async (visit) => {
    const input = { userId: visit.param('member'), role: visit.form.get('role') ?? '' }
    await visit.record('set_member_role', input, (account) => setMemberRole(account, input))
    return { redirectTo: withNotice(path(visit), 'role-changed') }
  }, showPage)
  post('/settings/team/members/:member/remove', async (visit) => {
    const userId = visit.param('member')
    // The log needs the address now: it cannot be looked up after the removal.
    const email = (await visit.account.read.team.member(userId))?.email
    await visit.record('remove_member', { userId, email }, (account) => removeMember(account, userId))
    return { redirectTo: userId === visit.actor.userId ? '/' : withNotice(path(visit), 'member-removed') }
  }, showPage)
  post('/settings/team/members/:member/reset-second-factor', async (visit) => {
    const userId = visit.param('member')
    const reset = (account: AccountStore) => resetMemberSecondFactor(store, account, userId)
    await visit.record('reset_second_factor', { userId }, reset)
    return { redirectTo: withNotice(path(visit), 'second-factor-reset') }
  }, showPage)
  post('/settings/team/leave', async (visit) => {
    await visit.record('leave_account', {}, leaveAccount)
    return { redirectTo: '/' }
  }, showPage)
}

/** Whether a fault belongs to the member table or below. The invitation form shows its own faults. */
function isAboutMembers(visit: Visit): boolean {
  return new URL(visit.request.url).pathname !== settingsPath(visit, 'team', 'invitations')
}
