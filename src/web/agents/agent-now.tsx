/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** An agent's current state: its presence, waiting messages, and latest conversations. */
import type { Child } from 'hono/jsx'
import { isProgram, presenceOf } from '../../grid/agents/find-agent.ts'
import { answerTimesOf } from '../../grid/conversations/answer-times.ts'
import { type AgentTalk, talkOfAgent } from '../../grid/conversations/list.ts'
import { whoMayRead } from '../../grid/conversations/open.ts'
import { remoteState } from '../../grid/remote-agents/manage.ts'
import { quotasOf } from '../../grid/message/quota.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState, Facts, Time, WithFacts } from '../../html/components.tsx'
import { FaceSymbols } from '../../html/conversation/faces.tsx'
import { MessageItems } from '../../html/conversation/message.tsx'
import { ButtonForm, ButtonLink } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { writePath } from '../../html/paths.ts'
import { CopyText } from '../../html/secrets.tsx'
import type { Agent } from '../../store/account/agents.ts'
import type { FullInbox } from '../../store/account/usage.ts'
import { fullness } from '../attention/condition-words.tsx'
import type { Thread } from '../../grid/conversations/threads.ts'
import { labelOf, namesOf, shownMessage } from '../conversations/shown.ts'
import { pluralize } from '../listing.tsx'
import { ReservationTable } from '../reservations/reservations.tsx'
import type { Visit } from '../visit.ts'
import { typeName } from './agent-fields.tsx'
import { AnswerTimes } from './answer-times.tsx'
import { RemoteAgent } from './remote-agent.tsx'
import { accessOf, agentOf, agentPage, agentPath, PresenceNow } from './agent.tsx'

const maxChannels = 20
const maxReservations = 20

/** One agent's page. Fails with `agent_not_found`. */
export async function showAgent(visit: Visit): Promise<Response> {
  const { account, param, requestId } = visit
  const [talk, found] = await Promise.all([talkOfAgent(account, param('alias'), { requestId }), agentNow(visit)])
  const [
    agent,
    answerTimes,
    unread,
    full,
    oldest,
    parkedCount,
    trial,
    signup,
    joined,
    holder,
    access,
    remote,
    reserved,
    scheduled,
  ] = found
  const now = account.deps.now()
  const seen = <Time at={agent.lastSeenAt} now={now} />
  const presence = presenceOf(account, agent)
  const queue = `${unread.toLocaleString('en')} unread`
  const about: [string, Child][] = [
    ['Now', presence && <PresenceNow presence={presence} lastSeenAt={null} now={now} />],
    // A remote agent counts as seen only when it uses its key. If it never has, omit the row.
    ['Last seen', (agent.type !== 'a2a' || agent.lastSeenAt !== null) && seen],
    ['Inbox', full ? <NearlyFull {...full} /> : queue],
    ['Oldest unread', oldest && <OldestUnread {...oldest} now={now} />],
    ['Parked', parkedCount > 0 && <Parked visit={visit} agent={agent} count={parkedCount} />],
    ['To be sent', scheduled.ofAgent > 0 && pluralize(scheduled.ofAgent, 'message')],
    ['Type', typeName(agent.type)],
    ['Name', holder && <Name text={holder.name || holder.email} />],
    ['Visibility', agent.visibility === 'public' ? <Badge kind='info'>public</Badge> : <Badge>private</Badge>],
    ['Created', <Time at={agent.createdAt} now={now} />],
    ['Signed up from', signup.signupAddress !== null && <code>{signup.signupAddress}</code>],
    ['Owner email', signup.signupAddress !== null && signup.signupEmail],
    ['Trial', trial && `${trial.used} of ${trial.max} messages used`],
    ['Id', <CopyText id='agent-id' label='the id of the agent' text={agent.id} />],
  ]
  const server = remote && <RemoteAgent visit={visit} agent={agent} state={remote} now={now} />
  const isFailing = remote !== undefined && remote.failingSince !== null
  const isOther = talk.reader.personAlias?.agentId !== agent.id
  return await agentPage(visit, agent, 'now', {
    fresh: ['thread', 'state', `presence:${agent.id}`, 'minute'],
    threads: [...new Set(talk.messages.map(({ thread }) => thread.id))],
    actions: visit.may('use') && isOther && agent.type !== 'hook' && (
      <ButtonLink href={writePath(visit.membership.id, `@${agent.alias}`)} kind='plain'>
        <Icon name='edit' size={16} />Write
      </ButtonLink>
    ),
    content: (
      <WithFacts
        summary={
          <>
            {queue},{' '}
            {presence ? <PresenceNow presence={presence} lastSeenAt={null} now={now} /> : <>last seen {seen}</>}
          </>
        }
        facts={
          <>
            {isFailing && server}
            <Card title='About'>
              <Facts items={about} />
            </Card>
            {!isFailing && server}
            <AnswerTimes times={answerTimes} />
            {reserved.length > 0 && (
              <Card title='Reservations' isFlush>
                <ReservationTable visit={visit} reservations={reserved} isOfOne />
              </Card>
            )}
            <TalksWith talk={talk} agent={agent} visit={visit} now={now} />
            {joined.length > 0 && (
              <Card title='Channels'>
                <ul class='name-list'>
                  {joined.map(({ id, name }) => (
                    <li>
                      <a href={visit.path('channels', id)}>#{name}</a>
                    </li>
                  ))}
                </ul>
              </Card>
            )}
            {access && <Access visit={visit} agent={agent} now={now} {...access} />}
          </>
        }
      >
        <LastMessages talk={talk} agent={agent} visit={visit} now={now} />
      </WithFacts>
    ),
  })
}

