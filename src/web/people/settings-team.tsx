/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { inviteMember, sendInvitationAgain, type SentInvitation, withdrawInvitation } from '../../grid/people/invitations.ts'
import { mailInvitation } from '../../grid/people/send-email.ts'
import { grantable, handOverAccount, leaveAccount, removeMember, setMemberRole } from '../../grid/people/team.ts'
import { requireMailAttempt } from '../../grid/people/throttle.ts'
import { Notice } from '../../html/bits.tsx'
import type { AccountStore } from '../../store/account.ts'
import { saying } from '../notices.ts'
import { InvitationsCard, LeaveCard, MembersCard } from './team-cards.tsx'
import { settingsPage, settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'
import type { Web } from '../web.ts'

/** The people of the account, and those asked in. */
export function teamPages({ get, post }: Pages<Visit>, web: Web): void {
  const { store } = web
  const show = async (visit: Visit) => {
    const { team } = visit.account.read
    const members = await team.members()
    const invitations = visit.may('manage') ? await team.invitations() : []
    const now = store.deps.now()
    return await settingsPage(
      visit,
      'team',
      <>
        {visit.fault && isAboutMembers(visit) && <Notice kind='bad'>{visit.fault.message}</Notice>}
        <MembersCard visit={visit} members={members} given={grantable(visit.actor.role)} now={now} />
        <InvitationsCard
          visit={visit}
          web={web}
          invitations={invitations}
          given={grantable(visit.actor.role)}
          now={now}
        />
        <LeaveCard visit={visit} members={members} />
      </>,
    )
  }
  const path = (visit: Visit) => settingsPath(visit, 'team')
  const mayMail = ({ address }: Visit) => (email: string) => requireMailAttempt(store, email, address)
  const mail = (visit: Visit, invitation: SentInvitation) => {
    const from = { invitedBy: visit.visitor.user.email, accountName: visit.membership.name }
    mailInvitation(store, invitation, from)
    return { goTo: saying(path(visit), 'invited') }
  }

  get('/settings/team', show)
  post('/settings/team/invitations', async (visit) => {
    const input = { email: visit.form.get('email') ?? '', role: visit.form.get('role') ?? '' }
    const invite = (account: AccountStore) => inviteMember(account, input, mayMail(visit))
    return mail(visit, await visit.record('invite_member', input, invite))
  }, show)
  post('/settings/team/invitations/:invitation/again', async (visit) => {
    const id = visit.param('invitation')
    const again = (account: AccountStore) => sendInvitationAgain(account, id, mayMail(visit))
    return mail(visit, await visit.record('invite_member', { id }, again))
  }, show)
  post('/settings/team/invitations/:invitation/withdraw', async (visit) => {
    const id = visit.param('invitation')
    await visit.record('withdraw_invitation', { id }, (account) => withdrawInvitation(account, id))
    return { goTo: saying(path(visit), 'invitation-withdrawn') }
  }, show)

  post('/settings/team/members/:member/role', async (visit) => {
    const input = { userId: visit.param('member'), role: visit.form.get('role') ?? '' }
    await visit.record('set_member_role', input, (account) => setMemberRole(account, input))
    return { goTo: saying(path(visit), 'role-changed') }
  }, show)
  post('/settings/team/members/:member/remove', async (visit) => {
    const userId = visit.param('member')
    // With their address: nobody can look it up afterwards.
    const email = (await visit.account.read.team.member(userId))?.email
    await visit.record('remove_member', { userId, email }, (account) => removeMember(account, userId))
    return { goTo: userId === visit.actor.userId ? '/' : saying(path(visit), 'member-removed') }
  }, show)
  post('/settings/team/leave', async (visit) => {
    await visit.record('leave_account', {}, leaveAccount)
    return { goTo: '/' }
  }, show)
  post('/settings/team/hand-over', async (visit) => {
    const userId = visit.form.get('member') ?? ''
    await visit.record('hand_over_account', { userId }, (account) => handOverAccount(account, userId))
    return { goTo: saying(path(visit), 'handed-over') }
  }, show)
}

/** What was refused in the table of members or below it; the invitation form says its own. */
function isAboutMembers(visit: Visit): boolean {
  return new URL(visit.request.url).pathname !== settingsPath(visit, 'team', 'invitations')
}
