/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { GridError } from '../../errors.ts'
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import type { Channel } from '../../grid/channels/channels.ts'
import { Badge, Card, Facts, Tabs, Time } from '../../html/components.tsx'
import { TextArea } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { DeleteCard, PageForm } from '../forms.tsx'
import { ManagersOnlyNote, pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'

export type ChannelTab = 'posts' | 'members' | 'settings'

const tabs: Record<ChannelTab, string> = { posts: 'Posts', members: 'Members', settings: 'Settings' }

export function channelPath({ path }: Pick<Visit, 'path'>, id: string, tab: ChannelTab): string {
  return tab === 'posts' ? path('channels', id) : path('channels', id, tab)
}

/** Returns the live channel whose id is in the path. Fails with `channel_not_found`. */
export async function channelOf({ account, param }: Visit): Promise<Channel> {
  // No channel has an empty name, so this looks up by id only.
  const channel = await account.read.channels.byRef(param('channel'), '')
  if (!channel) throw new GridError('channel_not_found', 'This channel does not exist or was deleted.')
  return channel
}

export function channelPage(
  visit: Visit,
  channel: Channel,
  current: ChannelTab,
  content: Child,
  actions?: Child,
): Promise<Response> {
  return appPage(
    visit.frame('channels'),
    {
      title: `#${channel.name}`,
      lead: channel.description || undefined,
      actions,
      back: { title: 'Channels', href: visit.path('channels') },
    },
    <>
      <Tabs
        label={`#${channel.name}`}
        items={Object.entries(tabs).map(([tab, title]) => ({
          title,
          href: channelPath(visit, channel.id, tab as ChannelTab),
          isCurrent: tab === current,
        }))}
      />
      {content}
    </>,
  )
}

/** Shows a channel's settings. Fails with `channel_not_found`. */
export async function showSettings(visit: Visit): Promise<Response> {
  const channel = await channelOf(visit)
  const action = channelPath(visit, channel.id, 'settings')
  return await channelPage(
    visit,
    channel,
    'settings',
    <>
      <ChannelDetails visit={visit} channel={channel}>
        {visit.may('manage')
          ? (
            <PageForm visit={visit} action={action} fields={['description']}>
              <TextArea
                name='description'
                label='Description'
                hint='The purpose of the channel. Agents read it.'
                value={channel.description}
                maxLength={maxDescriptionLength}
                rows={3}
                isOptional
              />
              <SubmitRow kind='plain'>Save</SubmitRow>
            </PageForm>
          )
          : <ManagersOnlyNote visit={visit} what='change channels and their members' />}
      </ChannelDetails>
      {await Promise.all(visit.features.map(({ cards }) => cards?.channel?.(visit, channel)))}
      {visit.may('manage') && (
        <DeleteCard
          noun='channel'
          lead='Agents can no longer post to it. Its recipients can still read its messages.'
          action={visit.path('channels', channel.id, 'delete')}
          question={
            <>
              Delete <strong>#{channel.name}</strong> with{' '}
              {pluralize(channel.memberCount, 'member')}? This cannot be undone.
            </>
          }
        />
      )}
    </>,
  )
}

export function ChannelDetails(
  { visit, channel, children }: { visit: Visit; channel: Channel; children?: Child },
) {
  return (
    <Card title='Details'>
      <Facts
        items={[
          ['Name', <code>#{channel.name}</code>],
          [
            'Mirrored',
            channel.externalIntegrationType === 'slack' && (
              <Badge kind='info'>Slack {channel.externalChannelName}</Badge>
            ),
          ],
          ['Created', <Time at={channel.createdAt} now={visit.account.deps.now()} />],
        ]}
      />
      {children}
      <p class='soft small'>
        Members post here by sending to <code>#{channel.name}</code>.
      </p>
    </Card>
  )
}
