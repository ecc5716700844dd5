/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { presenceOf } from '../../grid/agents/find-agent.ts'
import { Badge, Card, EmptyState, Time } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination, Table } from '../../html/table.tsx'
import type { AgentOrder, AgentPlace } from '../../store/account/agent-settings.ts'
import { AgentName } from '../accounts/agent-name.tsx'
import { listPosition, NewButton, NoResults, pageSize, SearchBar } from '../listing.tsx'
import type { AccountPages, Visit } from '../visit.ts'
import { agentActions } from './agent-actions.tsx'
import { typeName } from './agent-fields.tsx'
import { PresenceNow } from './agent.tsx'
import { newAgentPages } from './new-agent.tsx'

const shownSkills = 3
/** Maximum number of agents that are counted. Higher counts are shown as this number "or more". */
const maxCounted = 1_000

/** Registers the list of agents, each agent's page, and the form for a new agent. */
export function agentPages(pages: AccountPages): void {
  pages.get('/agents', list)
  newAgentPages(pages)
  agentActions(pages)
}

const orders: Record<AgentOrder, string> = {
  alias: 'Alias',
  oldest: 'Oldest unread',
  unread: 'Most unread',
  seen: 'Last seen',
}

/** The selection in a list page's URL. */
interface ListPlace {
  search: string
  order: AgentOrder
  /** The last agent of the previous page. Undefined on the first page. */
  after?: AgentPlace
}

/** Reads `?search=`, `?sort=` and `?after=`. Ignores invalid values. */
function listPlace(query: URLSearchParams): ListPlace {
  const { search } = listPosition(query)
  const sort = query.get('sort') ?? ''
  const [, place, alias] = query.get('after')?.match(/^(-?\d{1,16}) ([a-z0-9_-]{1,64})$/) ?? []
  return {
    search,
    order: Object.hasOwn(orders, sort) ? sort as AgentOrder : 'alias',
    after: alias === undefined ? undefined : { place: Number(place), alias },
  }
}

function listHref(path: string, { search, order, after }: ListPlace): string {
  const query = new URLSearchParams({
    ...(search !== '' && { search }),
    ...(order !== 'alias' && { sort: order }),
    ...(after && { after: `${after.place} ${after.alias}` }),
  })
  return query.size === 0 ? path : `${path}?${query}`
}

async function list({ account, frame, path, query, may }: Visit) {
  const now = account.deps.now()
  const place = listPlace(query)
  const { search, order } = place
  const here = path('agents')
  const { agents, agentSettings } = account.read
  const [found, all] = await Promise.all([
    agentSettings.list({ ...place, limit: pageSize + 1 }),
    agents.counted(maxCounted),
  ])
  const rows = found.slice(0, pageSize)
  const total = search === '' ? all : rows[0]?.total ?? 0
  const newAgent = may('manage') && <NewButton href={path('new-agent')} noun='agent' />
  const isEmpty = all === 0

  return appPage(
    frame('agents'),
    {
      title: 'Agents',
      lead: 'All agents and people of this account. Each has an alias and an inbox.',
      actions: !isEmpty && newAgent,
      fresh: ['presence', 'minute'],
    },
    <Card isFlush>
      {!isEmpty && (
        <SearchBar
          path={here}
          label='Search aliases, descriptions and skills'
          search={search}
          kept={order === 'alias' ? {} : { sort: order }}
        >
          <nav class='filters' aria-label='Order'>
            <span class='soft small'>Order by</span>
            {Object.entries(orders).map(([one, title]) => (
              <a
                href={listHref(here, { search, order: one as AgentOrder })}
                aria-current={one === order ? 'true' : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
        </SearchBar>
      )}
      {isEmpty && (
        <EmptyState icon='agents' title='Add your first agent' action={newAgent}>
          Choose an alias, then paste the configuration into its client.
          {!may('manage') && ' Owners and admins of the account can create one.'}
        </EmptyState>
      )}
      {rows.length === 0 && search !== '' && (
        <NoResults search={search} path={here} where='alias, description or skill' />
      )}
      {rows.length > 0 && (
        <Table
          id='agents'
          caption={`Agents by: ${orders[order]}`}
          rows={rows}
          columns={[
            {
              title: 'Agent',
              width: 'wide',
              cell: ({ alias, description }) => (
                <AgentName alias={alias} href={path('agents', alias)}>
                  {description}
                </AgentName>
              ),
            },
            {
              title: 'Last seen',
              width: 'time',
              cell: (agent) => (
                <PresenceNow presence={presenceOf(account, agent)} lastSeenAt={agent.lastSeenAt} now={now} />
              ),
            },
            { title: 'Unread', align: 'number', width: 'narrow', cell: ({ unread }) => unread.toLocaleString('en') },
            {
              title: 'Oldest unread',
              width: 'short',
              cell: ({ oldestUnreadAt: at }) =>
                at === null ? <span class='soft'>none</span> : <Time at={at} now={now} />,
            },
            {
              title: 'Type',
              width: 'narrow',
              cell: ({ type, visibility }) => (
                <span class='pairs'>
                  {type === 'human' ? <Badge kind='info'>{typeName(type)}</Badge> : typeName(type)}
                  {visibility === 'public' && <Badge>public</Badge>}
                </span>
              ),
            },
            { title: 'Skills', cell: ({ skills }) => <SkillBadges names={skillNames(skills)} /> },
          ]}
        />
      )}
      {(place.after !== undefined || found.length > pageSize) && (
        <Pagination
          label='Pages of agents'
          where={`${total.toLocaleString('en')}${
            search === '' && total >= maxCounted ? ' or more' : ''
          } agents and people`}
          previous={place.after && listHref(here, { search, order })}
          next={found.length > pageSize ? listHref(here, { search, order, after: rows.at(-1)! }) : undefined}
          titles={['First', 'Next']}
        />
      )}
    </Card>,
  )
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
