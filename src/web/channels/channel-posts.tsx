/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** A channel's posts. See docs/people.md, "People who read". */
import type { Channel } from '../../grid/channels/channels.ts'
import { readerOf } from '../../grid/conversations/may-read.ts'
import { threadOf } from '../../grid/conversations/threads.ts'
import { findPersonAlias } from '../../grid/people/person-aliases.ts'
import { Badge, Card, EmptyState, WithFacts } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { FaceSymbols } from '../../html/conversation/faces.tsx'
import { answerHref, composerOf, firstPost } from '../conversations/composer.tsx'
import { openPane, positionIn } from '../conversations/conversations.tsx'
import { timelineNames, TimelinePane } from '../conversations/timeline.tsx'
import { pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'
import { ChannelDetails, channelOf, channelPage, channelPath } from './channel.tsx'

const maxNamed = 12

/** Shows a channel's page: its posts and facts. Fails with `channel_not_found`. */
export async function showPosts(visit: Visit): Promise<Response> {
  const { account, param, path } = visit
  const id = param('channel')
  const [{ channel, reader, pane }, members, follow] = await Promise.all([
    channelAndPosts(visit),
    account.read.channels.members(id, maxNamed),
    followButton(visit, id),
  ])
  const composer = pane ? composerOf(visit, pane.open, pane.composing) : firstPost(visit, reader, channel)
  const here = path('channels', channel.id)
  return await channelPage(
    visit,
    channel,
    'posts',
    <WithFacts
      summary={pluralize(channel.memberCount, 'member')}
      facts={
        <div id='facts' class='fresh' data-fresh='minute'>
          <ChannelFacts visit={visit} channel={channel} members={members} />
        </div>
      }
    >
      {pane
        ? (
          <div class='card flush posts' id='posts'>
            <FaceSymbols names={[...timelineNames(pane.open)].map((name) => name.replace('@', ''))} />
            <TimelinePane
              visit={visit}
              open={pane.open}
              link={(place) =>
                `${here}?${new URLSearchParams(Object.entries(place).map(([name, value]) => [name, String(value)]))}`}
              paused={pane.paused}
              isFromTop={!('newest' in pane.position || 'before' in pane.position)}
              title={<h2>Posts</h2>}
              composer={composer}
              replyHref={answerHref(pane.open, { show: 'all' })}
            />
          </div>
        )
        : (
          <div id='posts' data-fresh='thread'>
            <Card>
              <EmptyState icon='conversations' title='No messages yet'>
                Members post here by sending to <code>#{channel.name}</code>.
              </EmptyState>
              {composer}
            </Card>
          </div>
        )}
    </WithFacts>,
    follow,
  )
}

async function channelAndPosts(visit: Visit) {
  const { account, actor, param } = visit
  const [channel, reader, thread] = await Promise.all([
    channelOf(visit),
    readerOf(account),
    threadOf(account, { kind: 'channel', key: param('channel') }, actor.userId),
  ])
  const place = thread && Promise.resolve({ reader, thread })
  return { channel, reader, pane: place && await openPane(visit, thread.id, positionIn(visit), { place }) }
}

/** The button that turns notifications of all posts on or off. Shown to members only. */
async function followButton({ account, may, path }: Visit, id: string) {
  const personAlias = may('use') ? await findPersonAlias(account) : undefined
  const membership = personAlias && await account.read.channels.membership(id, personAlias.agentId)
  if (!membership) return undefined
  const follows = membership.follows === 1
  return (
    <ButtonForm
      action={path('channels', id, 'follow')}
      fields={follows ? {} : { follows: 'on' }}
      kind={follows ? 'quiet' : 'plain'}
    >
      {follows ? 'Stop following' : 'Follow'}
    </ButtonForm>
  )
}

function ChannelFacts(
  { visit, channel, members }: {
    visit: Visit
    channel: Channel
    members: Awaited<ReturnType<Visit['account']['read']['channels']['members']>>
  },
) {
  const more = channel.memberCount - members.length
  return (
    <>
      <Card title='Members'>
        {members.length === 0 && <p class='soft'>No members yet.</p>}
        <ul class='name-list'>
          {members.map(({ alias, type }) => (
            <li>
              <a href={visit.path('agents', alias)}>@{alias}</a>
              {type === 'human' && <Badge kind='info'>person</Badge>}
            </li>
          ))}
        </ul>
        {more > 0 && (
          <a class='alone' href={channelPath(visit, channel.id, 'members')}>{pluralize(more, 'more member')}</a>
        )}
      </Card>
      <ChannelDetails visit={visit} channel={channel} />
    </>
  )
}
