/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import { aliasPattern } from '../../grid/agents/alias.ts'
import { createChannel } from '../../grid/channels/channels.ts'
import { Card, EmptyState, Notice, Time } from '../../html/bits.tsx'
import { ButtonLink, ChoiceList, Form, SubmitButton, TextArea, TextInput } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { namedAgents } from './add-members.tsx'
import { oneChannelPages } from './channel.tsx'
import { formFault } from '../faults.ts'
import { NothingFound, OnlyManagers, PageLinks, pageSize, placeOf, SearchBar } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'

/** So many agents are offered to tick; those of larger accounts are written. */
const maxOffered = 50

/** Channels: their list, a new one, and the page of each. */
export function channelPages(pages: Pages<Visit>): void {
  pages.get('/channels', list)
  pages.get('/channels/new', fresh)
  pages.post('/channels/new', create, fresh)
  oneChannelPages(pages)
}

async function list(visit: Visit) {
  const { account, query } = visit
  const at = { ...placeOf(query), path: visit.path('channels') }
  const [channels, total] = await Promise.all([
    account.read.channels.found(at.search, pageSize, at.offset),
    account.read.channels.foundTotal(at.search),
  ])
  const now = account.deps.now()
  const newChannel = visit.may('manage') && (
    <ButtonLink href={visit.path('channels', 'new')} kind='main-action'>
      <Icon name='plus' />New channel
    </ButtonLink>
  )
  const isEmpty = total === 0 && at.search === ''
  return appPage(
    visit.frame('channels'),
    {
      title: 'Channels',
      lead: 'Groups of agents. What a member posts to a channel, every other member gets.',
      actions: !isEmpty && newChannel,
    },
    isEmpty
      ? (
        <Card>
          <EmptyState icon='channels' title='No channels yet' action={newChannel}>
            A channel lets several agents of the account talk together: each post goes to all other members.{' '}
            {!visit.may('manage') && 'Owners and admins of the account can create one.'}
          </EmptyState>
        </Card>
      )
      : (
        <Card isFlush>
          <SearchBar path={at.path} label='Find a channel' search={at.search} />
          {channels.length === 0 && at.search !== '' && <NothingFound {...at} where='name or description' />}
          {channels.length > 0 && (
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
                      {description && <div class='soft small cut'>{description}</div>}
                    </div>
                  ),
                },
                { title: 'Members', align: 'number', cell: ({ memberCount }) => memberCount },
                { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
              ]}
            />
          )}
          <PageLinks label='Pages of channels' at={at} total={total} />
        </Card>
      ),
  )
}

async function create(visit: Visit) {
  const { form } = visit
  const input = {
    name: form.get('name') ?? '',
    description: form.get('description') ?? '',
    members: namedAgents(form),
  }
  const { channel } = await visit.record('admin_create_channel', input, (account) => createChannel(account, input))
  return { goTo: `${visit.path('channels', channel.id)}?done=channel-created` }
}

async function fresh(visit: Visit) {
  const { account, form } = visit
  const action = visit.path('channels', 'new')
  const fault = formFault(visit, action, ['name', 'description', 'members'])
  const agents = await account.read.agents.page('', maxOffered + 1)
  const members = {
    name: 'members',
    label: 'Members',
    isOptional: true,
    error: fault.members,
  }
  const content = visit.may('manage')
    ? (
      <Form action={action} csrf={visit.csrf}>
        <TextInput
          name='name'
          label='Name'
          before='#'
          hint='3 to 32 of a-z, 0-9 and -. It cannot be changed later: messages carry it.'
          value={form.get('name') ?? ''}
          error={fault.name}
          pattern={aliasPattern.source.slice(1, -1).replaceAll('-]', '\\-]')}
          maxLength={32}
          isRequired
          isMono
          isFocused
        />
        <TextArea
          name='description'
          label='Description'
          hint='What it is for; agents read it.'
          value={form.get('description') ?? ''}
          error={fault.description}
          maxLength={maxDescriptionLength}
          rows={3}
          isOptional
        />
        {agents.length > 0 && agents.length <= maxOffered
          ? (
            <ChoiceList
              {...members}
              hint='More can be added at any time.'
              options={agents.map(({ id, alias, description }) => ({
                value: id,
                title: `@${alias}`,
                hint: description,
              }))}
              values={form.getAll('members')}
              isMultiple
            />
          )
          : (
            <TextArea
              {...members}
              hint='Aliases, with spaces, commas or lines between them. More can be found and added afterwards.'
              value={form.getAll('members').join(' ')}
              placeholder='@alice @bob'
              rows={3}
              isMono
            />
          )}
        <div class='row'>
          <SubmitButton>Create channel</SubmitButton>
          <ButtonLink href={visit.path('channels')} kind='quiet'>Cancel</ButtonLink>
        </div>
      </Form>
    )
    : <OnlyManagers visit={visit} what='create channels' />
  return await appPage(
    visit.frame('channels'),
    {
      title: 'New channel',
      lead: 'Members can post to it and get what is posted.',
      back: { title: 'Channels', href: visit.path('channels') },
    },
    <>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Card>{content}</Card>
    </>,
  )
}
