/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import {
  changeChannelMembers,
  createChannel,
  deleteChannel,
  followChannel,
  setWake,
  updateChannel,
  wakes,
} from '../../grid/channels/channels.ts'
import { findPersonAlias } from '../../grid/people/person-aliases.ts'
import { Card, Time } from '../../html/components.tsx'
import { TextArea, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { aliasPattern } from '../../aliases.ts'
import { AgentChoice, choosableAgents, parseAgentRefs } from '../agents/agent-choice.tsx'
import { PageForm } from '../forms.tsx'
import { listPage, listPosition, ManagersOnlyNote, pageSize } from '../listing.tsx'
import type { AccountPages, Visit } from '../visit.ts'
import { showMembers } from './channel-members.tsx'
import { showPosts } from './channel-posts.tsx'
import { showSettings } from './channel.tsx'

/** Registers the list of channels, the form for a new one, and each channel's pages. */
export function channelPages({ get, post, may }: AccountPages): void {
  get('/channels', list)
  get('/channels/new', showNew)
  post('/channels/new', async (visit) => {
    const { form } = visit
    const personAlias = await findPersonAlias(visit.account)
    const members = parseAgentRefs(form, 'members')
    const input = {
      name: form.get('name') ?? '',
      description: form.get('description') ?? '',
      members: personAlias && !members.some((ref) =>
          [personAlias.agentId, personAlias.alias, `@${personAlias.alias}`].includes(ref)
        )
        ? [...members, personAlias.agentId]
        : members,
    }
    const { channel } = await visit.record('admin_create_channel', input, (account) => createChannel(account, input))
    return visit.done('channel-created', 'channels', channel.id)
  }, showNew)

  get('/channels/:channel', showPosts)
  may('use').post('/channels/:channel/follow', async (visit) => {
    const [channel, follows] = [visit.param('channel'), visit.form.has('follows')]
    await followChannel(visit.account, channel, follows)
    return visit.done(follows ? 'channel-followed' : 'channel-unfollowed', 'channels', channel)
  }, showPosts)

  get('/channels/:channel/members', showMembers)
  post('/channels/:channel/members', async (visit) => {
    const input = { channel: visit.param('channel'), add: parseAgentRefs(visit.form, 'members') }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return visit.done('members-added', 'channels', input.channel, 'members')
  }, showMembers)
  post('/channels/:channel/members/wake', async (visit) => {
    const [channel, agent] = [visit.param('channel'), visit.form.get('agent') ?? '']
    const wake = wakes.find((one) => one === visit.form.get('wake')) ?? null
    await visit.record('set_wake', { channel, agent, wake }, (account) => setWake(account, { channel, agent, wake }))
    return visit.done('saved', 'channels', channel, 'members')
  }, showMembers)
  post('/channels/:channel/members/remove', async (visit) => {
    const input = { channel: visit.param('channel'), remove: parseAgentRefs(visit.form, 'members') }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return visit.done('member-removed-from-channel', 'channels', input.channel, 'members')
  })

  get('/channels/:channel/settings', showSettings)
  post('/channels/:channel/settings', async (visit) => {
    const input = { channel: visit.param('channel'), description: visit.form.get('description') ?? '' }
    await visit.record('update_channel', input, (account) => updateChannel(account, input))
    return visit.done('saved', 'channels', input.channel, 'settings')
  }, showSettings)

  post('/channels/:channel/delete', async (visit) => {
    const id = visit.param('channel')
    await visit.record('admin_delete_channel', { id }, (account) => deleteChannel(account, id))
    return visit.done('channel-deleted', 'channels')
  })
}

async function list(visit: Visit) {
  const { account, query } = visit
  const at = { ...listPosition(query), path: visit.path('channels') }
  const [channels, total] = await Promise.all([
    account.read.channels.search(at.search, pageSize, at.offset),
    account.read.channels.searchTotal(at.search),
  ])
  const now = account.deps.now()
  return listPage(visit, {
    section: 'channels',
    noun: 'channel',
    lead: 'Groups of agents. When a member posts to a channel, all other members receive the message.',
    empty: (
      <>
        In a channel, agents of the account talk as a group: all other members receive each message.{' '}
        {!visit.may('manage') && 'Owners and admins of the account can create one.'}
      </>
    ),
    at,
    total,
    isFound: channels.length > 0,
    searched: 'name or description',
    table: (
      <Table
        id='channels'
        caption='Channels'
        rows={channels}
        columns={[
          {
            title: 'Channel',
            cell: ({ id, name, description }) => (
              <div>
                <a href={visit.path('channels', id)}>#{name}</a>
                {description && <div class='soft small cut' dir='auto'>{description}</div>}
              </div>
            ),
          },
          { title: 'Members', align: 'number', cell: ({ memberCount }) => memberCount },
          { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
        ]}
      />
    ),
  })
}

async function showNew(visit: Visit) {
  const { account, form } = visit
  const agents = await choosableAgents(account)
  const content = visit.may('manage')
    ? (
      <PageForm visit={visit} acts action={visit.path('channels', 'new')} fields={['name', 'description', 'members']}>
        <TextInput
          name='name'
          label='Name'
          before='#'
          hint='3 to 32 characters: a-z, 0-9 and hyphens. It cannot be changed later, because messages contain it.'
          pattern={aliasPattern.source.slice(1, -1).replaceAll('-]', '\\-]')}
          maxLength={32}
          isRequired
          isMono
          isFocused
        />
        <TextArea
          name='description'
          label='Description'
          hint='The purpose of the channel. Agents read it.'
          maxLength={maxDescriptionLength}
          rows={3}
          isOptional
        />
        <AgentChoice
          name='members'
          label='Members'
          hint={[
            'You can add more later.',
            'Aliases, separated by spaces, commas or lines. You can search for agents and add more later.',
          ]}
          agents={agents}
          value={form.getAll('members').join(' ')}
          isOptional
        />
        <SubmitRow cancel={visit.path('channels')}>Create channel</SubmitRow>
      </PageForm>
    )
    : <ManagersOnlyNote visit={visit} what='create channels' />
  return await appPage(
    visit.frame('channels'),
    {
      title: 'New channel',
      lead: 'Members can post to it and receive its messages. With an alias, you are one of them.',
      back: { title: 'Channels', href: visit.path('channels') },
    },
    <Card>{content}</Card>,
  )
}
