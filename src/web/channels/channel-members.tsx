/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Who is in a channel, and who can be added. */
import { type Channel, maxMembers } from '../../grid/channels/channels.ts'
import { Card, EmptyState, Notice, Time } from '../../html/components.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import { AgentName } from '../accounts/agent-name.tsx'
import { formErrors } from '../form-errors.ts'
import { type ListPosition, listPosition, ManagersOnlyNote, PageLinks, pageSize, pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'
import { AddMembers, maxListed } from './add-members.tsx'
import { channelOf, channelPage, channelPath } from './channel.tsx'

interface MembersProps {
  visit: Visit
  channel: Channel
  members: Awaited<ReturnType<Visit['account']['read']['channels']['members']>>
  at: ListPosition & { path: string }
}

/** The page. Fails with `channel_not_found`. */
export async function showMembers(visit: Visit): Promise<Response> {
  const { account, query, may } = visit
  const channel = await channelOf(visit)
  const at = { ...listPosition(query), path: channelPath(visit, channel.id, 'members') }
  const [members, nonMembers] = await Promise.all([
    account.read.channels.members(channel.id, pageSize, at.offset),
    may('manage') ? account.read.channels.nonMembers(channel.id, at.search, maxListed + 1) : [],
  ])
  const errors = formErrors(visit, at.path, ['members'])
  return await channelPage(
    visit,
    channel,
    'members',
    <>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <div class='grid halves'>
        <div class='stack'>
          <Members visit={visit} channel={channel} members={members} at={{ ...at, search: '' }} />
        </div>
        <div class='stack'>
          {may('manage')
            ? (
              <AddMembers
                visit={visit}
                nonMembers={nonMembers}
                path={at.path}
                search={at.search}
                isFull={channel.memberCount >= maxMembers}
              />
            )
            : <ManagersOnlyNote visit={visit} what='change channels and their members' />}
        </div>
      </div>
    </>,
  )
}

function Members({ visit, channel, members, at }: MembersProps) {
  const now = visit.account.deps.now()
  const mayManage = visit.may('manage')
  if (channel.memberCount === 0) {
    return (
      <Card title='Members'>
        <EmptyState icon='agents' title='No members yet'>
          {mayManage
            ? 'Add agents of the account. Members can post at once and receive what other members post.'
            : 'Owners and admins of the account can add agents.'}
        </EmptyState>
      </Card>
    )
  }
  return (
    <Card title='Members' lead={pluralize(channel.memberCount, 'agent')} isFlush>
      <Table
        id='members'
        caption={`Members of #${channel.name}`}
        rows={members}
        columns={[
          {
            title: 'Agent',
            cell: ({ alias, type, description }) => (
              <AgentName alias={alias} isPerson={type === 'human'} href={visit.path('agents', alias)}>
                {description}
              </AgentName>
            ),
          },
          { title: 'Member since', cell: ({ joinedAt }) => <Time at={joinedAt} now={now} /> },
          ...(mayManage
            ? [{
              title: 'Remove',
              isUntitled: true,
              align: 'end' as const,
              cell: ({ id, alias }: MembersProps['members'][number]) => (
                <Form action={visit.path('channels', channel.id, 'members', 'remove')} csrf={visit.csrf}>
                  <input type='hidden' name='members' value={id} />
                  <SubmitButton kind='quiet' isSmall>
                    Remove<span class='unseen'>@{alias}</span>
                  </SubmitButton>
                </Form>
              ),
            }]
            : []),
        ]}
      />
      <PageLinks label='Pages of members' at={at} total={channel.memberCount} />
    </Card>
  )
}
