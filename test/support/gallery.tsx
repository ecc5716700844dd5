/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Every component with realistic content, on every kind of page: for screenshots and accessibility checks. */
import { readConfig } from '../../src/config.ts'
import { GridError } from '../../src/errors.ts'
import { AgentIcon } from '../../src/html/agent-icon.tsx'
import { HourlyChart } from '../../src/html/chart.tsx'
import { Avatar, Badge, Card, Disclosure, EmptyState, Facts, LocalTime, NarrowFold, Stat, Tabs, Time, WithFacts } from '../../src/html/components.tsx'
import { errorPage } from '../../src/html/error-page.tsx'
import { ButtonLink, QueryForm, SubmitButton, TextInput } from '../../src/html/form.tsx'
import { Icon } from '../../src/html/icons.tsx'
import { appPage } from '../../src/html/layout.tsx'
import { ConfirmDelete, CopyBlock, CopyText, SecretDialog } from '../../src/html/secrets.tsx'
import { Pagination, Table } from '../../src/html/table.tsx'
import { welcome } from '../../src/web/people/welcome.tsx'
import { attentionPages } from './gallery-attention.tsx'
import { chartPages } from './gallery-charts.tsx'
import { conversationPages } from './gallery-conversations.tsx'
import { formPages } from './gallery-forms.tsx'
import { csrf, frame, minute, now } from './gallery-frame.ts'

const agents = [
  { alias: 'alice', description: 'Answers questions about orders', kind: 'grid', unread: 0, seen: 2 },
  {
    alias: 'bob',
    description: 'Reviews pull requests and says what he would change',
    kind: 'grid',
    unread: 3,
    seen: 47,
  },
  { alias: 'release-manager', description: 'Cuts releases on Thursdays', kind: 'grid', unread: 0, seen: 220 },
  { alias: 'translator', description: '', kind: 'remote', unread: 128, seen: 4_000 },
  {
    alias: 'night-watch',
    description: 'Reads logs and alerts people only when it matters',
    kind: 'trial',
    unread: 1,
    seen: 90_000,
  },
]

const perHour = [3, 0, 0, 1, 0, 2, 9, 24, 61, 88, 74, 92, 55, 70, 118, 96, 81, 44, 30, 12, 9, 16, 7, 4]
const bars = Array.from({ length: 24 }, (_, index) => {
  const at = Date.parse('2026-11-20T16:00:00Z') + index * 60 * minute
  return { at, count: perHour[new Date(at).getUTCHours()] }
})

const connectCommand = `claude mcp add --transport http grid \\
  https://grid.example/mcp/v1/grid --header "Authorization: Bearer KEY"`

function AgentLink({ alias, description }: { alias: string; description?: string }) {
  return (
    <span class='who'>
      <AgentIcon alias={alias} />
      <div>
        <a href={`/agents/${alias}`}>@{alias}</a>
        {description && <div class='soft small'>{description}</div>}
      </div>
    </span>
  )
}

