/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import { createChannel } from '../../grid/channels/channels.ts'
import { Card, Notice, Time } from '../../html/components.tsx'
import { ButtonLink, ChoiceList, Form, SubmitButton, TextArea, TextInput } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { aliasPattern } from '../../lib/alias.ts'
import { formErrors } from '../form-errors.ts'
import { listPage, listPosition, ManagersOnlyNote, pageSize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { parseAgentRefs } from './add-members.tsx'
import { oneChannelPages } from './channel-actions.ts'

/** With more agents than this, the form asks for aliases instead of showing checkboxes. */
const maxCheckboxes = 50

/** Registers the list of channels, the form for a new one, and the page of each. */
export function channelPages(pages: Pages<Visit>): void {
  pages.get('/channels', list)
  pages.get('/channels/new', showNew)
  pages.post('/channels/new', create, showNew)
  oneChannelPages(pages)
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

async function create(visit: Visit) {
  const { form } = visit
  const input = {
    name: form.get('name') ?? '',
    description: form.get('description') ?? '',
    members: parseAgentRefs(form),
  }
  const { channel } = await visit.record('admin_create_channel', input, (account) => createChannel(account, input))
  return { redirectTo: `${visit.path('channels', channel.id)}?done=channel-created` }
}

async function showNew(visit: Visit) {
  const { account, form } = visit
  const action = visit.path('channels', 'new')
  const errors = formErrors(visit, action, ['name', 'description', 'members'])
  const agents = await account.read.agents.page('', maxCheckboxes + 1)
  const members = {
    name: 'members',
    label: 'Members',
    isOptional: true,
    error: errors.members,
  }
  const content = visit.may('manage')
    ? (
      <Form action={action} csrf={visit.csrf}>
        <TextInput
          name='name'
          label='Name'
          before='#'
          hint='3 to 32 characters: a-z, 0-9 and hyphens. It cannot be changed later, because messages contain it.'
          value={form.get('name') ?? ''}
          error={errors.name}
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
          value={form.get('description') ?? ''}
          error={errors.description}
          maxLength={maxDescriptionLength}
          rows={3}
          isOptional
        />
        {agents.length > 0 && agents.length <= maxCheckboxes
          ? (
            <ChoiceList
              {...members}
              hint='You can add more later.'
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
              hint='Aliases, separated by spaces, commas or lines. You can search for agents and add more later.'
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
    : <ManagersOnlyNote visit={visit} what='create channels' />
  return await appPage(
    visit.frame('channels'),
    {
      title: 'New channel',
      lead: 'Members can post to it and receive its messages.',
      back: { title: 'Channels', href: visit.path('channels') },
    },
    <>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <Card>{content}</Card>
    </>,
  )
}
