/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Every component with believable content, on the kinds of pages there are. For looking at, and for axe. */
import { readConfig } from '../../src/config.ts'
import { GridError } from '../../src/errors.ts'
import { AgentIcon } from '../../src/html/agent-icon.tsx'
import { Avatar, Badge, Card, EmptyState, Facts, Notice, Stat, Tabs, Time } from '../../src/html/bits.tsx'
import { HourlyChart, Sparkline } from '../../src/html/chart.tsx'
import { errorPage } from '../../src/html/error-page.tsx'
import {
  ButtonLink,
  Checkbox,
  ChoiceList,
  Form,
  PasswordInput,
  Select,
  SubmitButton,
  TextArea,
  TextInput,
} from '../../src/html/form.tsx'
import { Icon } from '../../src/html/icons.tsx'
import { type AppFrame, appPage, barePage } from '../../src/html/layout.tsx'
import { ConfirmDelete, CopyBlock, Dialog, Secret } from '../../src/html/secrets.tsx'
import { welcome } from '../../src/web/welcome.tsx'
import { Pagination, Table, TableFilter } from '../../src/html/table.tsx'

const now = Date.parse('2026-11-21T15:24:00Z')
const minute = 60_000
const csrf = 'token-of-the-session'

const frame: AppFrame = {
  account: { id: 'a1', name: 'Acme Robotics', role: 'owner' },
  accounts: [
    { id: 'a1', name: 'Acme Robotics', role: 'owner' },
    { id: 'a2', name: 'Ann at home', role: 'admin' },
    { id: 'a3', name: 'The Very Long Name of an International Consortium', role: 'viewer' },
  ],
  user: { name: 'Ann Example', email: 'ann@acme.example' },
  csrf,
  current: 'overview',
}

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
    description: 'Reads logs, wakes somebody only when it matters',
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

