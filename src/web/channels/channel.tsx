/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import { changeChannelMembers, type Channel, deleteChannel, maxMembers, updateChannel } from '../../grid/channels/channels.ts'
import { Card, EmptyState, Facts, Notice, Time } from '../../html/bits.tsx'
import { Form, SubmitButton, TextArea } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { AddMembers, maxOffered, namedAgents } from './add-members.tsx'
import { DeleteCard } from '../delete-card.tsx'
import { formFault } from '../faults.ts'
import { counted, OnlyManagers, PageLinks, pageSize, type Place, placeOf } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { AgentName } from '../accounts/who.tsx'

/** The page of one channel, and what can be done there. */
export function oneChannelPages({ get, post }: Pages<Visit>): void {
  const done = (visit: Visit, what: string) => ({
    goTo: `${visit.path('channels', visit.param('channel'))}?done=${what}`,
  })

  get('/channels/:channel', show)
  post('/channels/:channel', async (visit) => {
    const input = { channel: visit.param('channel'), description: visit.form.get('description') ?? '' }
    await visit.record('update_channel', input, (account) => updateChannel(account, input))
    return done(visit, 'saved')
  }, show)

  get('/channels/:channel/members', show)
  post('/channels/:channel/members', async (visit) => {
    const input = { channel: visit.param('channel'), add: namedAgents(visit.form) }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return done(visit, 'members-added')
  }, show)
  post('/channels/:channel/members/remove', async (visit) => {
    const input = { channel: visit.param('channel'), remove: namedAgents(visit.form) }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return done(visit, 'member-removed-from-channel')
  })

  post('/channels/:channel/delete', async (visit) => {
    const id = visit.param('channel')
    await visit.record('admin_delete_channel', { id }, (account) => deleteChannel(account, id))
    return { goTo: `${visit.path('channels')}?done=channel-deleted` }
  })
}

/** What the page shows beside the channel. */
interface Around {
  members: Awaited<ReturnType<Visit['account']['read']['channels']['members']>>
  at: Place & { path: string }
  now: number
}

async function show(visit: Visit) {
  const { account, query } = visit
  const { channels } = account.read
  // By id alone: the name that fits no channel.
  const channel = await channels.byRef(visit.param('channel'), '')
  if (!channel) throw new GridError('channel_not_found', 'There is no such channel, or it was deleted.')
  const at = { ...placeOf(query), path: visit.path('channels', channel.id) }
  const mayManage = visit.may('manage')
  const [members, outside] = await Promise.all([
    channels.members(channel.id, pageSize, at.offset),
    mayManage ? channels.outside(channel.id, at.search, maxOffered + 1) : [],
  ])
  const around = { members, at: { ...at, search: '' }, now: account.deps.now() }
  const { rest } = {
    ...formFault(visit, at.path, ['description']),
    ...formFault(visit, `${at.path}/members`, ['members']),
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
          <Members visit={visit} channel={channel} around={around} />
        </div>
        <div class='stack'>
          {mayManage && (
            <AddMembers
              visit={visit}
              outside={outside}
              path={at.path}
              search={at.search}
              isFull={channel.memberCount >= maxMembers}
            />
          )}
          <About visit={visit} channel={channel} around={around} />
          {mayManage && (
            <DeleteCard
              noun='channel'
              lead='It takes no more posts. What was posted stays readable to those who got it.'
              action={visit.path('channels', channel.id, 'delete')}
              csrf={visit.csrf}
              question={
                <>
                  Delete <strong>#{channel.name}</strong> with{' '}
                  {counted(channel.memberCount, 'member')}? This cannot be undone.
                </>
              }
            />
          )}
        </div>
      </div>
    </>,
  )
}

function Members({ visit, channel, around }: { visit: Visit; channel: Channel; around: Around }) {
  const { members, at, now } = around
  const mayManage = visit.may('manage')
  if (channel.memberCount === 0) {
    return (
      <Card title='Members'>
        <EmptyState icon='agents' title='Nobody is in this channel'>
          {mayManage
            ? 'Add agents of the account. They can post here at once, and get what the others post.'
            : 'Owners and admins of the account can add agents.'}
        </EmptyState>
      </Card>
    )
  }
  return (
    <Card title='Members' lead={counted(channel.memberCount, 'agent')} isFlush>
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
          { title: 'Since', cell: ({ joinedAt }) => <Time at={joinedAt} now={now} /> },
          ...(mayManage
            ? [{
              title: 'Remove',
              isUntitled: true,
              align: 'end' as const,
              cell: ({ id, alias }: Around['members'][number]) => (
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

function About({ visit, channel, around: { at, now } }: { visit: Visit; channel: Channel; around: Around }) {
  const fault = formFault(visit, at.path, ['description'])
  const isPosted = new URL(visit.request.url).pathname === at.path && visit.form.has('description')
  return (
    <Card title='About it'>
      <Facts
        items={[['Name', <code>#{channel.name}</code>], ['Created', <Time at={channel.createdAt} now={now} />]]}
      />
      {visit.may('manage')
        ? (
          <Form action={at.path} csrf={visit.csrf}>
            <TextArea
              name='description'
              label='Description'
              hint='What it is for; agents read it.'
              value={isPosted ? visit.form.get('description')! : channel.description}
              error={fault.description}
              maxLength={maxDescriptionLength}
              rows={3}
              isOptional
            />
            <div class='row'>
              <SubmitButton kind='plain'>Save</SubmitButton>
            </div>
          </Form>
        )
        : <OnlyManagers visit={visit} what='change channels and their members' />}
      <p class='soft small'>
        A member posts here by sending to <code>#{channel.name}</code>.
      </p>
    </Card>
  )
}