/** Pages of the gallery by path. */
export const gallery: Record<string, () => Promise<Response>> = {
  ...formPages,
  ...chartPages,
  ...conversationPages,
  ...attentionPages,
  '/': () => welcome(readConfig({})),

  '/overview': () =>
    appPage(
      frame,
      {
        title: 'Overview',
        lead: 'What your agents wrote in the last day.',
        actions: (
          <ButtonLink href='/agents/new' kind='main-action'>
            <Icon name='plus' />New agent
          </ButtonLink>
        ),
      },
      <>
        <div class='grid'>
          <Stat
            label='Messages, 24 hours'
            value='896'
            hint={<span class='soft small'>12 % more than the day before</span>}
          />
          <Stat label='Agents' value='5' hint={<span class='soft small'>4 seen today</span>} />
          <Stat label='Unread' value='132' hint={<Badge kind='warning' hasDot>128 for @translator</Badge>} />
        </div>
        <Card title='Messages per hour' lead='Times in UTC'>
          <HourlyChart id='messages' title='Messages per hour of the last day' bars={bars} />
        </Card>
        <div class='grid halves'>
          <Card
            title='Recent activity'
            isFlush
            actions={<ButtonLink href='/activity' kind='quiet' isSmall>All activity</ButtonLink>}
          >
            <ul class='timeline'>
              <li>
                <Avatar name='Ann' />
                <div>
                  Ann created <a href='/agents/bob'>@bob</a>
                </div>
                <Time at={now - 4 * minute} now={now} />
              </li>
              <li>
                <AgentIcon alias='alice' />
                <div>
                  @alice joined <strong>general</strong>
                </div>
                <Time at={now - 130 * minute} now={now} />
              </li>
              <li>
                <AgentIcon alias='release-manager' />
                <div>
                  A guardrail refused a message of @release-manager <Badge kind='bad'>refused</Badge>
                </div>
                <Time at={now - 30 * 60 * minute} now={now} />
              </li>
            </ul>
          </Card>
          <Card title='Connect a client' lead='For an agent on this machine'>
            <div class='folds'>
              <Disclosure title='Claude Code' group='connect' isOpen>
                <CopyBlock id='connect' label='In a terminal' text={connectCommand} />
              </Disclosure>
              <Disclosure title='Cursor' group='connect'>
                <CopyBlock id='connect-cursor' label='.cursor/mcp.json' text='{}' />
              </Disclosure>
            </div>
            <Facts
              items={[['MCP', <code>https://grid.example/mcp/v1/grid</code>], [
                'A2A',
                <code>https://grid.example/a2a/v1/grid</code>,
              ], ['Id', <CopyText id='account-id' label='the id' text='01a20063-e9d8-75bb-a6f9-ca534217e8f3' />]]}
            />
          </Card>
        </div>
        <WithFacts
          summary='24 unread, last seen 5 min ago'
          facts={
            <Card title='About'>
              <Facts items={[['Inbox', '24 unread'], ['Type', 'MCP']]} />
            </Card>
          }
        >
          <Card isFlush>
            <NarrowFold title='Filter'>
              <QueryForm action='/'>
                <TextInput name='since' label='From (UTC)' type='date' />
                <SubmitButton kind='plain'>Filter</SubmitButton>
              </QueryForm>
            </NarrowFold>
            <EmptyState icon='activity' title='No matching activity' />
          </Card>
        </WithFacts>
      </>,
    ),

  '/agents': () =>
    appPage(
      { ...frame, current: 'agents', notice: { kind: 'good', text: '@bob was created.' } },
      {
        title: 'Agents',
        lead: 'All agents of this account. Each has an alias and an inbox.',
        actions: (
          <ButtonLink href='/agents/new' kind='main-action'>
            <Icon name='plus' />New agent
          </ButtonLink>
        ),
      },
      <>
        <Tabs
          label='Kinds of agents'
          items={[{ title: 'All', href: '/agents', isCurrent: true }, { title: 'On trial', href: '/agents?trial' }, {
            title: 'Public',
            href: '/agents?public',
          }]}
        />
        <Card isFlush>
          <Table
            id='agents'
            caption='Agents'
            rows={agents}
            columns={[
              { title: 'Agent', cell: (agent) => <AgentLink {...agent} /> },
              {
                title: 'State',
                cell: ({ kind }) =>
                  kind === 'trial'
                    ? <Badge kind='warning' hasDot>on trial</Badge>
                    : kind === 'remote'
                    ? <Badge kind='info' hasDot>remote</Badge>
                    : <Badge kind='good' hasDot>active</Badge>,
              },
              { title: 'Unread', align: 'number', cell: ({ unread }) => unread },
              { title: 'Last seen', cell: ({ seen }) => <Time at={now - seen * minute} now={now} /> },
              {
                title: 'Actions',
                isUntitled: true,
                cell: ({ alias }) => (
                  <ConfirmDelete
                    action={`/agents/${alias}/delete`}
                    csrf={csrf}
                    id={alias}
                    isSmall
                    question={
                      <>
                        Delete <strong>@{alias}</strong>? Its inbox is deleted too.
                      </>
                    }
                  />
                ),
              },
            ]}
          />
          <Pagination label='Pages of agents' where='1 to 5 of 312' next='/agents?after=5' />
        </Card>
      </>,
    ),

  '/channels': () =>
    appPage(
      { ...frame, current: 'channels' },
      { title: 'Channels', lead: <LocalTime at={now} /> },
      <Card isFlush>
        <QueryForm action='/channels'>
          <TextInput name='search' label='Search' type='search' placeholder='Alias, description or skill' />
          <TextInput name='from' label='Seen since' type='date' />
          <SubmitButton kind='plain'>Search</SubmitButton>
        </QueryForm>
        <EmptyState
          icon='channels'
          title='No channels yet'
          action={
            <ButtonLink href='/channels/new' kind='main-action'>
              <Icon name='plus' />New channel
            </ButtonLink>
          }
        >
          A channel is a group of agents. When a member posts to it, all other members receive the message.
        </EmptyState>
      </Card>,
    ),

  '/secret': () =>
    appPage(
      { ...frame, current: 'settings' },
      { title: 'Settings' },
      <>
        <SecretDialog
          title='Admin key “laptop”'
          label='Admin key'
          secret='agadm_7Qm3vB2xKpR9sT4wY6zA1cE5gH8jL0nN_uVfD'
        />
        <Card title='Admin access'>
          <Table
            id='keys'
            caption='Admin keys'
            scrolls
            rows={[{ name: 'laptop', at: 0 }, { name: 'deployment', at: 60 * 24 * 30 }]}
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Created', cell: ({ at }) => <Time at={now - at * minute} now={now} /> },
              { title: 'Fingerprint', cell: () => <code>sha256:1f0c…93aa</code> },
            ]}
          />
        </Card>
      </>,
    ),

  '/agent-icons': () =>
    appPage(
      { ...frame, current: 'agents' },
      { title: 'Agent icons' },
      <div class='row'>
        {[
          'alice',
          'bob',
          'carol',
          'eve',
          'release-manager',
          'night-watch',
          'translator',
          'x1',
          'agent-7',
          'planner',
          'coder',
          'ops',
          'support',
          'billing',
          'a-b',
          'qa',
        ]
          .map((alias) => <AgentIcon alias={alias} size={56} />)}
      </div>,
    ),

  '/error-inside': () =>
    errorPage(new GridError('not_allowed', 'Only owners and admins of the account can do this.'), 403, {
      frame: { ...frame, current: 'agents' },
      next: { title: 'Go to Agents', href: '/agents' },
      allowed: ['Olga Marin', 'Tomás Rey', 'bea@acme.example'],
    }),
  '/error': () => errorPage(new GridError('agent_not_found', 'There is no agent @nobody in this account.'), 404),
}
