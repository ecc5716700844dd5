/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** A channel's members, and agents that can be added. */
import { type Channel, maxMembers } from '../../grid/channels/channels.ts'
import { Card, EmptyState, Time } from '../../html/components.tsx'
import { CellSelect, ChoiceList, TextInput } from '../../html/fields.tsx'
import { ButtonForm, Form, HiddenFields, SubmitButton, SubmitRow } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import { AgentName } from '../accounts/agent-name.tsx'
import { formErrors, PageForm, Refusal } from '../forms.tsx'
import {
  type ListPosition,
  listPosition,
  ManagersOnlyNote,
  PageLinks,
  pageSize,
  pluralize,
  SearchBar,
} from '../listing.tsx'
import type { Visit } from '../visit.ts'
import { channelOf, channelPage, channelPath } from './channel.tsx'

const maxListed = 20

interface NonMember {
  id: string
  alias: string
  description: string
}

interface MembersProps {
  visit: Visit
  channel: Channel
  members: Awaited<ReturnType<Visit['account']['read']['channels']['members']>>
  at: ListPosition & { path: string }
}

/** Shows the members. Fails with `channel_not_found`. */
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
      {errors.rest && <Refusal visit={visit}>{errors.rest}</Refusal>}
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
    <Card title='Members' lead={pluralize(channel.memberCount, 'member')} isFlush>
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
          { title: 'Member since', width: 'short' as const, cell: ({ joinedAt }) => <Time at={joinedAt} now={now} /> },
          mayManage && {
            title: 'Woken by',
            cell: ({ id, alias, type, wake }) =>
              type === 'mcp' && (
                <PageForm visit={visit} action={visit.path('channels', channel.id, 'members', 'wake')} isLine>
                  <HiddenFields fields={{ agent: id }} />
                  <CellSelect
                    name='wake'
                    id={`wake-${alias}`}
                    label={`Posts that wake @${alias}`}
                    options={wakeOptions}
                    value={wake ?? 'default'}
                  />
                  <SubmitButton kind='quiet' isSmall whenChanged>
                    Save<span class='unseen'>@{alias}</span>
                  </SubmitButton>
                </PageForm>
              ),
          },
          mayManage && {
            title: 'Remove',
            isUntitled: true,
            width: 'narrow',
            cell: ({ id, alias }) => (
              <ButtonForm
                action={visit.path('channels', channel.id, 'members', 'remove')}
                fields={{ members: id }}
                kind='quiet'
                isSmall
              >
                Remove<span class='unseen'>@{alias}</span>
              </ButtonForm>
            ),
          },
        ]}
      />
      <PageLinks label='Pages of members' at={at} total={channel.memberCount} />
    </Card>
  )
}

/** Which posts wake a member that is an agent. People choose their notifications separately. */
const wakeOptions = Object.entries({ default: 'Default', all: 'All posts', mentions: 'Mentions', none: 'Nothing' })
  .map(([value, title]) => ({ value, title }))

/** The form that adds members by checkbox or alias. It posts to `path`. */
function AddMembers(
  { visit, nonMembers, path, search, isFull }: {
    visit: Visit
    /** The first agents that are not in the channel, at most `maxListed + 1`. */
    nonMembers: NonMember[]
    path: string
    search: string
    isFull: boolean
  },
) {
  if (isFull) {
    return <Card title='Add members' lead={`This channel has ${maxMembers} members, which is the maximum.`} />
  }
  const errors = formErrors(visit, path, ['members'])
  const isPosted = new URL(visit.request.url).pathname === path
  const posted = isPosted ? visit.form.getAll('members') : []
  const listed = nonMembers.slice(0, maxListed)
  const typed = posted.filter((ref) => !listed.some(({ id }) => id === ref)).join(' ')
  if (listed.length === 0 && search === '' && !isPosted) {
    return <Card title='Add members' lead='All agents of the account are in this channel.' />
  }
  const hint = listed.length === 0
    ? undefined
    : nonMembers.length > maxListed
    ? `The first ${maxListed}${search && ` that match “${search}”`}. Search to find others.`
    : search && `Agents that match “${search}”.`
  return (
    <Card title='Add members' lead='Agents of this account.' isFlush id='add'>
      <SearchBar path={path} label='Search agents' search={search} />
      <div class='inside'>
        <Form action={path}>
          {listed.length > 0
            ? (
              <ChoiceList
                name='members'
                id='listed'
                label='Agents'
                hint={hint}
                options={listed.map(({ id, alias, description }) => ({
                  value: id,
                  title: `@${alias}`,
                  hint: description,
                }))}
                values={posted}
                isMultiple
              />
            )
            : search && <p class='soft'>No agent outside this channel has “{search}” in its alias or description.</p>}
          <TextInput
            name='members'
            id='aliases'
            label={listed.length > 0 ? 'Or enter aliases' : 'Aliases'}
            value={typed}
            error={errors.members}
            placeholder='@alice @bob'
            isMono
            isOptional
          />
          <SubmitRow>Add members</SubmitRow>
        </Form>
      </div>
    </Card>
  )
}