async function agentNow(visit: Visit) {
  const { account } = visit
  const { inbox, agents, agentSettings, channels, parked, personAliases, reservations, usage } = account.read
  const agent = await agentOf(visit)
  return await Promise.all([
    agent,
    answerTimesOf(account, agent.id),
    inbox.allUnread(agent.id),
    usage.full(agent.id, quotasOf(account, { agentId: agent.id })),
    inbox.oldestUnread(agent.id),
    parked.count(agent.id),
    agents.trial(agent.id),
    agentSettings.byId(agent.id),
    channels.joined(agent.id, maxChannels),
    agent.type === 'human' ? personAliases.holder(agent.id) : undefined,
    isProgram(agent) ? accessOf(visit, agent) : undefined,
    agent.remoteUrl === null ? undefined : remoteState(account, agent.id),
    reservations.page({ agent: agent.id, space: null }, 0, maxReservations),
    account.read.scheduled.waiting(agent.id),
  ])
}

function NearlyFull(full: FullInbox) {
  const { unread, max, refused } = full
  return (
    <>
      <Badge kind={unread >= max ? 'bad' : 'warning'}>{fullness(full)}</Badge> {unread.toLocaleString('en')} of{' '}
      {max.toLocaleString('en')} unread
      {refused > 0 && `, ${pluralize(refused, 'message')} refused today`}
    </>
  )
}

function OldestUnread({ fromAlias, at, now }: { fromAlias: string; at: number; now: number }) {
  return (
    <>
      <Time at={at} now={now} />, from <Name text={`@${fromAlias}`} />
    </>
  )
}

/** Shows the number of parked messages, with a button to requeue them. */
function Parked({ visit, agent, count }: { visit: Visit; agent: Agent; count: number }) {
  return (
    <>
      {pluralize(count, 'message')}
      {visit.may('manage') && (
        <ButtonForm action={visit.path('agents', agent.alias, 'requeue')} kind='plain' isSmall>Put back</ButtonForm>
      )}
    </>
  )
}

interface TalkProps {
  talk: AgentTalk
  agent: Agent
  visit: Visit
  now: number
}

function LastMessages({ talk: { messages, hidden, reader }, agent, visit, now }: TalkProps) {
  const { path } = visit
  if (messages.length === 0) {
    return (
      <Card title='Last messages'>
        <EmptyState icon='conversations' title={hidden > 0 ? 'You see numbers only' : 'No messages yet'}>
          {hidden > 0 ? whoMayRead(reader, 'pair') : `Messages that @${agent.alias} sends and receives appear here.`}
        </EmptyState>
      </Card>
    )
  }
  const shown = messages.map((message) => ({
    ...shownMessage(message, path, now),
    threadHref: `${path('conversations', String(message.thread.id))}?m=${message.seq}#m${message.seq}`,
  }))
  return (
    <Card title='Last messages' isFlush>
      <FaceSymbols names={messages.map(({ fromAlias }) => fromAlias)} />
      <ol class='messages'>
        <MessageItems messages={shown} now={now} />
      </ol>
      {hidden > 0 && (
        <p class='pane-note'>
          {pluralize(hidden, 'message')} cannot be shown to you. {whoMayRead(reader, 'pair')}
        </p>
      )}
    </Card>
  )
}

/** Lists the agents and channels of the agent's newest conversations, each linked to the conversation. */
function TalksWith({ talk: { talks }, agent, visit, now }: TalkProps) {
  const nameOf = (thread: Thread) =>
    namesOf(thread).filter((name) => name !== `@${agent.alias}`).join(', ') || `@${agent.alias}`
  // The newest conversation with each agent or channel, and all conversations that have a label.
  const others = talks.filter((thread, n) =>
    thread.kind !== 'channel' &&
    (labelOf(thread) !== undefined || talks.findIndex((other) => nameOf(other) === nameOf(thread)) === n)
  )
  if (others.length === 0) return null
  return (
    <Card title='Talks with'>
      <ul class='name-list'>
        {others.map((thread) => (
          <li>
            <a href={visit.path('conversations', String(thread.id))}>
              <Name text={nameOf(thread)} />
            </a>
            {labelOf(thread) && (
              <span class='soft small'>
                <Name text={labelOf(thread)!} />
              </span>
            )}
            <span class='soft small'>
              <Time at={thread.lastAt} now={now} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function Access(
  { visit, agent, now, keys, programs }:
    & { visit: Visit; agent: Agent; now: number }
    & Awaited<ReturnType<typeof accessOf>>,
) {
  const used = (at: number | null) =>
    at === null ? 'never used' : (
      <>
        used <Time at={at} now={now} />
      </>
    )
  return (
    <Card title='Keys and programs'>
      <ul class='name-list'>
        {keys.length === 0 && programs.length === 0 && <li class='soft'>No program can act as it.</li>}
        {keys.map(({ name, last4, lastUsedAt }) => (
          <li>
            {name !== '' && <Name text={name} />}
            <code>grid_agt_…{last4}</code>
            <span class='soft small'>{used(lastUsedAt)}</span>
          </li>
        ))}
        {programs.map(({ clientName, lastUsedAt }) => (
          <li>
            <Name text={clientName} />
            <span class='soft small'>{used(lastUsedAt)}</span>
          </li>
        ))}
      </ul>
      <a class='alone' href={agentPath(visit, agent.alias, 'connect')}>
        {visit.may('manage') ? 'Connect, replace or disconnect' : 'Connect a client'}
      </a>
    </Card>
  )
}
