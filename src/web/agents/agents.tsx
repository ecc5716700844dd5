/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Badge, Card, EmptyState, Time } from '../../html/components.tsx'
import { ButtonLink } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import type { AccountStore } from '../../store/account.ts'
import { AgentName } from '../accounts/agent-name.tsx'
import { listPosition, NoResults, PageLinks, pageSize, SearchBar } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { agentActions } from './agent-actions.tsx'
import { typeName } from './agent-fields.tsx'
import { newAgentPages } from './new-agent.tsx'

const shownSkills = 3

/** Registers the list of agents, the page of each, and the form for a new one. */
export function agentPages(pages: Pages<Visit>): void {
  pages.get('/agents', list)
  newAgentPages(pages)
  agentActions(pages)
}

async function list({ account, frame, path, query, may }: Visit) {
  const now = account.deps.now()
  const at = { ...listPosition(query), path: path('agents') }
  const { search } = at
  const { rows, found } = await findAgents(account, search, at.offset)
  const newAgent = may('manage') && (
    <ButtonLink href={path('new-agent')} kind='main-action'>
      <Icon name='plus' />New agent
    </ButtonLink>
  )
  const isEmpty = found === 0 && search === ''

  return appPage(
    frame('agents'),
    {
      title: 'Agents',
      lead: 'All agents of this account. Each has an alias and an inbox.',
      actions: !isEmpty && newAgent,
      fresh: 'presence',
    },
    <Card isFlush>
      {!isEmpty && <SearchBar path={path('agents')} label='Search aliases, descriptions and skills' search={search} />}
      {isEmpty && (
        <EmptyState icon='agents' title='Add your first agent' action={newAgent}>
          Choose an alias, then paste the configuration into its client.
          {!may('manage') && ' Owners and admins of the account can create one.'}
        </EmptyState>
      )}
      {rows.length === 0 && search !== '' && <NoResults {...at} where='alias, description or skill' />}
      {rows.length > 0 && (
        <Table
          id='agents'
          caption='Agents by alias'
          rows={rows}
          columns={[
            {
              title: 'Agent',
              cell: ({ alias, description }) => (
                <AgentName alias={alias} href={path('agents', alias)}>
                  {description}
                </AgentName>
              ),
            },
            { title: 'Skills', cell: ({ skills }) => <SkillBadges names={skillNames(skills)} /> },
            { title: 'Type', width: 'narrow', cell: ({ type }) => <span class='whole'>{typeName(type)}</span> },
            {
              title: 'Visibility',
              width: 'narrow',
              cell: ({ visibility }) =>
                visibility === 'public' ? <Badge kind='info'>public</Badge> : <Badge>private</Badge>,
            },
            { title: 'Unread', align: 'number', width: 'narrow', cell: ({ unread }) => unread.toLocaleString('en') },
            {
              title: 'Last seen',
              width: 'time',
              cell: ({ lastSeenAt }) =>
                lastSeenAt === null ? <span class='soft'>never</span> : (
                  <span class='whole'>
                    <Time at={lastSeenAt} now={now} />
                  </span>
                ),
            },
          ]}
        />
      )}
      <PageLinks label='Pages of agents' at={at} total={found} />
    </Card>,
  )
}

/** One page of the list, from offset `first`, and the number of agents on all pages. */
async function findAgents(account: AccountStore, search: string, first: number) {
  const { agents, agentSettings } = account.read
  if (search === '') {
    const [rows, found] = await Promise.all([agentSettings.page(first, pageSize), agents.total()])
    return { rows, found }
  }
  const rows = await agentSettings.search(search, first, pageSize)
  return { rows, found: rows[0]?.total ?? 0 }
}

function SkillBadges({ names }: { names: string[] }) {
  if (names.length === 0) return <span class='soft'>none</span>
  return (
    <span class='pairs'>
      {names.slice(0, shownSkills).map((name) => <Badge title={name}>{name}</Badge>)}
      {names.length > shownSkills && <span class='soft'>and {names.length - shownSkills} more</span>}
    </span>
  )
}

function skillNames(json: string): string[] {
  return (JSON.parse(json) as { name: string }[]).map(({ name }) => name)
}
