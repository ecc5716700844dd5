/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Role } from '../../auth/actor.ts'
import { Avatar, Badge, Card, EmptyState, Facts, Notice, Time } from '../../html/bits.tsx'
import { Form, Select, SubmitButton, TextInput } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import type { Invitation, Member } from '../../store/account/team.ts'
import { formFault } from '../faults.ts'
import { MailNote } from './email-note.tsx'
import { settingsPath } from '../settings.tsx'
import type { Visit } from '../visit.ts'
import type { Web } from '../web.ts'

const whatRolesMay: Record<Role, string> = {
  owner: 'Everything, also the owners and the account itself.',
  admin: 'Agents, channels, skills, guardrails, keys and the people below the owners.',
  member: 'Act for the agents of the account.',
  viewer: 'Look at everything.',
}

/** Everybody of the account. `given`: the roles that the visitor may give and take. */
export function MembersCard(
  { visit, members, given, now }: { visit: Visit; members: Member[]; given: readonly Role[]; now: number },
) {
  return (
    <Card title='People'>
      <Table
        id='members'
        caption='People of the account'
        rows={members}
        columns={[
          {
            title: 'Name',
            cell: ({ name, email, userId }) => (
              <div class='who'>
                <Avatar name={name || email} />
                <div>
                  {name || email} {userId === visit.actor.userId && <Badge>you</Badge>}
                  {name && <div class='soft small'>{email}</div>}
                </div>
              </div>
            ),
          },
          { title: 'Role', cell: (member) => <RoleOf visit={visit} member={member} given={given} /> },
          { title: 'Since', cell: ({ since }) => <Time at={since} now={now} /> },
          {
            title: 'Remove',
            isUntitled: true,
            align: 'end',
            cell: ({ userId, name, email, role }) =>
              userId !== visit.actor.userId && given.includes(role) && (
                <ConfirmDelete
                  action={settingsPath(visit, 'team', 'members', userId, 'remove')}
                  csrf={visit.csrf}
                  id={userId}
                  label='Remove'
                  isSmall
                  question={
                    <>
                      Remove <strong>{name || email}</strong>? The admin keys they made stop working at once.
                    </>
                  }
                />
              ),
          },
        ]}
      />
      <details class='more'>
        <summary>
          <Icon name='info' size={16} />What each role may do
        </summary>
        <Facts items={Object.entries(whatRolesMay)} />
      </details>
    </Card>
  )
}

function RoleOf({ visit, member, given }: { visit: Visit; member: Member; given: readonly Role[] }) {
  const { userId, name, email, role } = member
  if (!given.includes(role)) return <Badge>{role}</Badge>
  return (
    <Form action={settingsPath(visit, 'team', 'members', userId, 'role')} csrf={visit.csrf} isLine>
      <select class='input' name='role' aria-label={`Role of ${name || email}`}>
        {given.map((one) => <option value={one} selected={one === role}>{one}</option>)}
      </select>
      <SubmitButton kind='plain' isSmall whenChanged>Save</SubmitButton>
    </Form>
  )
}

/** Who was asked in, and asking others. */
export function InvitationsCard(
  { visit, web, invitations, given, now }: {
    visit: Visit
    web: Web
    invitations: Invitation[]
    given: readonly Role[]
    now: number
  },
) {
  if (!visit.may('manage')) {
    return (
      <Card title='Invitations'>
        <Notice>Only owners and admins of the account can invite people. You are {visit.actor.role}.</Notice>
      </Card>
    )
  }
  const { csrf, form } = visit
  const action = settingsPath(visit, 'team', 'invitations')
  const fault = formFault(visit, action, ['email', 'role'])
  const isRefused = Object.keys(fault).length > 0
  return (
    <Card title='Invitations' lead='A link is mailed to the address. Only the person of that address can accept it.'>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <MailNote web={web} />
      <Form action={action} csrf={csrf} isLine>
        <TextInput
          name='email'
          type='email'
          label='E-mail'
          value={isRefused ? form.get('email') ?? '' : ''}
          error={fault.email}
          isRequired
        />
        <Select
          name='role'
          label='Role'
          value={isRefused ? form.get('role') ?? '' : 'member'}
          error={fault.role}
          options={given.map((role) => ({ value: role, title: role }))}
        />
        <SubmitButton>Invite</SubmitButton>
      </Form>
      {invitations.length === 0
        ? (
          <EmptyState icon='people' title='Nobody is invited'>
            Whoever you invite is listed here until they come.
          </EmptyState>
        )
        : <Invitations visit={visit} invitations={invitations} given={given} now={now} />}
    </Card>
  )
}

function Invitations(
  { visit, invitations, given, now }: {
    visit: Visit
    invitations: Invitation[]
    given: readonly Role[]
    now: number
  },
) {
  return (
    <Table
      id='invitations'
      caption='Open invitations'
      rows={invitations}
      columns={[
        { title: 'E-mail', cell: ({ email }) => email },
        { title: 'Role', cell: ({ role }) => <Badge>{role}</Badge> },
        { title: 'By', cell: ({ invitedBy }) => invitedBy },
        {
          title: 'Expires',
          cell: ({ expiresAt }) =>
            expiresAt > now ? <Time at={expiresAt} now={now} /> : <Badge kind='warning'>expired</Badge>,
        },
        {
          title: 'Change',
          isUntitled: true,
          align: 'end',
          cell: ({ id, role }) =>
            given.includes(role) && (
              <div class='row'>
                <Form action={settingsPath(visit, 'team', 'invitations', id, 'again')} csrf={visit.csrf}>
                  <SubmitButton kind='quiet' isSmall>Send again</SubmitButton>
                </Form>
                <Form action={settingsPath(visit, 'team', 'invitations', id, 'withdraw')} csrf={visit.csrf}>
                  <SubmitButton kind='quiet' isSmall>Withdraw</SubmitButton>
                </Form>
              </div>
            ),
        },
      ]}
    />
  )
}

/** Going: handing the account over, which owners can, and leaving it. */
export function LeaveCard({ visit, members }: { visit: Visit; members: Member[] }) {
  const { actor, csrf } = visit
  const others = members.filter(({ userId, role }) => userId !== actor.userId && role !== 'owner')
  const isOnlyOwner = actor.role === 'owner' &&
    !members.some(({ userId, role }) => userId !== actor.userId && role === 'owner')
  return (
    <Card title='Leave' isDanger>
      {actor.role === 'owner' && others.length > 0 && (
        <Form action={settingsPath(visit, 'team', 'hand-over')} csrf={csrf} isLine>
          <Select
            name='member'
            label='Hand the account over to'
            hint='They become owner, and you an admin.'
            options={others.map(({ userId, name, email }) => ({
              value: userId,
              title: name ? `${name} (${email})` : email,
            }))}
          />
          <SubmitButton kind='plain danger'>Hand over</SubmitButton>
        </Form>
      )}
      {isOnlyOwner
        ? <p>You are the only owner. An account always has one, so hand it over before you leave.</p>
        : (
          <ConfirmDelete
            action={settingsPath(visit, 'team', 'leave')}
            csrf={csrf}
            id='leave'
            label='Leave account'
            icon='leave'
            question='The admin keys that you made stop working at once. To come back you need an invitation.'
          />
        )}
    </Card>
  )
}
