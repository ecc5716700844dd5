/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { GridError } from '../../errors.ts'
import type { Channel } from '../../grid/channels/channels.ts'
import { Tabs } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import type { Visit } from '../visit.ts'

/** The pages of one channel. */
export type ChannelTab = 'posts' | 'members' | 'settings'

const tabs: Record<ChannelTab, string> = { posts: 'Posts', members: 'Members', settings: 'Settings' }

/** The path of a page of a channel. */
export function channelPath({ path }: Pick<Visit, 'path'>, id: string, tab: ChannelTab): string {
  return tab === 'posts' ? path('channels', id) : path('channels', id, tab)
}

/** The live channel that the path names by its id. Fails with `channel_not_found`. */
export async function channelOf({ account, param }: Visit): Promise<Channel> {
  // Look up by id only; no channel has an empty name.
  const channel = await account.read.channels.byRef(param('channel'), '')
  if (!channel) throw new GridError('channel_not_found', 'This channel does not exist or was deleted.')
  return channel
}

/** A page of one channel with its tabs. */
export function channelPage(visit: Visit, channel: Channel, current: ChannelTab, content: Child): Promise<Response> {
  return appPage(
    visit.frame('channels'),
    {
      title: `#${channel.name}`,
      lead: channel.description || undefined,
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
