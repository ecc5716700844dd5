/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import {
  changeChannelMembers,
  type Channel,
  deleteChannel,
  maxMembers,
  updateChannel,
} from '../../grid/channels/channels.ts'
import { Card, EmptyState, Facts, Notice, Time } from '../../html/components.tsx'
import { Form, SubmitButton, TextArea } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { AgentName } from '../accounts/agent-name.tsx'
import { DeleteCard } from '../delete-card.tsx'
import { formErrors } from '../form-errors.ts'
import { type ListPosition, listPosition, ManagersOnlyNote, PageLinks, pageSize, pluralize } from '../listing.tsx'
import type { NoticeCode } from '../notices.ts'
import type { Pages, Visit } from '../visit.ts'
import { AddMembers, maxListed, parseAgentRefs } from './add-members.tsx'

/** Registers the page of one channel and its actions. */
export function oneChannelPages({ get, post }: Pages<Visit>): void {
  const redirect = (visit: Visit, notice: NoticeCode) => ({
    redirectTo: `${visit.path('channels', visit.param('channel'))}?done=${notice}`,
  })

  get('/channels/:channel', show)
  post('/channels/:channel', async (visit) => {
    const input = { channel: visit.param('channel'), description: visit.form.get('description') ?? '' }
    await visit.record('update_channel', input, (account) => updateChannel(account, input))
    return redirect(visit, 'saved')
  }, show)

  get('/channels/:channel/members', show)
  post('/channels/:channel/members', async (visit) => {
    const input = { channel: visit.param('channel'), add: parseAgentRefs(visit.form) }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return redirect(visit, 'members-added')
  }, show)
  post('/channels/:channel/members/remove', async (visit) => {
    const input = { channel: visit.param('channel'), remove: parseAgentRefs(visit.form) }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return redirect(visit, 'member-removed-from-channel')
  })

  post('/channels/:channel/delete', async (visit) => {
    const id = visit.param('channel')
    await visit.record('admin_delete_channel', { id }, (account) => deleteChannel(account, id))
    return { redirectTo: `${visit.path('channels')}?done=channel-deleted` }
  })
}

/** What the page shows besides the channel itself. */
interface ChannelPageData {
  members: Awaited<ReturnType<Visit['account']['read']['channels']['members']>>
  at: ListPosition & { path: string }
  now: number
}

async function show(visit: Visit) {
  const { account, query } = visit
  const { channels } = account.read
  // Look up by id only; no channel has an empty name.
  const channel = await channels.byRef(visit.param('channel'), '')
  if (!channel) throw new GridError('channel_not_found', 'This channel does not exist or was deleted.')
  const at = { ...listPosition(query), path: visit.path('channels', channel.id) }
  const mayManage = visit.may('manage')
  const [members, nonMembers] = await Promise.all([
    channels.members(channel.id, pageSize, at.offset),
    mayManage ? channels.nonMembers(channel.id, at.search, maxListed + 1) : [],
  ])
  const data = { members, at: { ...at, search: '' }, now: account.deps.now() }
  const { rest } = {
    ...formErrors(visit, at.path, ['description']),
    ...formErrors(visit, `${at.path}/members`, ['members']),
  } as { rest?: string }

  return await appPage(
    visit.frame('channels'),
    {
      title: `#${channel.name}`,
      lead: channel.description || undefined,
      back: { title: 'Channels', href: visit.path('channels') },
    },
    <>
      {rest && <Notice kind='bad'>{rest}</Notice>}
      <div class='grid halves'>
        <div class='stack'>
          <Members visit={visit} channel={channel} data={data} />
        </div>
        <div class='stack'>
          {mayManage && (
            <AddMembers
              visit={visit}
              nonMembers={nonMembers}
              path={at.path}
              search={at.search}
              isFull={channel.memberCount >= maxMembers}
            />
          )}
          <About visit={visit} channel={channel} data={data} />
          {mayManage && (
            <DeleteCard
              noun='channel'
              lead='Agents can no longer post to it. Its recipients can still read its messages.'
              action={visit.path('channels', channel.id, 'delete')}
              csrf={visit.csrf}
              question={
                <>
                  Delete <strong>#{channel.name}</strong> with{' '}
                  {pluralize(channel.memberCount, 'member')}? This cannot be undone.
                </>
              }
            />
          )}
        </div>
      </div>
    </>,
  )
}

function Members({ visit, channel, data }: { visit: Visit; channel: Channel; data: ChannelPageData }) {
  const { members, at, now } = data
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
            cell: ({ alias, description }) => (
              <AgentName alias={alias} href={visit.path('agents', alias)}>{description}</AgentName>
            ),
          },
          { title: 'Member since', cell: ({ joinedAt }) => <Time at={joinedAt} now={now} /> },
          ...(mayManage
            ? [{
              title: 'Remove',
              isUntitled: true,
              align: 'end' as const,
              cell: ({ id, alias }: ChannelPageData['members'][number]) => (
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

function About({ visit, channel, data: { at, now } }: { visit: Visit; channel: Channel; data: ChannelPageData }) {
  const errors = formErrors(visit, at.path, ['description'])
  const isPosted = new URL(visit.request.url).pathname === at.path && visit.form.has('description')
  return (
    <Card title='Details'>
      <Facts
        items={[['Name', <code>#{channel.name}</code>], ['Created', <Time at={channel.createdAt} now={now} />]]}
      />
      {visit.may('manage')
        ? (
          <Form action={at.path} csrf={visit.csrf}>
            <TextArea
              name='description'
              label='Description'
              hint='The purpose of the channel. Agents read it.'
              value={isPosted ? visit.form.get('description')! : channel.description}
              error={errors.description}
              maxLength={maxDescriptionLength}
              rows={3}
              isOptional
            />
            <div class='row'>
              <SubmitButton kind='plain'>Save</SubmitButton>
            </div>
          </Form>
        )
        : <ManagersOnlyNote visit={visit} what='change channels and their members' />}
      <p class='soft small'>
        A member posts here by sending to <code>#{channel.name}</code>.
      </p>
    </Card>
  )
}
