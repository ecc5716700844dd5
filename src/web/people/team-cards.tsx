/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Role } from '../../auth/actor.ts'
import { assignableRoles } from '../../grid/people/team.ts'
import { Name } from '../../html/bidi.tsx'
import { Avatar, Badge, Card, EmptyState, Facts, Notice, Time } from '../../html/components.tsx'
import { Select, TextInput } from '../../html/fields.tsx'
import { ButtonForm, ButtonLink, Form, SubmitButton } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import type { AccountMember, Invitation } from '../../store/account/team.ts'
import { formErrors, PageForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { Visit } from '../visit.ts'

const rolePermissions: Record<Role, string> = {
  owner: 'Everything, including owners and the account itself.',
  admin: 'Manages agents, channels, skills, guardrails, keys and all members except owners.',
  member: 'Acts as the agents of the account, and writes and reads under an alias.',
  viewer: 'Sees agents, channels and settings, but numbers instead of messages.',
}

/** The account's members. `issuedKeys` counts the live agent keys that each user was shown, by user id. */
export function MembersCard(
  { visit, members, issuedKeys }: {
    visit: Visit
    members: AccountMember[]
    issuedKeys: ReadonlyMap<string, number>
  },
) {
  const now = visit.account.deps.now()
  return (
    <Card title='Members'>
      <Table
        id='members'
        caption='Members of the account'
        rows={members}
        columns={[
          {
            title: 'Name',
            cell: ({ name, email, userId }) => (
              <div class='who'>
                <Avatar name={name || email} />
                <div>
                  <Name text={name || email} /> {userId === visit.actor.userId && <Badge>you</Badge>}
                  {name && <div class='soft small'>{email}</div>}
                </div>
              </div>
            ),
          },
          {
            title: 'Role',
            cell: (member) => <RoleCell visit={visit} member={member} />,
          },
          { title: 'Since', cell: ({ since }) => <Time at={since} now={now} /> },
          visit.may('manage') && {
            title: 'Second factor',
            cell: (member) => <SecondFactorCell visit={visit} member={member} />,
          },
          {
            title: 'Remove',
            isUntitled: true,
            cell: ({ userId, name, email, role }) =>
              userId !== visit.actor.userId && assignableBy(visit).includes(role) && (
                <ConfirmDelete
                  action={settingsPath(visit, 'team', 'members', userId, 'remove')}
                  label='Remove'
                  isSmall
                  question={
                    <>
                      Remove <strong>{name || email}</strong>? The admin keys they created stop working at once.
                      {issuedKeys.has(userId) && (
                        <>
                          {' '}They know{' '}
                          {agentKeys(issuedKeys.get(userId)!)}. Agent keys stay valid, and you can replace them on this
                          page afterwards.
                        </>
                      )}
                    </>
                  }
                />
              ),
          },
        ]}
      />
      <details class='more'>
        <summary>
          <Icon name='info' size={16} />What each role can do
        </summary>
        <Facts items={Object.entries(rolePermissions)} />
      </details>
    </Card>
  )
}

function agentKeys(count: number): string {
  return count === 1 ? '1 agent key' : `${count.toLocaleString('en')} agent keys`
}

/** Shows whether a member has a second factor. Owners can reset it for members who have lost it. */
function SecondFactorCell({ visit, member }: { visit: Visit; member: AccountMember }) {
  const { userId, name, email, hasSecondFactor } = member
  if (!hasSecondFactor) return <span class='soft'>none</span>
  if (!visit.may('own') || userId === visit.actor.userId) return <Badge kind='good'>yes</Badge>
  return (
    <ConfirmDelete
      action={settingsPath(visit, 'team', 'members', userId, 'reset-second-factor')}
      label='Reset'
      icon='again'
      isSmall
      question={
        <>
          Has <strong>{name || email}</strong>{' '}
          lost the second factor? It is removed, and the user is signed out everywhere. Make sure that the request is
          genuine.
        </>
      }
    />
  )
}

/** Returns the roles that the user may assign and revoke. */
function assignableBy({ actor }: Visit): readonly Role[] {
  return assignableRoles(actor.role)
}

function RoleCell({ visit, member }: { visit: Visit; member: AccountMember }) {
  const { userId, name, email, role } = member
  if (!assignableBy(visit).includes(role)) return <Badge>{role}</Badge>
  const action = settingsPath(visit, 'team', 'members', userId, 'role')
  const isRefused = Object.keys(formErrors(visit, action, [])).length > 0
  const posted = isRefused ? visit.form.get('role') : null
  return (
    <Form
      action={action}
      isLine
      changes
      posted={isRefused ? { values: visit.form, errorOf: () => undefined } : undefined}
    >
      <select class='input' name='role' aria-label={`Role of ${name || email}`}>
        {assignableBy(visit).map((one) => <option value={one} selected={one === (posted ?? role)}>{one}</option>)}
      </select>
      <SubmitButton kind='plain' isSmall whenChanged={posted === null}>Save</SubmitButton>
    </Form>
  )
}

export function InvitationsCard({ visit, invitations }: { visit: Visit; invitations: Invitation[] }) {
  if (!visit.may('manage')) {
    return (
      <Card title='Invitations'>
        <Notice>Only owners and admins of the account can invite people. Your role is {visit.actor.role}.</Notice>
      </Card>
    )
  }
  const hasEmail = visit.account.deps.email.isConfigured
  return (
    <Card
      title='Invitations'
      lead={hasEmail
        ? 'We send a link to the address. Only the user of this address can accept the invitation.'
        : 'This grid does not send email. You get the link and pass it on. If the address has a user already, the link is in the server’s log instead.'}
    >
      <PageForm
        visit={visit}
        acts
        action={settingsPath(visit, 'team', 'invitations')}
        fields={['email', 'role']}
        isLine
      >
        <TextInput
          name='email'
          type='email'
          label='Email'
          isRequired
        />
        <Select
          name='role'
          label='Role'
          value='member'
          options={assignableBy(visit).map((role) => ({ value: role, title: role }))}
        />
        <SubmitButton>Invite</SubmitButton>
      </PageForm>
      {invitations.length === 0
        ? (
          <EmptyState icon='people' title='No pending invitations'>
            Invitations are listed here until they are accepted.
          </EmptyState>
        )
        : <InvitationTable visit={visit} invitations={invitations} again={hasEmail ? 'Send again' : 'New link'} />}
    </Card>
  )
}

/** Lists the invitations. `again` is the label of the button that replaces a link. */
function InvitationTable({ visit, invitations, again }: { visit: Visit; invitations: Invitation[]; again: string }) {
  const now = visit.account.deps.now()
  return (
    <Table
      id='invitations'
      caption='Pending invitations'
      rows={invitations}
      columns={[
        { title: 'Email', cell: ({ email }) => email },
        { title: 'Role', cell: ({ role }) => <Badge>{role}</Badge> },
        { title: 'Invited by', cell: ({ invitedBy }) => invitedBy },
        {
          title: 'Expires',
          cell: ({ expiresAt }) =>
            expiresAt > now ? <Time at={expiresAt} now={now} /> : <Badge kind='warning'>expired</Badge>,
        },
        {
          title: 'Change',
          isUntitled: true,
          cell: ({ id, role }) =>
            assignableBy(visit).includes(role) && (
              <div class='row'>
                <ButtonForm action={settingsPath(visit, 'team', 'invitations', id, 'again')} kind='quiet' isSmall>
                  {again}
                </ButtonForm>
                <ButtonForm action={settingsPath(visit, 'team', 'invitations', id, 'withdraw')} kind='quiet' isSmall>
                  Withdraw
                </ButtonForm>
              </div>
            ),
        },
      ]}
    />
  )
}

export function LeaveCard(
  { visit, members, hasAgents }: { visit: Visit; members: AccountMember[]; hasAgents: boolean },
) {
  const { actor } = visit
  const others = members.filter(({ userId, role }) => userId !== actor.userId && role !== 'owner')
  const isEmpty = members.length === 1 && !hasAgents
  const isOnlyOwner = !isEmpty && actor.role === 'owner' &&
    !members.some(({ userId, role }) => userId !== actor.userId && role === 'owner')
  return (
    <Card title='Leave' isDanger>
      {isOnlyOwner
        ? <p>You are the only owner. Every account needs an owner, so transfer the ownership before you leave.</p>
        : (
          <ConfirmDelete
            action={settingsPath(visit, 'team', 'leave')}
            label='Leave account'
            icon='leave'
            question={isEmpty
              ? 'You are the only member, and the account has no agents. After you leave, no one can open it.'
              : 'The admin keys that you created stop working at once. To come back, you need a new invitation.'}
          />
        )}
      {actor.role === 'owner' && others.length > 0 && (
        <div class='row'>
          <ButtonLink href={settingsPath(visit, 'team', 'hand-over')}>Transfer ownership…</ButtonLink>
        </div>
      )}
    </Card>
  )
}