function Who({ alias, description }: { alias: string; description?: string }) {
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
            picture={
              <Sparkline
                label='Messages per hour, rising in the afternoon'
                values={bars.map(({ count }) => count)}
              />
            }
          />
          <Stat label='Agents' value='5' hint={<span class='soft small'>4 seen today</span>} />
          <Stat label='Unread' value='132' hint={<Badge kind='warning' hasDot>128 wait for @translator</Badge>} />
        </div>
        <Card title='Messages per hour' lead='Times in UTC'>
          <HourlyChart id='messages' title='Messages per hour of the last day' bars={bars} />
        </Card>
        <div class='grid halves'>
          <Card
            title='Lately'
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
          <Card title='Connect a client' lead='For whoever runs an agent on this machine'>
            <CopyBlock
              id='connect'
              label='Claude Code'
              text={connectCommand}
            />
            <Facts
              items={[['MCP', <code>https://grid.example/mcp/v1/grid</code>], [
                'A2A',
                <code>https://grid.example/a2a/v1/grid</code>,
              ], ['Version', '0.1.0']]}
            />
          </Card>
        </div>
      </>,
    ),

  '/agents': () =>
    appPage(
      { ...frame, current: 'agents', notice: { kind: 'good', text: '@bob was created.' } },
      {
        title: 'Agents',
        lead: 'Everybody who has an alias and a mailbox in this account.',
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
          <TableFilter table='agents' label='Find an agent' />
          <Table
            id='agents'
            caption='Agents'
            rows={agents}
            columns={[
              { title: 'Agent', cell: (agent) => <Who {...agent} /> },
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
                align: 'end',
                cell: ({ alias }) => (
                  <ConfirmDelete
                    action={`/agents/${alias}/delete`}
                    csrf={csrf}
                    id={alias}
                    isSmall
                    question={
                      <>
                        Delete <strong>@{alias}</strong>? Its mailbox goes with it.
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

  '/agents/new': () =>
    appPage(
      {
        ...frame,
        current: 'agents',
        notice: { kind: 'bad', text: 'The agent was not created. Look at the marked field.' },
      },
      { title: 'New agent', lead: 'It gets a key, shown once.', back: { title: 'Agents', href: '/agents' } },
      <div class='grid halves'>
        <Card title='About it'>
          <Form action='/agents' csrf={csrf}>
            <TextInput
              name='alias'
              label='Alias'
              before='@'
              value='bob'
              hint='3 to 32 of a-z, 0-9 and -'
              error='@bob is taken. Choose another alias.'
              pattern='[a-z0-9\-]{3,32}'
              isRequired
              isMono
            />
            <TextArea
              name='description'
              label='Description'
              isOptional
              hint='What it does, in a sentence others can read.'
              placeholder='Answers questions about orders'
              rows={3}
            />
            <Select
              name='type'
              label='Type'
              value='grid'
              options={[{ value: 'grid', title: 'On this grid' }, { value: 'a2a', title: 'Remote, by A2A' }]}
            />
            <ChoiceList
              name='visibility'
              label='Who may write to it'
              isCards
              values={['account']}
              options={[{ value: 'account', title: 'This account', hint: 'Agents of Acme Robotics only.' }, {
                value: 'public',
                title: 'Everybody',
                hint: 'Agents of all accounts find it and may write.',
              }]}
            />
            <ChoiceList
              name='skills'
              label='Skills'
              isOptional
              isMultiple
              values={['review']}
              options={[{ value: 'arithmetic', title: 'arithmetic' }, { value: 'review', title: 'review' }]}
            />
            <Checkbox name='again' label='Create another one after this' hint='Comes back to this form.' />
            <div class='row'>
              <SubmitButton>Create agent</SubmitButton>
              <ButtonLink href='/agents' kind='quiet'>Cancel</ButtonLink>
            </div>
          </Form>
        </Card>
        <div class='stack'>
          <Card
            title='Key'
            lead='What the agent proves itself with.'
            actions={<ButtonLink href='#replace' opens='replace'>Replace key</ButtonLink>}
          >
            <Facts
              items={[['Key', <code>ag_…f3c9</code>], ['Made', <Time at={now - 9 * 24 * 60 * minute} now={now} />]]}
            />
            <Dialog id='replace' title='Replace the key'>
              <p>The old key stops working at once.</p>
              <Form action='/agents/bob/key' csrf={csrf}>
                <TextInput name='name' id='key-name' label='Name of the key' />
                <div class='row'>
                  <SubmitButton>Replace key</SubmitButton>
                </div>
              </Form>
            </Dialog>
          </Card>
          <Notice kind='warning' title='On trial'>10 messages within 24 hours, 3 are left.</Notice>
          <Notice>Mail waits until the agent reads it.</Notice>
          <Card
            title='Delete this agent'
            isDanger
            lead='Its mailbox and its keys go with it. Others keep what it wrote.'
          >
            <ConfirmDelete
              action='/agents/bob/delete'
              csrf={csrf}
              typed='bob'
              label='Delete agent'
              question='This cannot be undone.'
            />
          </Card>
        </div>
      </div>,
    ),

  '/channels': () =>
    appPage(
      { ...frame, current: 'channels' },
      { title: 'Channels' },
      <Card>
        <EmptyState
          icon='channels'
          title='No channels yet'
          action={
            <ButtonLink href='/channels/new' kind='main-action'>
              <Icon name='plus' />New channel
            </ButtonLink>
          }
        >
          A channel is a group of agents. What one of them writes to it, all others receive.
        </EmptyState>
      </Card>,
    ),

  '/secret': () =>
    appPage(
      { ...frame, current: 'settings' },
      { title: 'Settings' },
      <>
        <Secret title='Admin key “laptop”' label='Admin key' secret='agadm_7Qm3vB2xKpR9sT4wY6zA1cE5gH8jL0nN_uVfD' />
        <Card title='Admin access'>
          <Table
            id='keys'
            caption='Admin keys'
            scrolls
            rows={[{ name: 'laptop', at: 0 }, { name: 'deployment', at: 60 * 24 * 30 }]}
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Made', cell: ({ at }) => <Time at={now - at * minute} now={now} /> },
              { title: 'Fingerprint', cell: () => <code>sha256:1f0c…93aa</code> },
            ]}
          />
        </Card>
      </>,
    ),

  '/faces': () =>
    appPage(
      { ...frame, current: 'agents' },
      { title: 'Faces' },
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

  '/sign-in': () =>
    barePage(
      { title: 'Sign in' },
      <>
        <h1>Sign in</h1>
        <p>To see and manage the agents of your account.</p>
        <Notice kind='bad'>E-mail or password is wrong.</Notice>
        <Form action='/sign-in' csrf={csrf}>
          <TextInput
            name='email'
            type='email'
            label='E-mail'
            value='ann@acme.example'
            autocomplete='username'
            isRequired
          />
          <PasswordInput
            name='password'
            label='Password'
            autocomplete='current-password'
            isRequired
            error='Passwords have at least 10 characters.'
          />
          <SubmitButton isWhole>Sign in</SubmitButton>
        </Form>
      </>,
    ),

  '/consent': () =>
    barePage(
      { title: 'Allow access', formTarget: 'http://localhost:33418/callback' },
      <>
        <h1>Allow localhost access?</h1>
        <p>An application that calls itself “Claude Code” wants to act in your account.</p>
        <Form action='/consent' csrf={csrf}>
          <ChoiceList
            name='entry'
            label='As whom'
            isCards
            values={['admin']}
            options={[{
              value: 'admin',
              title: '@admin (Acme Robotics)',
              hint: 'Manages agents, channels, skills and guardrails.',
            }, { value: 'alice', title: '@alice', hint: 'Sends and reads her messages.' }]}
          />
          <div class='row'>
            <SubmitButton name='decision' value='allow' waits>Allow</SubmitButton>
            <SubmitButton name='decision' value='deny' kind='plain'>Deny</SubmitButton>
          </div>
        </Form>
      </>,
    ),

  '/error': () => errorPage(new GridError('agent_not_found', 'There is no agent @nobody in this account.'), 404),
}
